"""Which of the primal's writes to fields an adjoint does again, and where.

An adjoint finds some memories as they were before the primal. A value that it needs of them may be one
that the primal itself wrote: then it does that write again, for real, and undoes it when it goes back.
A write that feeds no needed value is not done again.

Not its job: how writes are done and undone (`replay`, `journals`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from dsim.analysis.feeding import feeds
from dsim.ir.nodes import (
    Accumulate,
    Block,
    For,
    Kernel,
    Memory,
    MemoryKey,
    Statement,
    Store,
    While,
)
from dsim.ir.walk import statements

Span = tuple[int, int]  # from and to before which statement, in the order of the kernel's text


@dataclass(frozen=True, slots=True)
class Fed:
    """A needed read and a write that may feed it, by the numbers of their statements.

    `direct` in the same trip of all loops around both, `loops` in a later trip of these.
    """

    read: int
    write: int
    direct: bool
    loops: frozenset[int]


@dataclass(frozen=True)
class Again:
    """What an adjoint of a kernel does again.

    Parameters
    ----------
    kernel : Kernel or None
        The primal; None when nothing is done again.
    entry : frozenset of MemoryKey
        The memories that the adjoint finds as they were before the primal.
    fed : tuple of Fed
        Needed reads of these and what feeds them.
    used : frozenset of int
        The branches and loops whose results the adjoint uses, though nobody later sees what they write.
    met : frozenset of int
        Sites of needed accumulations that may meet others in iterations of a parallel loop.
    shared : frozenset of int
        These loops.
    """

    kernel: Kernel | None = None
    entry: frozenset[MemoryKey] = frozenset()
    fed: tuple[Fed, ...] = ()
    used: frozenset[int] = frozenset()
    met: frozenset[int] = frozenset()
    shared: frozenset[int] = frozenset()
    _spans: dict[int, Span] = field(init=False, repr=False, compare=False, default_factory=dict)
    writes: dict[int, Memory] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        if self.kernel is None or not self.fed:
            return
        done = {f.write for f in self.fed}
        for n, s in enumerate(statements(self.kernel.body)):
            self._spans[id(s)] = (n, n + sum(1 for _ in statements(Block((s,)))))
            if n in done and isinstance(s, Store | Accumulate):
                self.writes[n] = s.memory

    def number(self, s: Statement) -> int:
        """Where `s` stands in the text of the kernel; -1 when nothing is done again."""
        return self._spans.get(id(s), (-1, 0))[0]

    def span(self, body: Sequence[Statement]) -> Span:
        """The statements in `body`, inner ones included."""
        if not self.fed or not body:
            return 0, 0
        return self._spans[id(body[0])][0], self._spans[id(body[-1])][1]

    @property
    def memories(self) -> tuple[Memory, ...]:
        """All memories that it writes again."""
        return tuple(dict.fromkeys(self.writes.values()))

    def outermost(self, s: Statement) -> bool:
        """Whether `s` is a top-level statement."""
        return self.kernel is not None and any(s is top for top in self.kernel.body.statements)

    def inside(self, s: Statement) -> tuple[Memory, ...]:
        """The memories that `s` writes again, together with all inside it."""
        if not self.fed:
            return ()
        first, last = self._spans[id(s)]
        return tuple(dict.fromkeys(m for n, m in self.writes.items() if first <= n < last))

    def seen(self, s: Statement, region: Span) -> bool:
        """Whether something behind `s` in one run of the `region` may see what `s` wrote."""
        if not self.fed:
            return False
        first, last = self._spans[id(s)]
        return any(
            f.direct and first <= f.write < last <= f.read and region[0] <= f.read < region[1]
            for f in self.fed
        )

    def handed_on(self, loop: For | While) -> bool:
        """Whether a trip of `loop` may see what an earlier one wrote."""
        return bool(self.fed) and any(self.number(loop) in f.loops for f in self.fed)


def found(kernel: Kernel, entry: frozenset[MemoryKey], needed: Collection[int], used: Iterable[int]) -> Again:
    """What the adjoint of `kernel` does again when it needs the accesses at the sites `needed`."""
    reads = needed if entry else ()
    own = [f for f in (feeds(kernel, reads) if reads else ()) if f.read.memory.key in entry]
    if not own:
        return Again(entry=entry)
    at = {id(s): n for n, s in enumerate(statements(kernel.body))}
    fed = tuple(
        Fed(
            at[id(f.read.statement)],
            at[id(f.write.statement)],
            f.direct,
            frozenset(at[id(loop.statement)] for loop in f.loops),
        )
        for f in own
    )
    pairs = [(f.read.site, loop.statement) for f in own for loop in f.loops]
    pairs = [(site, s) for site, s in pairs if isinstance(s, For) and s.parallel]
    met, shared = frozenset(site for site, _ in pairs), frozenset(at[id(s)] for _, s in pairs)
    return Again(kernel, entry, fed, frozenset(used), met, shared)
