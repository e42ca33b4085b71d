"""Many launches by one call of machine code: a loop goes through a table of entries, frames and arguments.

The table has a row for each launch: the address of its entry, that of its frame, where in the frame its
arguments begin, how many there are, and the arguments. Launches of one kernel on the same buffers share a
frame. Between launches the loop polls a stop flag, as launches themselves do. Some launches may be copies
into the rows of an array (`row_copies.py`), or kernels with such copies fused in; each run of the table may
find the rows at another address, and so may it find arrays that the table was told of.
"""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from dsim.backends.cpu.code import MachineCode
from dsim.backends.cpu.launch import Launcher, packed
from dsim.backends.cpu.row_copies import RowCopies, RowFrame
from dsim.backends.cpu.stop import LAUNCHES, listen
from dsim.backends.cpu.variant import LaunchFrame, Variant
from dsim.backends.llvm import frame
from dsim.diagnostics import stopped

# The block of a replay: the slots of a frame that `stop.py` uses, and behind them its own.
_AT, _FRAME, _ROWS, _END = range(frame.FIXED, frame.FIXED + 4)
_SLOTS = frame.FIXED + 4
_ROW = 4  # slots of a row, without arguments
_HEAD, _PLACE = struct.Struct(f"<{_ROW}q"), struct.Struct("<q")
_Entry = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
_TEXT = f"""
define i64 @dsim_entry(ptr %block) {{
  %rows_at = getelementptr i64, ptr %block, i64 {_ROWS}
  %end_at = getelementptr i64, ptr %block, i64 {_END}
  %stop_at = getelementptr i64, ptr %block, i64 {frame.STOP}
  %frame_at = getelementptr i64, ptr %block, i64 {_FRAME}
  %number_at = getelementptr i64, ptr %block, i64 {_AT}
  %rows = load ptr, ptr %rows_at
  %end = load ptr, ptr %end_at
  br label %next
next:
  %row = phi ptr [ %rows, %0 ], [ %behind, %ran ]
  %number = phi i64 [ 0, %0 ], [ %following, %ran ]
  %over = icmp eq ptr %row, %end
  br i1 %over, label %done, label %begin
begin:
  %stop = load volatile i64, ptr %stop_at
  %going = icmp eq i64 %stop, 0
  br i1 %going, label %go, label %halted
halted:
  store i64 %number, ptr %number_at
  store volatile i64 0, ptr %frame_at
  ret i64 {frame.STOPPED}
go:
  %entry = load ptr, ptr %row
  %held_at = getelementptr i64, ptr %row, i64 1
  %held = load ptr, ptr %held_at
  %to_at = getelementptr i64, ptr %row, i64 2
  %to = load ptr, ptr %to_at
  %count_at = getelementptr i64, ptr %row, i64 3
  %count = load i64, ptr %count_at
  %args = getelementptr i64, ptr %row, i64 {_ROW}
  %behind = getelementptr i64, ptr %args, i64 %count
  store volatile ptr %held, ptr %frame_at
  br label %copying
copying:
  %k = phi i64 [ 0, %go ], [ %k_next, %copy ]
  %copied = icmp eq i64 %k, %count
  br i1 %copied, label %call, label %copy
copy:
  %from = getelementptr i64, ptr %args, i64 %k
  %value = load i64, ptr %from
  %into = getelementptr i64, ptr %to, i64 %k
  store i64 %value, ptr %into
  %k_next = add i64 %k, 1
  br label %copying
call:
  %status = call i64 %entry(ptr %held)
  %well = icmp eq i64 %status, 0
  br i1 %well, label %ran, label %ended
ran:
  %following = add i64 %number, 1
  br label %next
ended:
  store i64 %number, ptr %number_at
  ret i64 %status
done:
  store volatile i64 0, ptr %frame_at
  ret i64 0
}}
"""


@cache
def _loop() -> MachineCode:
    return MachineCode(_TEXT, {})


class LaunchesFailed(Exception):  # noqa: N818 (it carries what is raised then)
    """A launch of a replay failed; the ones before it have run.

    Attributes
    ----------
    number : int
        Which one, from 0.
    error : BaseException
        What a launch on its own would have raised.
    """

    def __init__(self, number: int, error: BaseException) -> None:
        super().__init__()
        self.number, self.error = number, error


class _Slots:
    """The block of a replay as `stop.py` uses a launch's: the flag of the running launch is set, too."""

    def __init__(self, block: Any) -> None:
        self._block = block

    def __getitem__(self, key: Any) -> Any:
        running = self._running() if key == frame.STOP else None
        return self._block[key] if running is None else running.value

    def __setitem__(self, key: int, value: int) -> None:
        self._block[key] = value
        running = self._running() if key == frame.STOP else None
        if running is not None:
            running.value = value

    def _running(self) -> ctypes.c_int64 | None:
        address = self._block[_FRAME]
        return ctypes.c_int64.from_address(address + 8 * frame.STOP) if address else None


class _Held(NamedTuple):
    """What `stop.py` finds in a Python frame that runs machine code."""

    slots: _Slots


