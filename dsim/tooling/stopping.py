"""Ends a run before its time: on Ctrl-C, on SIGTERM, and where a cell takes too long.

nbclient answers a signal by taking the kernel from under the run, whose steps then fail one by one. Here a
signal cancels the run, and the run ends its kernel once.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import asynccontextmanager
from types import FrameType
from typing import Any

from dsim.tooling.extras import require

INTERRUPT_SECONDS = 5.0  # for a cell to end after its interrupt, before the kernel is killed


_RUNS: list[asyncio.Task[Any]] = []  # those that go on


class Terminations:
    """Has SIGTERM stop this process as Ctrl-C does, and tells which of them it was."""

    def __init__(self) -> None:
        self._number = signal.SIGINT

    def listen(self) -> None:
        """From now on; only the main thread may call it."""
        signal.signal(signal.SIGTERM, self._terminate)

    def status(self) -> int:
        """The exit status of a process that was stopped, as shells count: 130, or 143 for SIGTERM."""
        return 128 + self._number

    def _terminate(self, _: int, frame: FrameType | None) -> None:
        self._number = signal.SIGTERM
        interrupt = signal.getsignal(signal.SIGINT)  # of asyncio, while it runs; none behind `nohup … &`
        if callable(interrupt):
            interrupt(signal.SIGINT, frame)
        elif _RUNS:  # an error here would end whatever task runs now, not the run as a whole
            _RUNS[-1].get_loop().call_soon_threadsafe(_RUNS[-1].cancel)
        else:
            signal.default_int_handler(signal.SIGINT, frame)


def stoppable(client: type[Any]) -> type[Any]:
    """The class of nbclient, for runs that end with a plain `KeyboardInterrupt` and without their kernel.

    Parameters
    ----------
    client : type
        `nbclient.NotebookClient`.

    Returns
    -------
    type
        A subclass whose `execute` leaves no process behind, however it ends.
    """
    errors = require("nbclient.exceptions", extra="lab", purpose="to run notebooks")

    class Client(client):
        def execute(self, **options: Any) -> Any:
            try:
                with asyncio.Runner() as runner:  # which cancels the run on Ctrl-C
                    return runner.run(_cancellable(self.async_execute(**options)))
            except asyncio.CancelledError:  # by SIGTERM, where Ctrl-C is ignored
                raise KeyboardInterrupt from None

        async def async_execute_cell(self, *arguments: Any, **options: Any) -> Any:
            try:
                return await client.async_execute_cell(self, *arguments, **options)
            except errors.DeadKernelError:  # for nbclient, a run that is cancelled has a dead kernel
                if _is_cancelled():
                    raise asyncio.CancelledError from None
                raise

        @asynccontextmanager
        async def async_setup_kernel(self, **options: Any) -> AsyncGenerator[None, None]:
            """As nbclient's, without its handlers of signals."""
            self.create_kernel_manager()
            try:
                await self.async_start_new_kernel(**options)
                await self.async_start_new_kernel_client()
                yield
            except (asyncio.CancelledError, errors.CellTimeoutError):
                self.shutdown_kernel = "immediate"  # also where a second Ctrl-C ends the wait below
                if await _interrupted(self):
                    self.shutdown_kernel = "graceful"
                raise
            finally:
                if self.km is not None:  # one that did not start is gone already
                    await self._async_cleanup_kernel()

    return Client


async def _cancellable(run: Coroutine[Any, Any, Any]) -> Any:
    """Runs it so that SIGTERM cancels it where Ctrl-C is ignored."""
    task = asyncio.current_task()
    assert task is not None
    _RUNS.append(task)
    try:
        return await run
    finally:
        _RUNS.remove(task)


async def _interrupted(client: Any) -> bool:
    """Whether the cell ended by an interrupt, as it does by Ctrl-C in a notebook, `finally` clauses and all.

    A kernel that is asked to shut down while a cell runs closes its sockets first, and then logs that it
    cannot send the cell's reply. After the reply, it logs interrupts until it is idle.
    """
    if client.task_poll_for_reply is None:  # no cell has begun
        return False
    await client.km.interrupt_kernel()
    try:
        async with asyncio.timeout(INTERRUPT_SECONDS):
            while not _is_end(await client.kc.iopub_channel.get_msg(timeout=None)):
                pass
    except TimeoutError:
        return False
    return True


def _is_end(message: Mapping[str, Any]) -> bool:
    asked, told = message["parent_header"].get("msg_type"), message["content"].get("execution_state")
    return asked == "execute_request" and told == "idle"


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
