"""The adjoint of an adjoint that repeats writes, by the symmetry of second derivatives.

With ``A(s, b) = J(s)ᵀ b``, the adjoint of a kernel with the Jacobian J, and adjoints ``u`` of what A gives,
``u · J(s)ᵀ b = b · J(s) u``. So the adjoint of `b` is ``J(s) u``, the tangent of the kernel along
``u``; and that of `s` is ``Σ bₖ Hₖ u``, where each H is symmetric: the tangent of A along ``u``. Forward mode
knows undo logs, so nothing else is needed. Second order as forward over reverse: Griewank and Walther,
*Evaluating Derivatives* (2008), section 5.1.

Both tangents run on copies of what they would overwrite: the kernel's own memories and A's adjoints.
Not its job: adjoints without undo logs (`reverse_mode`), whose own adjoints, made statement by
statement, cost less.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from dsim.analysis.activity import spread
from dsim.autodiff.custom_rules import has_rules
from dsim.autodiff.forward_mode import forward
from dsim.autodiff.normal_form import prepared, refuse_undo_logs
from dsim.autodiff.reverse_mode import Adjoint
from dsim.ir.build import Builder, Names, const
from dsim.ir.copying import Copier
from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Append,
    Atom,
    Block,
    For,
    KernelIR,
    Load,
    Memory,
    MemoryKey,
    Statement,
    Store,
    UndoLog,
)
from dsim.ir.types import i32
from dsim.ir.walk import bound_names, fields_of, silent, statements, with_blocks, written
from dsim.passes.dead_code_elimination import eliminate_dead_code
from dsim.passes.scalar_promotion import promote_scalars

Keys = frozenset[MemoryKey]

_NOT_READ = 1 << 30  # the site of a read that the kernel's adjoint does not repeat, whatever it is


class Made(NamedTuple):
    """How an adjoint was made: its kernel, its active memories, and what it required.

    See `reverse` and `Adjoint` for the names.
    """

    kernel: KernelIR
    active: Keys
    label: str
    entry: Keys
    needed: frozenset[int]

    def bar(self, key: MemoryKey) -> MemoryKey:
        """The memory of the adjoints of `key`."""
        return key[0], (*key[1], self.label)


def writes_again(kernel: KernelIR) -> bool:
    """Whether `kernel` is an adjoint that repeats writes."""
    return any(isinstance(s, UndoLog) for s in statements(kernel.body))


def by_symmetry(adjoint: KernelIR, made: Made, active: Keys, label: str) -> Adjoint:
    """The adjoint of `adjoint`, which was `made` from a kernel, with respect to the `active` memories.

    It finds the memories that `adjoint` writes as they were before it: those of them that it reads are
    `Adjoint.whole`.

    Raises
    ------
    GradientError
        If the symmetry of second derivatives is not guaranteed (a func in the kernel has custom rules), if
        `adjoint` reads values as the kernel left them, or if a rerun of the kernel reads more values than
        `adjoint` does.
    """
    # The kernel as `reverse` transformed it: the sites that the adjoint reads again refer to this one.
    primal = promote_scalars(prepared(made.kernel, distinct=bool(made.entry)), made.entry)
    made = made._replace(kernel=primal)
    directions = frozenset(k for k in made.active if made.bar(k) in active)
    along = spread(primal, directions)
    # Custom rules need not be the derivative of any function, and then symmetry does not hold.
    if has_rules(primal):
        refuse_undo_logs(adjoint, "a func in it brings its own derivative")
    if _reads_results(adjoint, made, along):
        refuse_undo_logs(adjoint, "it reads what the kernel has written")
    both = _Both(adjoint, made, active, label, directions)
    both.second_order()
    both.first_order(along)
    body = both.builder.close()
    exact = adjoint.exact or primal.exact
    kernel = eliminate_dead_code(replace(adjoint, body=body, memories=fields_of(body), exact=exact))
    kernel = replace(kernel, memories=fields_of(kernel.body))
    read = both.read(kernel)
    if not read.of_kernel <= made.needed:
        refuse_undo_logs(adjoint, "more values would be needed for it than are saved")
    needed = (s.site for s in _loads(adjoint.body) if s.memory.key in read.memories)
    return Adjoint(kernel, frozenset(needed), (), whole=read.memories & _changed(adjoint.body))


def _reads_results(adjoint: KernelIR, made: Made, along: Keys) -> bool:
    """Whether `adjoint` reads values as the kernel left them: the tangents start from others."""
    left = (along - made.entry) & _changed(made.kernel.body)
    return any(s.memory.key in left for s in _loads(adjoint.body))


class _Read(NamedTuple):
    """The memories that the result reads, and the sites of the kernel's own reads that it repeats."""

    memories: Keys
    of_kernel: frozenset[int]


