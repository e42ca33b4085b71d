"""Copies of a memory into the rows of an array, fused into the parallel loop that goes over the memory.

A copy between two loops takes the time of its way to memory; in a loop it overlaps with the arithmetic. So
the loop runs piece by piece, and each piece of the memory is copied before it, or after it, while it is in
the first cache. The stores are non-temporal: nobody reads the rows soon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import NamedTuple

from dsim.backends.llvm import frame, loops, ranges
from dsim.backends.llvm.kernel import FusedCopies, KernelWriter, Task
from dsim.backends.llvm.parallel.plans import Schedule
from dsim.backends.llvm.parallel.streams import LINE, stream
from dsim.backends.llvm.text import WIDTH, Function
from dsim.ir.nodes import Accumulate, Const, Load, Memory, MemoryKey, Store, Var
from dsim.ir.walk import memory_of, statements

_PIECE = 4096  # bytes; measured in docs/decisions/0023-a-tape-after-its-block.md


def fits(
    key: MemoryKey,
    tasks: Iterable[Task],
    schedules: Mapping[Var, Schedule],
    memories: Iterable[Memory],
    strided: Iterable[MemoryKey],
) -> bool:
    """Whether one parallel loop goes once over the whole memory `key`, and nothing else touches it.

    Each iteration touches its own part along the first axis. Sums of the loop are made in blocks, whose
    length decides how they are rounded: such a loop has no other pieces.
    """
    touching = [t for t in tasks if key in t.touched]
    memory = next((m for m in memories if m.key == key), None)
    if len(touching) != 1 or touching[0].kind != "parallel" or memory is None or key in strided:
        return False
    loop = touching[0].loop
    schedule, whole = schedules[loop.index], memory.shape[:1]
    if schedule.held or schedule.partials or not memory.shape or None in memory.shape or 0 in memory.shape:
        return False
    edges = [a.value if isinstance(a, Const) else None for a in (loop.start, loop.stop)]
    if edges != [0, *whole] or loop.step != 1:
        return False
    uses = [s for s in statements(loop.body) if (m := memory_of(s)) is not None and m.key == key]
    return all(isinstance(s, Load | Store | Accumulate) and s.index[0] == loop.index for s in uses)


def in_pieces(
    k: KernelWriter, f: Function, copies: FusedCopies, edges: tuple[str, str], run: Callable[[str, str], None]
) -> None:
    """Writes the part of a loop between `edges`, by ``run(first, last)`` for each piece, and the copies."""
    memory = next(m for m in k.kernel.memories if m.key == copies.memory)
    own = prod(n for n in memory.shape[1:] if n is not None) * WIDTH[memory.type]  # bytes of an iteration
    rows = frame.read(f, k.layout.rows, "ptr")
    ends = tuple(f.let(f"mul i64 {edge}, {own}") for edge in edges)

    def copy(v: Var) -> _Copy:
        row = f.let(f"getelementptr i8, ptr {rows}, i64 {frame.read(f, k.layout.value(v), 'i64')}")
        return _Copy(f, row, k.address(f, memory), *ends)

    before, after = [copy(v) for v in copies.before], [copy(v) for v in copies.after]
    length = max(_PIECE // own, 1)

    def piece(first: str) -> None:
        following = f.let(f"add nsw i64 {first}, {length}")
        last = ranges.least(f, following, edges[1])
        at, end = (f.let(f"mul i64 {edge}, {own}") for edge in (first, last))
        for each in before:
            each.ahead(at, end)
        run(first, last)
        for each in after:
            each.behind(at, end)

    loops.plain(f, *edges, length, piece)
    f.do("fence seq_cst")


class _Copy(NamedTuple):
    """A copy to `row`, from byte `low` to `high`; its parts end where cache lines of the row do."""

    f: Function
    row: str
    source: str
    low: str
    high: str

    def ahead(self, at: str, end: str) -> None:
        """Copies what is behind the last part, up to the line in which the byte before `end` is."""
        first = self.f.let(f"icmp eq i64 {at}, {self.low}")
        start, stop = (self._ceiling(edge) for edge in (at, end))
        self._part(self.f.let(f"select i1 {first}, i64 {self.low}, i64 {start}"), stop)

    def behind(self, at: str, end: str) -> None:
        """Copies what is behind the last part, up to the last line that ends before `end`."""
        last = self.f.let(f"icmp eq i64 {end}, {self.high}")
        start, stop = (self._floor(edge) for edge in (at, end))
        self._part(start, self.f.let(f"select i1 {last}, i64 {self.high}, i64 {stop}"))

    def _ceiling(self, at: str) -> str:
        missing = self.f.let(f"sub i64 0, {self._address(at)}")
        up = self.f.let(f"add i64 {at}, {self.f.let(f'and i64 {missing}, {LINE - 1}')}")
        return ranges.least(self.f, up, self.high)

    def _floor(self, at: str) -> str:
        over = self.f.let(f"and i64 {self._address(at)}, {LINE - 1}")
        return ranges.greatest(self.f, self.f.let(f"sub i64 {at}, {over}"), self.low)

    def _address(self, at: str) -> str:
        place = self.f.let(f"getelementptr i8, ptr {self.row}, i64 {at}")
        return self.f.let(f"ptrtoint ptr {place} to i64")

    def _part(self, start: str, stop: str) -> None:
        f = self.f
        to, origin = (f.let(f"getelementptr i8, ptr {base}, i64 {start}") for base in (self.row, self.source))
        size = f.let(f"sub i64 {stop}, {start}")
        f.do(f"call void @{stream(f.module)}(ptr {to}, ptr {origin}, i64 {size})")
