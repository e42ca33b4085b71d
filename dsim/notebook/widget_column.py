"""Widgets below one another, with a text for where no kernel runs: in a page, or a notebook opened later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

from dsim.live.disconnected import when_disconnected


class WidgetColumn(widgets.VBox):
    """Widgets below one another; without a live kernel, `told`; a line where it ended.

    Parameters
    ----------
    children : sequence of Widget
        The widgets, from above.

    Attributes
    ----------
    told : str
        The text that is saved with the notebook.
    """

    told = ""

    def __init__(self, children: Sequence[widgets.Widget]) -> None:
        super().__init__([*children, when_disconnected()])
        self.add_class("dsim-column")

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        data = super()._repr_mimebundle_(**kwargs)
        if isinstance(data, dict):
            data["text/plain"] = self.told
        return data
