"""Loop unrolling: writes out the loops over a few neighbours of an element that data choose.

``for p in x: for i in range(3): grid[base(x[p]) + i] += f(x[p], i)``: LLVM vectorises innermost loops, and
only loops without others inside compute in strips. With the three trips written out, as by ``ti.static``, the
iterations of the outer loop become vectors. See docs/decisions/0055-scatters-in-strips.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dsim.analysis.data_indices import chosen_by_data
from dsim.ir.build import Builder, Names, const
from dsim.ir.copying import Copier
from dsim.ir.nodes import Accumulate, Atom, Block, Const, For, If, KernelIR, Let, Load, Statement, Store, Var
from dsim.ir.ranges import known_trips
from dsim.ir.walk import blocks, bound_names, statements, swap, with_blocks, with_operands

_LONGEST = 8  # trips of a loop that is written out
_FEWEST = 64  # trips of the loop around it, where they are known
_MOST = 1000  # statements of a body with all trips written out, before what they share is computed once


def unroll_short_loops(kernel: KernelIR) -> KernelIR:
    """`kernel` with short loops in parallel ones unrolled; `kernel` itself if there is none to unroll."""
    if not any(map(_unrolls, statements(kernel.body))):
        return kernel
    return replace(kernel, body=_Unroller(kernel).block(kernel.body))


def _unrolls(s: Statement) -> bool:
    """Whether `s` is a loop of which all loops inside are to be written out."""
    if not isinstance(s, For) or not s.parallel or not any(isinstance(t, For) for t in s.body.statements):
        return False
    trips = known_trips(s)
    if (trips is not None and trips < _FEWEST) or not _simple(s.body) or _size(s.body) > _MOST:
        return False
    by_data = chosen_by_data(s.body)
    return any(
        isinstance(t, Load | Accumulate) and any(a in by_data for a in t.index)
        for t in _statements_of_loops(s.body)
    )


def _simple(b: Block) -> bool:
    """Whether `b` consists of short loops and straight code, and branches without additions."""
    for s in b.statements:
        if isinstance(s, For):
            trips = known_trips(s)
            if trips is None or trips > _LONGEST or s.goes_on is not None or not _simple(s.body):
                return False
        elif isinstance(s, If):
            if not all(isinstance(t, Let | Load | Store | If) for one in blocks(s) for t in statements(one)):
                return False
        elif not isinstance(s, Let | Load | Store | Accumulate):
            return False
    return True


def _size(b: Block) -> int:
    sizes = (sum(map(_size, blocks(s))) for s in b.statements)
    return sum(
        (known_trips(s) or 0) * size if isinstance(s, For) else 1 + size
        for s, size in zip(b.statements, sizes, strict=True)
    )


def _statements_of_loops(b: Block) -> Iterator[Statement]:
    for s in b.statements:
        for inner in blocks(s):
            yield from statements(inner)


class _Unroller:
    def __init__(self, kernel: KernelIR) -> None:
        self.builder = Builder(Names(bound_names(kernel)))
        self.copier = Copier(self.builder.names)

    def block(self, b: Block) -> Block:
        return Block(tuple(map(self.statement, b.statements)), b.yields)

    def statement(self, s: Statement) -> Statement:
        if not _unrolls(s):
            return with_blocks(s, self.block)
        assert isinstance(s, For)
        env: dict[Var, Atom] = {}
        with self.builder.block() as out:
            for t in s.body.statements:
                self.add(t, env, copied=False)
        return replace(s, body=Block(tuple(out), tuple(swap(a, env) for a in s.body.yields)))

    def add(self, s: Statement, env: dict[Var, Atom], *, copied: bool) -> None:
        """Appends `s` with variables replaced as `env` says; what is copied, and a branch, with new names."""
        if isinstance(s, For):
            self.trips(s, env)
        elif copied or isinstance(s, If):
            self.builder.add(self.copier.statement(s, env))
        else:
            self.builder.add(with_operands(s, lambda a: swap(a, env)))

    def trips(self, s: For, env: dict[Var, Atom]) -> None:
        """Appends all trips of `s`; its results become entries of `env`."""
        values = tuple(swap(a, env) for a in s.init)
        assert isinstance(s.start, Const)
        for trip in range(known_trips(s) or 0):
            index = const(int(s.start.value) + trip * s.step, s.index.type)
            here = {**env, s.index: index, **dict(zip(s.carried, values, strict=True))}
            for t in s.body.statements:
                self.add(t, here, copied=True)
            values = tuple(swap(a, here) for a in s.body.yields)
        env.update(zip(s.results, values, strict=True))
