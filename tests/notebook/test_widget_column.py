"""Widgets below one another, with the text that stands for them where no kernel runs."""

import ipywidgets as widgets

from dsim.notebook.widget_column import WidgetColumn


def test_a_column_is_saved_with_its_text() -> None:
    column = WidgetColumn([widgets.Label("one"), widgets.Label("two")])
    column.told = "two labels <below> one another"
    data = column._repr_mimebundle_()
    assert data["text/plain"] == "two labels <below> one another"
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == column.model_id
