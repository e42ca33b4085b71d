"""Recomputed writes: which of the primal's writes to fields an adjoint repeats, and where.

An adjoint finds some memories in the state before the primal. If it needs a value that the primal itself
wrote to one of them, it repeats that write in the field, and the backward sweep undoes it.
A write on which no needed value depends is not repeated.

Not its job: how writes are repeated and undone (`forward_sweep`, `undo_logs`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from dsim.analysis.dependence.flow_dependence import flow_dependences
from dsim.ir.nodes import Accumulate, For, KernelIR, Memory, MemoryKey, Statement, Store, While
from dsim.ir.walk import blocks, statements

Span = tuple[int, int]  # from and to (exclusive): statement numbers in the kernel's program order


@dataclass(frozen=True)
class RecomputedWrites:
    """The writes of a kernel that its adjoint repeats; statements are given by number in program order.

    Parameters
    ----------
    kernel : KernelIR or None
        The primal; None if no write can be repeated.
    entry : frozenset of MemoryKey
        The memories that the adjoint finds in the state before the primal.
    writes : frozenset of int
        The writes to these that are repeated.
    direct : frozenset of (int, int, int)
        Flow dependences of needed reads on these writes within one trip of all loops around both, as
        (write, read, within). `within` is the branch or loop (the last such) in whose rerun as a whole the
        value is read; if it is read elsewhere too, the number of statements.
    handed_on : frozenset of int
        The loops that carry such a flow dependence from trip to trip.
    shared : frozenset of int
        Those of them that are parallel.
    met : frozenset of int
        Sites of needed accumulations that may alias others in iterations of these.
    used : frozenset of int
        The branches and loops whose results the adjoint uses although no later read depends on their writes.
    """

    kernel: KernelIR | None = None
    entry: frozenset[MemoryKey] = frozenset()
    writes: frozenset[int] = frozenset()
    direct: frozenset[tuple[int, int, int]] = frozenset()
    handed_on: frozenset[int] = frozenset()
    shared: frozenset[int] = frozenset()
    met: frozenset[int] = frozenset()
    used: frozenset[int] = frozenset()
    _spans: dict[int, Span] = field(init=False, repr=False, compare=False, default_factory=dict[int, Span])
    _done: dict[int, Memory] = field(init=False, repr=False, compare=False, default_factory=dict[int, Memory])
    _reads: dict[int, list[Span]] = field(
        init=False, repr=False, compare=False, default_factory=dict[int, list[Span]]
    )

    def __post_init__(self) -> None:
        if self.kernel is None:
            return
        self._number(self.kernel.body.statements, 0)
        for write, read, within in sorted(self.direct):
            self._reads.setdefault(write, []).append((read, within))

    def _number(self, body: Sequence[Statement], n: int) -> int:
        for s in body:
            first, n = n, n + 1
            if first in self.writes and isinstance(s, Store | Accumulate):
                self._done[first] = s.memory
            for inner in blocks(s):
                n = self._number(inner.statements, n)
            self._spans[id(s)] = (first, n)
        return n

    def number(self, s: Statement) -> int:
        """The number of `s` in program order; -1 if no write can be repeated."""
        return self._spans.get(id(s), (-1, 0))[0]

    def span(self, body: Sequence[Statement]) -> Span:
        """The span of the statements in `body`, inner ones included."""
        if not self._spans or not body:
            return 0, 0
        return self._spans[id(body[0])][0], self._spans[id(body[-1])][1]

    @property
    def memories(self) -> tuple[Memory, ...]:
        """All memories with repeated writes."""
        return tuple(dict.fromkeys(self._done.values()))

    def outermost(self, s: Statement) -> bool:
        """Whether `s` is a top-level statement."""
        return self.kernel is not None and any(s is top for top in self.kernel.body.statements)

    def inside(self, s: Statement) -> tuple[Memory, ...]:
        """The memories with repeated writes in `s`, inner statements included."""
        first, last = self._spans.get(id(s), (0, 0))
        return tuple(dict.fromkeys(m for n, m in self._done.items() if first <= n < last))

    def seen(self, s: Statement, region: Span) -> bool:
        """Whether a needed read after `s`, in one run of `region`, may depend on what `s` wrote."""
        first, last = self._spans.get(id(s), (0, 0))
        low, high = max(last, region[0]), region[1]
        if low >= high:
            return False
        reads = (r for n in self._done if first <= n < last for r in self._reads.get(n, ()))
        return any(low <= read < high and region[0] <= within for read, within in reads)

    def goes_on(self, loop: For | While) -> bool:
        """Whether `loop` carries a flow dependence from a repeated write to a needed read."""
        return self.number(loop) in self.handed_on


def found(
    kernel: KernelIR, entry: frozenset[MemoryKey], loads: Collection[Span], used: frozenset[int]
) -> RecomputedWrites:
    """The writes that the adjoint of `kernel` repeats.

    `loads` are the sites of the values that it reads, each with the number of the branch or loop that is
    rerun as a whole to read it, or -1.
    """
    needed = {site for site, _ in loads}
    own = (
        [f for f in flow_dependences(kernel, needed) if f.read.memory.key in entry]
        if entry and needed
        else []
    )
    if not own:
        return RecomputedWrites(kernel if entry else None, entry)
    at = {id(s): n for n, s in enumerate(statements(kernel.body))}
    within: dict[int, int] = {}
    for site, run in loads:
        within[site] = max(within.get(site, -1), run if run >= 0 else len(at))
    through = [(f.read.site, loop.statement) for f in own for loop in f.loops]
    shared = [(site, s) for site, s in through if isinstance(s, For) and s.parallel]
    return RecomputedWrites(
        kernel,
        entry,
        frozenset(at[id(f.write.statement)] for f in own),
        frozenset(
            (at[id(f.write.statement)], at[id(f.read.statement)], within[f.read.site])
            for f in own
            if f.direct
        ),
        frozenset(at[id(s)] for _, s in through),
        frozenset(at[id(s)] for _, s in shared),
        frozenset(site for site, _ in shared),
        used,
    )