class _Kernel(NamedTuple):
    """What the launches of a kernel on the same buffers share: the head of their rows, and a frame."""

    head: bytes
    variant: Variant
    frame: LaunchFrame


class _Copies(NamedTuple):
    """The same of copies, none of which fails."""

    head: bytes
    frame: RowFrame


class LaunchTable:
    """Launches in the order in which they run. One thread runs it at a time.

    Parameters
    ----------
    launches : sequence of (Launcher or RowCopies, tuple)
        Kernels bound to buffers, and the arguments of each launch; those of one launcher share a frame. For a
        copy into a row, where it begins: how many bytes behind the first row. Kernels with fused copies take
        such numbers behind their arguments.
    moving : sequence of int
        Addresses of buffers of which each run says where they are.
    """

    def __init__(
        self, launches: Sequence[tuple[Launcher | RowCopies, tuple[Any, ...]]], moving: Sequence[int] = ()
    ) -> None:
        self._kernels: dict[tuple[Launcher, Variant], _Kernel] = {}
        self._copies: dict[RowCopies, _Copies] = {}
        self._rows: list[_Kernel | _Copies] = []
        table: list[bytes] = []
        for launcher, args in launches:
            row: _Kernel | _Copies
            if isinstance(launcher, RowCopies):
                row, values = self._copied(launcher), _PLACE.pack(*args)
            else:
                variant = launcher.variant(args)
                row, values = self._launched(launcher, variant), packed(variant, args)
            self._rows.append(row)
            table += row.head, values
        self._table = np.frombuffer(b"".join(table), np.int64).copy()
        self._block = (ctypes.c_int64 * _SLOTS)()
        self._rows_at = [(copies.frame.slots, copies.frame.rows) for copies in self._copies.values()]
        for kernel in self._kernels.values():
            at = kernel.variant.emitted.layout.rows
            self._rows_at += [(kernel.frame.slots, at)] if at else []
        self._moving_at = list(self._places(moving))
        start = self._table.ctypes.data
        self._block[_ROWS], self._block[_END] = start, start + self._table.nbytes
        self._held = _Held(_Slots(self._block))
        self._call, self._address = _loop().function(_Entry), ctypes.addressof(self._block)
        listen()

    def _launched(self, launcher: Launcher, variant: Variant) -> _Kernel:
        found = self._kernels.get((launcher, variant))
        if found is None:
            held = launcher.frame(variant)
            args_at, count = held.address + variant.params_at, variant.params.size // 8
            head = _HEAD.pack(variant.code.entry, held.address, args_at, count)
            found = self._kernels[launcher, variant] = _Kernel(head, variant, held)
        return found

    def _copied(self, copies: RowCopies) -> _Copies:
        found = self._copies.get(copies)
        if found is None:
            held = copies.frame()
            head = _HEAD.pack(copies.entry, held.address, held.address + copies.args_at, 1)
            found = self._copies[copies] = _Copies(head, held)
        return found

    def _places(self, moving: Sequence[int]) -> Iterator[tuple[Any, int, int]]:
        """The slots that hold addresses of `moving` buffers, each with the number of the buffer."""
        number = {address: n for n, address in enumerate(moving)}
        for (launcher, variant), kernel in self._kernels.items():
            for key, address in launcher.addresses.items():
                if address in number:
                    yield kernel.frame.slots, variant.emitted.layout.memories[key], number[address]
        for copies in self._copies.values():
            slots, at = copies.frame.slots, copies.frame.source
            if slots[at] in number:
                yield slots, at, number[slots[at]]

    def run(self, rows: int = 0, places: Sequence[int] = ()) -> None:
        """Runs the launches.

        Parameters
        ----------
        rows : int
            The address of the first row of the array into which copies go.
        places : sequence of int
            The addresses of the moving buffers, whose memory the caller keeps alive.

        Raises
        ------
        LaunchesFailed
            When one failed, or was stopped.
        """
        held, block = self._held, self._block
        for slots, at in self._rows_at:
            slots[at] = rows
        for slots, at, number in self._moving_at:
            slots[at] = places[number]
        block[frame.STOP] = block[frame.INTERRUPTS] = block[frame.STATUS] = 0
        block[frame.BEGAN], block[frame.BEGAN + 1] = divmod(time.time_ns(), 10**9)
        try:
            status = block[frame.STATUS] = self._call(self._address)
        except KeyboardInterrupt:  # as soon as machine code was back
            if held.slots[frame.STOP]:
                raise stopped(KeyboardInterrupt(_STOPPED)) from None
            raise
        if status:
            raise self._failed(status, block[_AT])

    def _failed(self, status: int, number: int) -> LaunchesFailed:
        if status == frame.STOPPED:
            return LaunchesFailed(number, stopped(KeyboardInterrupt(_STOPPED)))
        row = self._rows[number]
        assert isinstance(row, _Kernel)
        try:
            row.variant.report(status, row.frame)
        except BaseException as error:  # noqa: BLE001 (its fault)
            return LaunchesFailed(number, error)
        raise AssertionError


_STOPPED = "the replay was stopped before its end"
LAUNCHES.add(LaunchTable.run.__code__)
