"""Widgets below one another, with a text for where no kernel runs: in a page, or a notebook opened later."""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets


class WidgetColumn(widgets.VBox):
    """Widgets below one another; without a live kernel, `told`.

    Attributes
    ----------
    told : str
        The text that is saved with the notebook.
    """

    told = ""

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        data = super()._repr_mimebundle_(**kwargs)
        if isinstance(data, dict):
            data["text/plain"] = self.told
        return data
