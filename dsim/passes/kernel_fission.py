"""Loop fission: cuts a kernel at top-level statements into kernels that are launched in order.

A value that one part computes and a later one uses is passed through a memory of one number, unless it
depends on parameters alone: then the later part recomputes it, and index analysis stays exact. No cut is made
where a private buffer is live.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from dsim.ir.build import Names
from dsim.ir.nodes import Alloc, Block, KernelIR, Let, Load, Memory, Statement, Store, Var
from dsim.ir.walk import binds, bound_names, fields_of, free, memory_of, operands, statements
from dsim.records import record


@record
class Parts:
    """The kernels that `split` made, in order, and the memories that pass numbers between them."""

    kernels: tuple[KernelIR, ...]
    between: tuple[Memory, ...]


def split(kernel: KernelIR, cuts: Collection[int]) -> Parts:
    """`kernel` in parts.

    Parameters
    ----------
    kernel : KernelIR
        Any; sites stay.
    cuts : collection of int
        Numbers of top-level statements before which to cut, where no private buffer is live.

    Returns
    -------
    Parts
        Launched in order with the arguments of `kernel` they are equivalent to it; the last one has its
        return values. The memories `between` are new, of no field, with one number each.
    """
    body = kernel.body.statements
    allowed = sorted(c for c in set(cuts) if 0 < c < len(body) and not _in_use(body, c))
    ends = [0, *allowed, len(body)]
    pieces = [body[a:b] for a, b in pairwise(ends)]
    return _Splitter(kernel, pieces).parts()


def _in_use(body: Sequence[Statement], cut: int) -> bool:
    """Whether a private buffer made before statement `cut` is used from there on."""
    made = {s.memory for s in body[:cut] if isinstance(s, Alloc)}
    return any(memory_of(s) in made for s in statements(Block(tuple(body[cut:]))))


class _Splitter:
    def __init__(self, kernel: KernelIR, pieces: Sequence[Sequence[Statement]]) -> None:
        self.kernel = kernel
        self.pieces = pieces
        self.names = Names(bound_names(kernel))
        self.made_by = {v: s for piece in pieces for s in piece for v in binds(s)}
        self.home = {v: n for n, piece in enumerate(pieces) for s in piece for v in binds(s)}
        self.between: dict[Var, Memory] = {}
        self._pure: dict[Var, bool] = {}

    def parts(self) -> Parts:
        """All parts, with the loads and recomputations that each needs and the stores for later ones."""
        last = len(self.pieces) - 1
        yields = [self.kernel.body.yields if n == last else () for n in range(last + 1)]
        heads = [
            tuple(self._brought(n, free(Block(tuple(piece), yields[n]))))
            for n, piece in enumerate(self.pieces)
        ]
        kernels: list[KernelIR] = []
        for n, piece in enumerate(self.pieces):
            done = (*heads[n], *piece, *self._kept(n))
            kernels.append(self._kernel(Block(done, yields[n])))
        return Parts(tuple(kernels), tuple(self.between.values()))

    def _brought(self, n: int, wanted: Iterable[Var]) -> Iterator[Statement]:
        """Statements that load or recompute, in part `n`, the variables `wanted` of earlier parts."""
        done: set[Var] = set()
        for v in wanted:
            yield from self._one(n, v, done)

    def _one(self, n: int, v: Var, done: set[Var]) -> Iterator[Statement]:
        if v in done or self.home.get(v, n) == n:
            return
        done.add(v)
        s = self.made_by[v]
        if self._again(v):
            for a in operands(s):
                if isinstance(a, Var):
                    yield from self._one(n, a, done)
            yield s
            return
        memory = self.between.get(v)
        if memory is None:
            memory = self.between[v] = Memory(self.names.fresh(v.name), v.type, ())
        yield Load(v, memory, (), s.origin)

    def _again(self, v: Var) -> bool:
        """Whether `v` can be recomputed: it depends on parameters and constants alone."""
        known = self._pure.get(v)
        if known is None:
            s = self.made_by.get(v)  # None: a parameter
            known = s is None or (
                isinstance(s, Let)
                and s.op != "copy"  # each copy stands for its own assignment
                and all(self._again(a) for a in s.args if isinstance(a, Var))
            )
            self._pure[v] = known
        return known

    def _kept(self, n: int) -> Iterator[Statement]:
        for v, memory in self.between.items():
            if self.home[v] == n:
                yield Store(memory, (), v, self.made_by[v].origin)

    def _kernel(self, body: Block) -> KernelIR:
        return replace(self.kernel, body=body, memories=fields_of(body))
