"""From a kernel to LLVM IR, in the form for devices: a kernel for each task."""

from __future__ import annotations

from dataclasses import replace

from dsim.analysis.effects import Effects, effects
from dsim.analysis.write_plans import write_plan
from dsim.backends.llvm.grid import slots
from dsim.backends.llvm.grid.device import global_address
from dsim.backends.llvm.grid.module import Alone, GridKernel, GridModule
from dsim.backends.llvm.grid.nests import Nests
from dsim.backends.llvm.grid.plans import Sharing, sharing
from dsim.backends.llvm.grid.tasks import write_buffer, write_parallel, write_serial
from dsim.backends.llvm.kernel import KernelWriter, TaskForm, Wishes, top_level_values
from dsim.backends.llvm.target import Target
from dsim.ir.nodes import For, KernelIR, Var

_FORM = TaskForm(global_address, whole=True, slots=slots.COUNT)


def emit(kernel: KernelIR, target: Target, wishes: Wishes, facts: Effects | None = None) -> GridModule:
    """Writes `kernel`, which has no `Derive` and no `Call` nodes, for a device.

    Of the wishes, the number of threads and deferred checks are of no concern here.
    """
    shared = _Shared(kernel, wishes, facts if facts is not None else effects(kernel))
    k = KernelWriter(kernel, target, replace(wishes, deferred=frozenset()), shared.parallel, _FORM)
    kernels: list[GridKernel] = []
    for task in k.tasks:
        if task.kind == "serial":
            kernels.append(write_serial(k, task))
        elif task.kind == "buffer":
            kernels += write_buffer(k, task)
        else:
            kernels += write_parallel(k, task, shared.found[task.loop.index])
    results = tuple(k.layout.value(a) if isinstance(a, Var) else None for a in kernel.body.yields)
    return GridModule(k.module.text(), tuple(kernels), k.layout, k.messages, results, tuple(shared.alone))


class _Shared:
    """The loops that the threads of a grid share, and those that one thread runs."""

    def __init__(self, kernel: KernelIR, wishes: Wishes, facts: Effects) -> None:
        self.kernel = kernel
        self.facts = facts
        self.found: dict[Var, Sharing] = {}
        self.alone: list[Alone] = []
        self._outside = top_level_values(kernel)
        self._strides = wishes.strides
        self._nests = Nests(facts, self._outside, wishes.unchecked, wishes.deterministic)

    def parallel(self, loop: For) -> bool:
        """Whether threads share `loop`."""
        plans = write_plan(self.kernel, loop, self.facts)
        found = sharing(self.kernel, loop, plans, self._outside, self._strides, self._nests)
        if isinstance(found, str):
            self.alone.append(Alone(loop, found))
            return False
        self.found[loop.index] = found
        return True
