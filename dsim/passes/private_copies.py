"""Runs a kernel on private copies of fields that it overwrites.

A reverse sweep saves private buffers by snapshots, so the adjoint of the result repeats no writes to these
fields, and has an adjoint of its own, statement by statement.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from dsim.ir.build import Builder, Names, const
from dsim.ir.copying import Copier
from dsim.ir.nodes import Alloc, Atom, KernelIR, Memory, MemoryKey
from dsim.ir.types import i32
from dsim.ir.walk import bound_names
from dsim.passes.parallelization import in_series


def on_private_copies(kernel: KernelIR, keys: Collection[MemoryKey]) -> KernelIR:
    """`kernel`, with the memories `keys` copied at its begin, and copied back at its end."""
    kernel = in_series(kernel)
    names = Names(bound_names(kernel))
    builder, copier = Builder(names), Copier(names)
    copied = [m for m in kernel.memories if m.key in keys]
    for m in copied:
        own = replace(m, name=names.fresh(f"{m.name}_own"), derivative=(), private=True)
        copier.memories[m] = own
        builder.add(Alloc(own, _lengths(m)))
        builder.copy_elements(m, (), own, (), _lengths(m))
    inner = copier.block(kernel.body, {})
    for s in inner.statements:
        builder.add(s)
    for m in copied:
        builder.copy_elements(copier.memories[m], (), m, (), _lengths(m))
    return replace(kernel, body=replace(builder.close(), yields=inner.yields))


def _lengths(m: Memory) -> tuple[Atom, ...]:
    return tuple(const(n, i32) for n in m.shape if n is not None)
