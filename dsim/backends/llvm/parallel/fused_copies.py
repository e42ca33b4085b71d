"""Copies of a memory into the rows of an array, fused into the parallel loop that goes over the memory.

A copy between two loops takes the time of its way to memory; in a loop it overlaps with the arithmetic. So
the loop runs piece by piece, and each piece of the memory is copied before it, or after it, while it is in
the first cache. The stores are non-temporal: nobody reads the rows soon.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple

from dsim.backends.llvm import frame, loops, ranges
from dsim.backends.llvm.kernel import FusedCopies, FusedCopy, KernelWriter, TripReach
from dsim.backends.llvm.parallel.streams import LINE, stream
from dsim.backends.llvm.text import WIDTH, Function
from dsim.ir.nodes import Memory

_PIECE = 8192  # bytes; measured in docs/decisions/0023-a-tape-after-its-block.md


class ChunkPart(NamedTuple):
    """The trips of a loop that a function runs.

    Attributes
    ----------
    low, high : str
        From which to which, exclusive.
    end : str
        Up to which the chunk goes, of which this is the first part or the second.
    first : str
        Whether it is the first: its trips and other chunks' first parts touch nothing in common.
    """

    low: str
    high: str
    end: str
    first: str


def in_pieces(
    k: KernelWriter, f: Function, copies: FusedCopies, part: ChunkPart, run: Callable[[str, str], None]
) -> None:
    """Writes a part of a loop, by ``run(first, last)`` for the trips of each piece, and the copies.

    A chunk copies in its first part. What it copies begins where its first trip may first write to, and
    ends where that of the next chunk begins; each piece, before a trip may touch it.
    """
    memory = next(m for m in k.kernel.memories if m.key == copies.memory)
    own = prod(n for n in memory.shape[1:] if n is not None) * WIDTH[memory.type]  # bytes of an index
    rows = frame.read(f, k.layout.rows, "ptr")
    length = max(_PIECE // own, 1)
    edges = _copied(f, copies.reach, memory, part)
    ends = tuple(f.let(f"mul i64 {edge}, {own}") for edge in edges)

    def copy(one: FusedCopy) -> _Copy:
        place, halves = (frame.read(f, k.layout.value(v), "i64") for v in one)
        row = f.let(f"getelementptr i8, ptr {rows}, i64 {place}")
        return _Copy(f, row, halves, k.address(f, memory), *ends)

    def ready(edge: str) -> str:
        """Up to which trip those go that touch only what is below `edge`."""
        trip = f.let(f"sub i64 {edge}, {copies.reach.high}")
        return ranges.least(f, ranges.greatest(f, trip, part.low), part.high)

    before, after = [copy(one) for one in copies.before], [copy(one) for one in copies.after]
    middle = length * own // (2 * LINE) * LINE

    def piece(start: str) -> None:
        stop = f.let(f"add nsw i64 {start}, {length}")
        first, last = ranges.greatest(f, start, edges[0]), ranges.least(f, stop, edges[1])
        at, end = (f.let(f"mul i64 {edge}, {own}") for edge in (start, stop))
        cuts = at, f.let(f"add i64 {at}, {middle}"), end
        for each in before:
            each.ahead(*cuts)
        run(ready(first), ready(last))
        for each in after:
            each.behind(*cuts)

    for each in before:
        each.first_line()
    begin = f.let(f"sub i64 {edges[0]}, {f.let(f'urem i64 {edges[0]}, {length}')}")
    loops.plain(f, begin, edges[1], length, piece)
    for each in after:
        each.last_line()
    if not copies.reach.once:
        run(f.let(f"select i1 {part.first}, i64 {ready(edges[1])}, i64 {part.low}"), part.high)
    f.do("fence seq_cst")


def _copied(f: Function, reach: TripReach, memory: Memory, part: ChunkPart) -> tuple[str, str]:
    """Between which indices on the first axis a part of a chunk copies a memory: none in the second part."""
    begin, end = (f.let(f"add i64 {edge}, {reach.low}") for edge in (part.low, part.end))
    begins = f.let(f"icmp eq i64 {part.low}, 0")
    ends = f.let(f"icmp eq i64 {part.end}, {reach.trips}")
    begin = f.let(f"select i1 {begins}, i64 0, i64 {begin}")
    end = f.let(f"select i1 {ends}, i64 {memory.shape[0]}, i64 {end}")
    return begin, f.let(f"select i1 {part.first}, i64 {end}, i64 {begin}")


class _Copy(NamedTuple):
    """A copy to `row`, from byte `low` to `high`, of the halves of each piece whose bits are set in `halves`.

    Halves end where cache lines of the row do: two loops that share a copy agree on their ends, whatever
    chunks they have. Lines at the ends of a chunk belong to no piece: each of both loops copies its own.
    """

    f: Function
    row: str
    halves: str
    source: str
    low: str
    high: str

    def first_line(self) -> None:
        """Copies what lies before the first whole line."""
        self._part(self.low, self._ceiling(self.low))

    def last_line(self) -> None:
        """Copies what lies behind the last whole line."""
        self._part(self._floor(self.high), self.high)

    def ahead(self, at: str, middle: str, end: str) -> None:
        """Copies of a piece each half up to the line in which the byte before its end is."""
        self._part(*map(self._ceiling, self._edges(at, middle, end)))

    def behind(self, at: str, middle: str, end: str) -> None:
        """Copies of a piece each half up to the last line that ends before its end."""
        self._part(*map(self._floor, self._edges(at, middle, end)))

    def _edges(self, at: str, middle: str, end: str) -> tuple[str, str]:
        """From where to where the halves go."""
        bits = (self.f.let(f"and i64 {self.halves}, {bit}") for bit in (1, 2))
        lower, upper = (self.f.let(f"icmp ne i64 {bit}, 0") for bit in bits)
        start = self.f.let(f"select i1 {lower}, i64 {at}, i64 {middle}")
        return start, self.f.let(f"select i1 {upper}, i64 {end}, i64 {middle}")

    def _ceiling(self, at: str) -> str:
        at = ranges.greatest(self.f, at, self.low)
        missing = self.f.let(f"sub i64 0, {self._address(at)}")
        up = self.f.let(f"add i64 {at}, {self.f.let(f'and i64 {missing}, {LINE - 1}')}")
        return ranges.least(self.f, up, self.high)

    def _floor(self, at: str) -> str:
        at = ranges.least(self.f, at, self.high)
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
