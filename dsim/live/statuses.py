"""What a front end is told of messages in which a page says that it has drawn a frame: done, but later.

ipykernel surrounds each message of a page by two statuses, busy and idle. For thirty answers a second
JupyterLab then changes its indicators and its favicon sixty times, which takes as long as the pictures, and
shows an idle kernel while a cell runs. Each status is also a small packet, and TCP holds the next frame back
until the browser has confirmed that packet, for up to 40 ms (Nagle's algorithm with delayed confirmations,
RFC 896 and 1122).
"""

from __future__ import annotations

import sys
import threading
from typing import Any

_MOST = 32  # messages whose idle status waits
# A parent of this type says nothing of the kernel's work: front ends leave their indicators as they are.
_UNTRACKED = "comm_info_request"


class QuietStatuses:
    """Takes the place of a kernel's `_publish_status`.

    Parameters
    ----------
    kernel : ipykernel.kernelbase.Kernel
        Whose statuses they are.
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._publish = kernel._publish_status
        self._lock = threading.Lock()
        self._waiting: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, status: str, channel: str, parent: dict[str, Any] | None = None) -> None:
        """As the kernel's own `_publish_status`."""
        message = parent or self._kernel.get_parent(channel)
        if not _tells_of_a_frame(message):
            self._publish(status, channel, parent)
        elif status == "idle":  # the front end keeps what it has sent until that has come
            self._put_off(channel, {"header": {**message["header"], "msg_type": _UNTRACKED}})

    def _put_off(self, channel: str, parent: dict[str, Any]) -> None:
        with self._lock:
            self._waiting.append((channel, parent))
            if len(self._waiting) < _MOST:
                return
            due, self._waiting = self._waiting, []
        for where, each in due:
            self._publish("idle", where, each)


def quiet_statuses() -> None:
    """Makes the statuses of this process's kernel quiet, where it is a kernel of ipykernel."""
    kernels: Any = sys.modules.get("ipykernel.kernelbase")  # else no page's messages come from it
    kernel: Any = kernels.Kernel.instance() if kernels is not None and kernels.Kernel.initialized() else None
    publish = getattr(kernel, "_publish_status", None)
    if publish is not None and not isinstance(publish, QuietStatuses):
        kernel._publish_status = QuietStatuses(kernel)


def _tells_of_a_frame(message: Any) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    data = content.get("data") if isinstance(content, dict) else None
    said = data.get("content") if isinstance(data, dict) else None
    return isinstance(said, dict) and said.get("type") == "drawn" and {"number", "page"} <= said.keys()