@dataclass
class _Both:
    """Appends the two tangents, one after the other."""

    adjoint: KernelIR
    made: Made
    active: Keys
    label: str
    directions: Keys
    builder: Builder = field(init=False)
    copied: dict[Memory, MemoryKey] = field(
        init=False, default_factory=dict[Memory, MemoryKey]
    )  # by private memory

    def __post_init__(self) -> None:
        self.names = Names([*bound_names(self.adjoint), *bound_names(self.made.kernel)])
        self.builder = Builder(self.names)
        self.dot = self._unused(self.label)

    def _unused(self, label: str) -> str:
        """A label that no companion of a memory has."""
        used = {part for k in (self.adjoint, self.made.kernel) for m in k.memories for part in m.derivative}
        return Names(used).fresh(f"{label}_along")

    def second_order(self) -> None:
        """Adds, to the adjoints of what the kernel reads, the tangent of its adjoint along `directions`."""
        kernel = replace(self.adjoint, body=silent(self.adjoint.body))
        tangent = forward(kernel, spread(kernel, self.directions), self.dot)
        bars = {self.made.bar(k): k for k in self.made.active}
        changed = _changed(kernel.body) & set(bars)
        places = self._directions(tangent)
        sums: list[tuple[Memory, Memory]] = []
        for m in tangent.memories:
            base = _base(m, self.dot)
            if base in bars:
                places[m] = self._zeros(m)
                if bars[base] in self.active:
                    sums.append((places[m], _companion(m, bars[base], self.label)))
            elif base is None and m.key in changed:
                places[m] = self._copy(m)
        self._append(tangent.body, places)
        for source, target in sums:
            self._add(source, target, ())

    def first_order(self, along: Keys) -> None:
        """Propagates the adjoints of the results of the kernel's adjoint to those of its seeds."""
        kernel = self.made.kernel
        found = _changed(kernel.body)
        kernel = replace(kernel, body=_numbered(silent(replace(kernel.body, yields=()))))
        tangent = forward(kernel, along, self.dot)
        places = self._directions(tangent)
        for m in tangent.memories:
            if _base(m, self.dot) is None and m.key in found & self.made.entry:
                places[m] = self._copy(m)
        self._append(_without_writes(tangent.body, found - self.made.entry), places)

    def _directions(self, tangent: KernelIR) -> dict[Memory, Memory]:
        """Where the tangents of the kernel's own memories are."""
        places: dict[Memory, Memory] = {}
        bars = {self.made.bar(k) for k in self.made.active}
        for m in tangent.memories:
            base = _base(m, self.dot)
            if base in self.directions:
                places[m] = _companion(m, self.made.bar(base), self.label)
            elif base is not None and base not in bars:
                places[m] = self._zeros(m)
        return places

    def _append(self, body: Block, places: Mapping[Memory, Memory]) -> None:
        copier = Copier(self.names, "reverse")
        copier.memories.update(places)
        for s in copier.block(body, {}).statements:
            self.builder.add(s)

    # -- memories of its own

    def _zeros(self, like: Memory) -> Memory:
        own = replace(like, name=self.names.fresh(f"{like.name}_own"), derivative=(), private=True)
        self.builder.add(Alloc(own, _lengths(like)))
        return own

    def _copy(self, of: Memory) -> Memory:
        own = self._zeros(of)
        self.builder.copy_elements(of, (), own, (), _lengths(of))
        self.copied[own] = of.key
        return own

    def _add(self, source: Memory, target: Memory, at: tuple[Atom, ...]) -> None:
        """Appends ``target += source``, whole."""
        b, lengths = self.builder, _lengths(source)
        if len(at) == len(lengths):
            value = b.fresh(source.name, source.type)
            b.add(Load(value, source, at))
            b.add(Accumulate(target, at, value))
            return
        i = b.fresh("entry", i32)
        with b.block() as inner:
            self._add(source, target, (*at, i))
        b.add(For(i, const(0, i32), lengths[len(at)], 1, Block(tuple(inner))))

    # -- the result

    def read(self, kernel: KernelIR) -> _Read:
        """The reads of `kernel`: the two tangents after dead code elimination."""
        own = {m.key for m in self.made.kernel.memories}
        loads = [(self.copied.get(s.memory, s.memory.key), s.site) for s in _loads(kernel.body)]
        of_kernel = {_primal_site(site) for key, site in loads if key in own and site < -1}
        memories = {key for key, _ in loads} & (own | {m.key for m in self.adjoint.memories})
        return _Read(frozenset(memories), frozenset(of_kernel))


def _numbered(b: Block) -> Block:
    """`b` with sites below -1, to distinguish the kernel's sites from those of its adjoint."""

    def numbered(s: Statement) -> Statement:
        if isinstance(s, Load | Store | Accumulate | Append):
            return replace(s, site=_primal_site(s.site))
        return with_blocks(s, _numbered)

    return Block(tuple(map(numbered, b.statements)), b.yields)


def _without_writes(b: Block, final: Collection[MemoryKey]) -> Block:
    """`b` without its writes to the memories `final`, which already have their final values."""

    def kept(given: Iterable[Statement]) -> Iterator[Statement]:
        for s in given:
            if not isinstance(s, Store | Accumulate) or s.memory.key not in final:
                yield with_blocks(s, lambda inner: _without_writes(inner, final))
            elif isinstance(s, Accumulate) and s.old is not None:
                yield Load(s.old, s.memory, s.index, s.origin, _primal_site(_NOT_READ))

    return Block(tuple(kept(b.statements)), b.yields)


def _primal_site(site: int) -> int:
    return -2 - site


def _loads(block: Block) -> Iterator[Load]:
    return (s for s in statements(block) if isinstance(s, Load))


def _changed(block: Block) -> set[MemoryKey]:
    """The keys of the fields that `block` writes."""
    found = (written(s) for s in statements(block))
    return {m.key for m in found if m is not None and not m.private}


def _base(m: Memory, label: str) -> MemoryKey | None:
    """The memory of which `m` holds tangents; None if it holds none."""
    return (m.name, m.derivative[:-1]) if m.derivative[-1:] == (label,) else None


def _companion(like: Memory, key: MemoryKey, label: str) -> Memory:
    return replace(like, name=key[0], derivative=(*key[1], label))


def _lengths(m: Memory) -> tuple[Atom, ...]:
    return tuple(const(n, i32) for n in m.shape if n is not None)
