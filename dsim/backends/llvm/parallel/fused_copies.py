"""Copies of a memory into the rows of an array, fused into the parallel loop that goes over the memory.

A copy between two loops takes the time of its way to memory; in a loop it overlaps with the arithmetic. So
the loop runs piece by piece, and each piece of the memory is copied before it, or after it, while it is in
the first cache. The stores are non-temporal: nobody reads the rows soon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import NamedTuple, cast

from dsim.analysis.affine import symbol
from dsim.analysis.effects import Access, Effects, is_write
from dsim.backends.llvm import frame, loops, ranges
from dsim.backends.llvm.cost import known_trips
from dsim.backends.llvm.kernel import FusedCopies, Half, KernelWriter, RowCopy, Task, TouchedRows
from dsim.backends.llvm.parallel.plans import Schedule
from dsim.backends.llvm.parallel.streams import LINE, stream, stream_half
from dsim.backends.llvm.text import WIDTH, Function
from dsim.ir.nodes import Const, For, MemoryKey, Var

_PIECE = 4096  # bytes; measured in docs/decisions/0023-a-tape-after-its-block.md


def reach(
    key: MemoryKey, tasks: Iterable[Task], schedules: Mapping[Var, Schedule], facts: Effects
) -> TouchedRows | None:
    """What of the memory `key` a parallel loop touches, into which copies of it can be fused.

    None unless one loop alone touches it, each iteration its own part along the first axis, with some of its
    neighbours' where all that share elements add to them.
    """
    touching = [t for t in tasks if key in t.touched]
    if len(touching) != 1 or touching[0].kind != "parallel":
        return None
    loop = touching[0].loop
    schedule, accesses = schedules[loop.index], facts.inside(facts.loop(loop))
    uses = [a for a in accesses if a.memory.key == key]
    shape, ends = uses[0].memory.shape, (loop.start, loop.stop)
    constant = all(isinstance(end, Const) for end in ends) and shape and None not in shape
    if not constant or 0 in shape or not _may_be_split(loop, schedule, accesses):
        return None
    offsets = [a.index[0] - symbol(loop.index) for a in uses]
    if not all(offset.is_constant for offset in offsets):
        return None
    low, high = (edge(offset.constant for offset in offsets) for edge in (min, max))
    start, elsewhere = int(cast("Const", loop.start).value), {c.memory.key for c in schedule.private}
    if not any(map(is_write, uses)):
        return TouchedRows(start, start, settled=True)
    if high > low and (key in schedule.atomic | elsewhere or schedule.held < high - low):
        return None
    return TouchedRows(start + low, start + high, settled=not schedule.held)


def _may_be_split(loop: For, schedule: Schedule, accesses: Iterable[Access]) -> bool:
    """Whether a loop of at least one iteration rounds the same in other pieces.

    Sums over all iterations are made in blocks, whose length decides how they are rounded. What successive
    iterations add to one element is added up in a register first (`memory.windows`).
    """
    added = [a for a in accesses if a.kind == "accumulate" and len(a.loops) == 1]
    lines = {_line(a, loop.index) for a in added}
    neighbours = len({(_line(a, loop.index), a.index) for a in added}) > len(lines)
    return not schedule.partials and not neighbours and loop.step == 1 and bool(known_trips(loop))


def _line(a: Access, index: Var) -> object:
    """What elements have in common that follow each other as `index` goes up."""
    return a.memory.key, tuple([form.terms if form.coefficient(index) else form for form in a.index])


class Share(NamedTuple):
    """The iterations of a chunk.

    Attributes
    ----------
    lo, hi : str
        Between which numbers they run now.
    end : str
        The last number, with those that wait until all chunks have run.
    is_first, is_last, now : str
        Conditions: whether it is the first chunk, the last one, and those iterations are not what runs now.
    """

    lo: str
    hi: str
    end: str
    is_first: str
    is_last: str
    now: str


def in_pieces(
    k: KernelWriter, f: Function, copies: FusedCopies, share: Share, run: Callable[[str, str], None]
) -> None:
    """Writes a chunk of a loop, by ``run(first, last)`` for each piece, and the copies.

    Chunks divide the memory among them as they do the iterations; the first and the last one take what is
    outside of the loop. No other chunk writes to a chunk's part before the iterations that wait.
    """
    memory = next(m for m in k.kernel.memories if m.key == copies.memory)
    length, *others = [n for n in memory.shape if n is not None]
    own = prod(others) * WIDTH[memory.type]  # bytes of an iteration
    low, high, _ = copies.reach

    def byte(number: str, offset: int) -> str:
        """Where the part begins that the iteration `number` reaches `offset` elements further."""
        row = f.let(f"add nsw i64 {number}, {offset}")
        return f.let(f"mul i64 {ranges.least(f, ranges.greatest(f, row, 0), length)}, {own}")

    begin = f.let(f"select i1 {share.is_first}, i64 0, i64 {byte(share.lo, low)}")
    end = f.let(f"select i1 {share.is_last}, i64 {length * own}, i64 {byte(share.end, low)}")
    end = f.let(f"select i1 {share.now}, i64 {end}, i64 {begin}")
    rows = frame.read(f, k.layout.rows, "ptr")

    def copy(c: RowCopy) -> _Copy:
        row = f.let(f"getelementptr i8, ptr {rows}, i64 {frame.read(f, k.layout.value(c.place), 'i64')}")
        return _Copy(f, row, k.address(f, memory), c.half, begin, end)

    before, after = [copy(c) for c in copies.before], [copy(c) for c in copies.after]
    each = max(_PIECE // own, 1)

    def piece(first: str) -> None:
        last = ranges.least(f, f.let(f"add nsw i64 {first}, {each}"), share.hi)
        at_begin = f.let(f"icmp eq i64 {first}, {share.lo}")
        at_end = f.let(f"icmp eq i64 {last}, {share.hi}")
        for c in before:
            c.part(at_begin, c.up(byte(first, high)), at_end, c.up(byte(last, high)))
        run(first, last)
        for c in after:
            c.part(at_begin, c.down(byte(first, low)), at_end, c.down(byte(last, low)))

    loops.plain(f, share.lo, share.hi, each, piece)
    f.do("fence seq_cst")


class _Copy(NamedTuple):
    """A copy to `row`, from byte `begin` to `end`; its parts end where cache lines of the row do."""

    f: Function
    row: str
    source: str
    half: Half
    begin: str
    end: str

    def up(self, at: str) -> str:
        """The end of the line in which the byte before `at` is."""
        missing = self.f.let(f"sub i64 0, {self._address(at)}")
        return self.f.let(f"add i64 {at}, {self.f.let(f'and i64 {missing}, {LINE - 1}')}")

    def down(self, at: str) -> str:
        """The end of the last line that ends before `at`."""
        over = self.f.let(f"and i64 {self._address(at)}, {LINE - 1}")
        return self.f.let(f"sub i64 {at}, {over}")

    def part(self, at_begin: str, start: str, at_end: str, stop: str) -> None:
        """Copies from `start` to `stop`; from the beginning where `at_begin`, to the end where `at_end`."""
        f = self.f
        start = f.let(f"select i1 {at_begin}, i64 {self.begin}, i64 {self._within(start)}")
        stop = f.let(f"select i1 {at_end}, i64 {self.end}, i64 {self._within(stop)}")
        if self.half is not None:
            edges = f"i64 {start}, i64 {stop}, i64 {self.half}"
            f.do(f"call void @{stream_half(f.module)}(ptr {self.row}, ptr {self.source}, {edges})")
            return
        to, origin = (f.let(f"getelementptr i8, ptr {base}, i64 {start}") for base in (self.row, self.source))
        size = f.let(f"sub i64 {stop}, {start}")
        f.do(f"call void @{stream(f.module)}(ptr {to}, ptr {origin}, i64 {size})")

    def _within(self, at: str) -> str:
        return ranges.greatest(self.f, ranges.least(self.f, at, self.end), self.begin)

    def _address(self, at: str) -> str:
        place = self.f.let(f"getelementptr i8, ptr {self.row}, i64 {at}")
        return self.f.let(f"ptrtoint ptr {place} to i64")
