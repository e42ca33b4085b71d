"""Answers of pages keep the indicators of a front end still."""

from __future__ import annotations

from typing import Any

import pytest

from dsim.live import statuses
from dsim.live.statuses import QuietStatuses


class Kernel:
    """A kernel that keeps what it publishes."""

    def __init__(self) -> None:
        self.parent: dict[str, Any] = {}
        self.said: list[tuple[str, str, dict[str, Any]]] = []

    def get_parent(self, channel: str) -> dict[str, Any]:
        return self.parent

    def _publish_status(self, status: str, channel: str, parent: dict[str, Any] | None = None) -> None:
        self.said.append((status, channel, parent or self.parent))

    def answers(self, publish: Any, message: dict[str, Any]) -> None:
        """As `dispatch_shell` does."""
        self.parent = message
        publish("busy", "shell")
        publish("idle", "shell")


def message(order: int, **content: Any) -> dict[str, Any]:
    header = {"msg_id": f"m{order}", "msg_type": "comm_msg"}
    return {"header": header, "content": {"comm_id": "c", "data": {"method": "custom", "content": content}}}


def drawn(number: int) -> dict[str, Any]:
    return message(number, type="drawn", number=number, page="p")


def test_many_answers_are_done_in_one_go_and_say_nothing_of_the_work_of_the_kernel():
    kernel = Kernel()
    publish = QuietStatuses(kernel)
    for number in range(statuses._MOST - 1):
        kernel.answers(publish, drawn(number))
    assert kernel.said == []
    kernel.answers(publish, drawn(statuses._MOST - 1))
    assert [status for status, _, _ in kernel.said] == ["idle"] * statuses._MOST
    headers = [parent["header"] for _, _, parent in kernel.said]
    assert [header["msg_id"] for header in headers] == [f"m{number}" for number in range(statuses._MOST)]
    assert {header["msg_type"] for header in headers} == {"comm_info_request"}


@pytest.mark.parametrize(
    "other",
    [
        message(1, type="moved", value=1.0),
        message(2, type="drawn"),  # another library's
        {"header": {"msg_id": "m3", "msg_type": "execute_request"}, "content": {"code": "1"}},
        {},
    ],
    ids=["a slider", "another library", "a cell", "none"],
)
def test_other_messages_keep_their_statuses(other):
    kernel = Kernel()
    kernel.answers(QuietStatuses(kernel), other)
    assert kernel.said == [("busy", "shell", other), ("idle", "shell", other)]


def test_front_ends_do_not_track_statuses_of_that_type():
    manager = pytest.importorskip("jupyter_server.services.kernels.kernelmanager").MappingKernelManager
    assert "comm_info_request" in manager().untracked_message_types


def test_a_kernel_is_made_quiet_once(monkeypatch: pytest.MonkeyPatch):
    from ipykernel.kernelbase import Kernel as Base

    kernel = Kernel()
    monkeypatch.setattr(Base, "initialized", lambda: True)
    monkeypatch.setattr(Base, "instance", lambda: kernel)
    statuses.quiet_statuses()
    quiet = kernel._publish_status
    statuses.quiet_statuses()
    assert isinstance(quiet, QuietStatuses)
    assert kernel._publish_status is quiet
    monkeypatch.setattr(Base, "initialized", lambda: False)
    statuses.quiet_statuses()  # a script
