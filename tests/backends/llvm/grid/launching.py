"""Handwritten kernels in grid form beside the processor's own form."""

from __future__ import annotations

import numpy as np

from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.llvm.grid.module import GridModule
from dsim.ir.nodes import KernelIR
from tests.backends.llvm.grid.on_cpu import Change, Grid, grid_form

Buffers = dict[str, np.ndarray]
GRIDS = (Grid(2, 2), Grid(4, 8))
REAL = Grid(3, 16, real=True)


class Outcome:
    """What a launch left in its buffers, what it returned, and the modules that ran."""

    def __init__(self, arrays: Buffers, returned: tuple, modules: list[GridModule]) -> None:
        self.arrays, self.returned, self.modules = arrays, returned, modules

    @property
    def kinds(self) -> list[str]:
        """The kinds of the kernels that were launched."""
        (module,) = self.modules
        return [k.kind for k in module.kernels]


def launched(
    kernel: KernelIR, buffers: Buffers, *args: object, grid: Grid, change: Change = lambda m: m, **options
) -> Outcome:
    """A launch in grid form."""
    arrays = {m.name: buffers[m.name].copy("K") for m in kernel.memories}
    with grid_form(grid, change) as modules:
        launch = compile_kernel(kernel, **options).bind({m.key: arrays[m.name] for m in kernel.memories})
        returned = launch(*args)
    return Outcome(arrays, returned, modules)


def alone(kernel: KernelIR, buffers: Buffers, *args: object, **options) -> Outcome:
    """The same on one thread of this processor, in its own form."""
    arrays = {m.name: buffers[m.name].copy("K") for m in kernel.memories}
    compiled = compile_kernel(kernel, threads=1, **options)
    returned = compiled.bind({m.key: arrays[m.name] for m in kernel.memories})(*args)
    return Outcome(arrays, returned, [])


def same(kernel: KernelIR, buffers: Buffers, *args: object, grid: Grid, rtol: float = 1e-12) -> Outcome:
    """Both, which must give the same; that in grid form."""
    wanted, found = alone(kernel, buffers, *args), launched(kernel, buffers, *args, grid=grid)
    np.testing.assert_allclose(np.array(found.returned, float), np.array(wanted.returned, float), rtol=rtol)
    for name, array in wanted.arrays.items():
        np.testing.assert_allclose(found.arrays[name], array, rtol=rtol, atol=rtol, err_msg=name)
    return found
