"""Reverse mode: the adjoint kernel of a kernel, and the vector-Jacobian product of a pure function.

The adjoint kernel runs after the primal, on the memories as the primal left them, except for `entry`, which
are in the state before it. It replays the part of the primal that it needs, without effects, then runs the
backward sweep: it reads the adjoints of what the primal wrote and adds to those of what the primal read.
`Adjoint.needed` and `Adjoint.lost` list the values that the adjoint reads again; callers check whether the
primal overwrote them. In the memories of `entry` it repeats the writes on which its values depend, and undoes
them (`recomputed_writes`, `undo_logs`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from dsim.analysis.activity import of_kernel
from dsim.analysis.poles import unchosen
from dsim.autodiff.adjoint_environment import Adjoints, Reversal
from dsim.autodiff.backward_sweep import backward, pullback
from dsim.autodiff.forward_sweep import replay
from dsim.autodiff.names import ADJOINT
from dsim.autodiff.normal_form import prepared, refuse_undo_logs
from dsim.autodiff.recomputed_writes import RecomputedWrites, Span, found
from dsim.autodiff.undo_logs import opened
from dsim.ir.build import Builder, Names
from dsim.ir.copying import Copier
from dsim.ir.nodes import (
    Accumulate,
    Atom,
    Block,
    KernelIR,
    Load,
    MemoryKey,
    Probe,
    Var,
)
from dsim.ir.walk import binds, fields_of, parameters, statements
from dsim.passes.dead_code_elimination import eliminate_dead_code
from dsim.passes.parallelization import in_series
from dsim.passes.scalar_promotion import promote_scalars


class Lost(NamedTuple):
    """A value that the adjoint needs and that the primal's own statement `by` overwrites."""

    by: Accumulate


class Adjoint(NamedTuple):
    """An adjoint kernel and what it requires of the primal.

    Attributes
    ----------
    kernel : KernelIR
        Same parameters as the primal; returns nothing; changes only adjoint memories, and restores those to
        which it repeats writes bit for bit.
    needed : frozenset of int
        Sites of the primal's accesses whose value the adjoint reads again from memory. Of a load: the
        value that it read. Of a min or max accumulation: the final value. Of another accumulation: the
        value before it.
    lost : tuple of Lost
        Needed values that are in no memory any more; if there are any, the gradient is refused.
    rewritten : frozenset of MemoryKey
        The memories to which it repeats writes.
    ordered : tuple of Accumulate
        Accumulations whose value before it uses and that may alias others in iterations of a parallel loop:
        the primal must then run `in_series`, so that the adjoint recomputes the same values.
    whole : frozenset of MemoryKey
        Memories that the primal writes and that the adjoint must find in the state before it.
    """

    kernel: KernelIR
    needed: frozenset[int]
    lost: tuple[Lost, ...]
    rewritten: frozenset[MemoryKey] = frozenset()
    ordered: tuple[Accumulate, ...] = ()
    whole: frozenset[MemoryKey] = frozenset()

    @property
    def serial(self) -> bool:
        """Whether the primal must run in series."""
        return bool(self.ordered)


def reverse(
    kernel: KernelIR,
    active: frozenset[MemoryKey],
    label: str = ADJOINT,
    entry: frozenset[MemoryKey] = frozenset(),
) -> Adjoint:
    """The adjoint of `kernel` with respect to the `active` memories.

    Parameters
    ----------
    kernel : KernelIR
        Without `Derive` nodes (`expand` replaces them), its sites numbered.
    active : frozenset of MemoryKey
        Memories with adjoints: those of ``(name, derivative)`` are ``(name, derivative + (label,))``.
    label : str
        The name of the adjoints among a memory's companions.
    entry : frozenset of MemoryKey
        Memories that are in the state before the primal when the adjoint runs; all others are as the
        primal left them.

    Raises
    ------
    GradientError
        If `kernel` itself repeats writes: see `second_order_symmetry.by_symmetry`.
    """
    refuse_undo_logs(kernel)
    kernel = promote_scalars(prepared(kernel, distinct=bool(entry)), entry)
    recomputed = RecomputedWrites(kernel if entry else None, entry)
    loads, used, met = frozenset[Span](), frozenset[int](), frozenset[int]()
    while True:  # a fixed point: repeated writes may need more values, which may need more repeated writes
        made = _reverse(kernel, active, label, recomputed)
        loads, used = loads | made.loads, used | made.used
        following = found(kernel, entry, loads, used)
        if following.met:
            met |= following.met
            kernel, used = _in_order(kernel, entry, following.shared), frozenset[int]()
            loads = frozenset((site, -1) for site, _ in loads)
            following = found(kernel, entry, loads, used)
        elif following == recomputed:
            return made.adjoint._replace(ordered=tuple(s for s in made.olds if s.site in met))
        recomputed = following


