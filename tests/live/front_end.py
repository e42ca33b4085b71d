"""A front end in place of a browser: what a view sends it, and what it answers."""

from __future__ import annotations

from typing import Any

import comm


class Wire(comm.base_comm.BaseComm):
    """A comm that keeps what the kernel sends."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.sent: list[tuple[dict[str, Any], list[bytes]]] = []
        super().__init__(*args, **kwargs)

    def publish_msg(self, msg_type, data=None, metadata=None, buffers=None, **keys):
        if data is not None and data.get("method") == "custom":
            self.sent.append((data["content"], [bytes(buffer) for buffer in buffers or []]))


def shown_by(widget: Any, outputs: int) -> None:
    """So many outputs of the notebook have `widget` now, as the page's widget manager counts them."""
    data = {"method": "update", "state": {"_view_count": outputs}, "buffer_paths": []}
    widget._handle_msg({"content": {"data": data}, "buffers": []})


class Page:
    """The page's half of a view."""

    def __init__(self, view: Any) -> None:
        self.view = view
        self.widget = view.widget

    def says(self, **content: Any) -> None:
        """A message to the kernel."""
        message = {"content": {"data": {"method": "custom", "content": content}}, "buffers": []}
        self.widget._handle_msg(message)

    def shown(self) -> None:
        self.says(type="visible", visible=True)

    def hidden(self) -> None:
        self.says(type="visible", visible=False)

    @property
    def sent(self) -> list[tuple[dict[str, Any], list[bytes]]]:
        return self.widget.comm.sent

    def frames(self) -> list[tuple[dict[str, Any], bytes]]:
        """Headers and buffers of all frames so far."""
        return [
            (content["header"], buffers[0]) for content, buffers in self.sent if content["type"] == "frame"
        ]
