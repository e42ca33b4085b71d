"""The widget of a view: the page's module, and the messages between it and the kernel."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from dsim.live.lifetime import outputs
from dsim.live.modules import module
from dsim.live.statuses import quiet_statuses
from dsim.live.subshells import hear_while_running

_PAGE = files("dsim.live") / "page"


def page_module(first: str = "view.js") -> str:
    """The page's module that begins with the file `first`."""
    return module(_PAGE, first)


def page_style() -> str:
    """The page's style sheet."""
    return (_PAGE / "view.css").read_text(encoding="utf-8")


class ViewWidget(anywidget.AnyWidget):
    """A view in the page.

    Attributes
    ----------
    scene : dict
        What it draws, but the numbers.
    heard : callable or None
        Called with each message of the page.
    """

    _esm = page_module()
    _css = page_style()
    scene = traitlets.Dict().tag(sync=True)

    def __init__(self, scene: dict[str, Any], plain: str) -> None:
        super().__init__(scene=scene)
        self.heard: Callable[[dict[str, Any]], None] | None = None
        self._plain = plain
        self.on_msg(self._hear)
        hear_while_running(self)
        quiet_statuses()

    def _hear(self, _: Any, content: Any, buffers: Any) -> None:
        if self.heard is not None and isinstance(content, dict):
            self.heard(content)

    def close(self) -> None:
        """Removes it from the page, with the widget of its layout."""
        outputs.closed(self)
        if self.layout is not None and self.comm is not None:
            self.layout.close()
        super().close()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        data = super()._repr_mimebundle_(**kwargs)
        bundle = data[0] if isinstance(data, tuple) else data
        if bundle is not None:
            bundle["text/plain"] = self._plain
        return data