def _in_order(kernel: KernelIR, entry: frozenset[MemoryKey], loops: frozenset[int]) -> KernelIR:
    """`kernel` with these loops serial, so that scalar promotion may carry the elements they accumulate to.

    Not those whose value before is used: `Adjoint.ordered` must find their accumulations.
    """
    seen = {s.memory.key for s in statements(kernel.body) if isinstance(s, Accumulate) and s.old is not None}
    return promote_scalars(in_series(kernel, loops), entry - seen)


class _Made(NamedTuple):
    """An adjoint, and the facts that `recomputed_writes.found` needs.

    `loads`: the sites that it loads, with the rerun of each; `used`: the reruns whose results it uses;
    `olds`: the accumulations whose value before it uses.
    """

    adjoint: Adjoint
    loads: frozenset[Span]
    used: frozenset[int]
    olds: tuple[Accumulate, ...]


def _reverse(
    kernel: KernelIR, active: frozenset[MemoryKey], label: str, recomputed: RecomputedWrites
) -> _Made:
    """The adjoint that repeats the writes in `recomputed`."""
    names = Names([*(p.name for p in kernel.params), *(m.name for m in kernel.memories)])
    builder = Builder(names)
    activity = of_kernel(kernel, active)
    top = kernel.body.statements
    ctx = Reversal(
        builder, activity, Copier(names), label, unchosen(kernel.body), recomputed, recomputed.span(top)
    )
    if any(isinstance(s, Probe) for s in statements(kernel.body)):
        ctx.reached = of_kernel(kernel, active, shown=False)
    opened(ctx, recomputed.memories)
    env: dict[Var, Atom] = {}
    records = replay(ctx, top, env)
    backward(ctx, top, records, env, Adjoints(builder, activity))
    body = builder.close()
    exact = kernel.exact or compares_final_values(kernel)
    adjoint = replace(kernel, body=body, memories=fields_of(body), exact=exact)
    adjoint = eliminate_dead_code(adjoint)
    adjoint = replace(adjoint, memories=fields_of(adjoint.body))
    bound = {v.name: v for s in statements(adjoint.body) for v in (*binds(s), *parameters(s))}
    gone = [s for v, s in ctx.lost.items() if v.name in bound]
    return _Made(
        Adjoint(
            adjoint,
            frozenset(s.site for s in _loads(kernel, adjoint)),
            tuple(Lost(s) for s in gone if s.memory.key not in recomputed.entry),
            frozenset(m.key for m in recomputed.memories),
        ),
        frozenset((s.site, ctx.loaded.get(s.var.name, -1)) for s in _loads(kernel, adjoint)),
        frozenset(n for name, n in ctx.forward.items() if name in bound),
        tuple(dict.fromkeys(s for s in gone if s.old is not None)),
    )


def compares_final_values(kernel: KernelIR) -> bool:
    """Whether gradients of `kernel` compare values with a minimum or maximum that it accumulated.

    Primal and adjoint must then compute bit-identical values.
    """
    return any(
        isinstance(s, Accumulate) and s.op in ("min", "max") and s.memory.type.is_float
        for s in statements(kernel.body)
    )


def _loads(primal: KernelIR, adjoint: KernelIR) -> Iterator[Load]:
    """The loads of `adjoint` that repeat what `primal` read."""
    own = {m.key for m in primal.memories}
    for s in statements(adjoint.body):
        if isinstance(s, Load) and s.memory.key in own and not s.memory.private and s.site >= 0:
            yield s


def vjp(
    builder: Builder, params: Sequence[Var], body: Block, args: Sequence[Atom], seeds: Sequence[Atom]
) -> tuple[Atom, ...]:
    """Appends `body` at `args`, then its backward sweep; returns the adjoints of the float `params`.

    `seeds` are the adjoints of the float yields. Memories count as constants.
    """
    floats = [p for p in params if p.type.is_float]
    return pullback(builder, body, dict(zip(params, args, strict=True)), floats, seeds)
