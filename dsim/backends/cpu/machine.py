"""Kernels on this processor: compile, bind to buffers, launch.

::

    launch = compile_kernel(kernel).bind({("x", ()): array})
    launch(0.5)

Machine code is compiled at the first launch that needs it. A kernel has at most two variants: one
that checks only what is unknown, and one, for launches whose arguments break the conditions under
which the rest is in bounds, that checks that as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dsim.analysis.bounds import Bounds
from dsim.analysis.effects import Effects
from dsim.backends.cpu.compiled import CompiledKernel
from dsim.backends.cpu.launch import Launch, Launcher, roaming
from dsim.backends.cpu.runtime import thread_count
from dsim.backends.llvm.kernel import FusedCopies, FusedCopy, Strides
from dsim.ir.build import Names
from dsim.ir.nodes import KernelIR, MemoryKey, Var
from dsim.ir.types import i64
from dsim.ir.walk import bound_names


class CpuMachine(CompiledKernel):
    """A kernel as machine code that can be bound to buffers."""

    def bind(self, buffers: Mapping[MemoryKey, np.ndarray]) -> Launch:
        """A function that launches it on these arrays, which it keeps alive; see `Launcher`.

        Raises
        ------
        ValueError
            When an array does not fit its memory, or overlaps one that the kernel writes.
        """
        return Launcher(self, buffers).launch

    def roam(self, buffers: Mapping[MemoryKey, np.ndarray], keys: Sequence[MemoryKey]) -> Launch:
        """A function that launches it on these arrays, and for `keys` on arrays passed first at each launch.

        The caller guarantees that those have the memories' types and shapes, are contiguous, writable where
        they are written, and that none of them overlaps another one of which one is written.
        """
        return roaming(self, buffers, tuple(keys))

    def copying(self, key: MemoryKey, before: int, after: int) -> CpuMachine:
        """The same kernel with fused copies of the memory `key`, which can be `copied`.

        It copies the values before it so often, and those after it. Further arguments of its launches, in a
        `LaunchTable` only, say for each copy at which byte of the rows it begins and which halves it makes.
        """
        reach = self.copied(key)
        assert reach is not None
        names = Names(bound_names(self.kernel))
        made = [
            FusedCopy(Var(names.fresh("place"), i64), Var(names.fresh("halves"), i64))
            for _ in range(before + after)
        ]
        kernel = replace(self.kernel, params=self.kernel.params + tuple(v for one in made for v in one))
        copies = FusedCopies(key, reach, tuple(made[:before]), tuple(made[before:]))
        return replace(self, kernel=kernel, copies=copies)


def compile_kernel(
    kernel: KernelIR,
    bounds: Bounds | None = None,
    *,
    strides: Strides | None = None,
    threads: bool | int = True,
    deterministic: bool = False,
    facts: Effects | None = None,
) -> CpuMachine:
    """Prepares `kernel`, which has no `Derive` and no `Call` nodes, for this processor.

    Parameters
    ----------
    kernel : KernelIR
        What to compile.
    bounds : Bounds, optional
        The results of bounds analysis. Without them no access is checked: the caller
        guarantees that all indices are in bounds.
    strides : mapping, optional
        Element strides of memories that are not in C order.
    threads : bool or int
        Whether parallel loops may use several threads; or how many at most.
    deterministic : bool
        Whether sums must not depend on the order of threads, nor on their number.
    facts : Effects, optional
        The effects of this kernel, if already computed.
    """
    count = thread_count() if threads is True else max(1, int(threads))
    return CpuMachine(kernel, bounds, dict(strides or {}), count, deterministic, facts)
