"""From a kernel in the intermediate representation to something that can be called.

The standard passes in their order, and the choice of the backend. Everything here takes a kernel and, where
they matter, the settings, and no fields.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from dsim.analysis.bounds import bounds
from dsim.analysis.dependence.independence import loop_independence
from dsim.analysis.effects import effects
from dsim.analysis.float_controlled_indices import has_float_controlled_indices
from dsim.autodiff import compares_final_values, expand
from dsim.backends.cpu.compiler_threads import CompilerThreads
from dsim.backends.cpu.launch import Launcher as CpuLauncher
from dsim.backends.cpu.machine import CpuMachine, compile_kernel
from dsim.backends.cpu.runtime import thread_count
from dsim.backends.cuda.kernels import emit_kernel
from dsim.backends.cuda.ptx import compile_ptx
from dsim.backends.faults import Fault
from dsim.backends.llvm.grid.module import GridModule
from dsim.backends.llvm.parallel.plans import MOST_CHUNKS
from dsim.backends.locks import COMPILING, room_to_compile
from dsim.backends.reference import source
from dsim.backends.reference.source import runner
from dsim.diagnostics import Diagnostic
from dsim.frontend.source.lowered import LoopConfig
from dsim.ir.build import Names
from dsim.ir.nodes import (
    Accumulate,
    Block,
    For,
    KernelIR,
    Let,
    Load,
    Memory,
    MemoryKey,
    Print,
    Statement,
    Store,
    Var,
)
from dsim.ir.walk import bound_names, memory_of, statements, with_blocks
from dsim.passes.parallelization import parallel
from dsim.passes.saving.placement import place_residuals
from dsim.passes.simplify import finish, finish_for_grid, inlined, simplify, without_calls
from dsim.runtime.driver.rule_consistency import refuse_wrong_rules
from dsim.runtime.state.settings import Settings

Launcher = Callable[..., tuple[Any, ...]]
Buffers = Mapping[MemoryKey, np.ndarray]
FAULTS = Fault
_DEVICE_THREADS = 1 << 16  # that a device runs at once, approximately: they share the memory of residuals


def prepared(
    kernel: KernelIR, loops: Mapping[Var, LoopConfig], fast_math: bool
) -> tuple[KernelIR, tuple[Diagnostic, ...]]:
    """A kernel from the frontend, prepared for launching and differentiation, and its diagnostics."""
    told = {index: c.parallel for index, c in loops.items() if c.parallel or c.serialize}
    # Adjoints compare values of the primal with minima and maxima, and repeat its index counts.
    exact = kernel.exact or not fast_math
    exact = exact or compares_final_values(kernel) or has_float_controlled_indices(kernel)
    kernel = expand(replace(kernel, exact=exact))
    refuse_wrong_rules(kernel)
    kernel = parallel(simplify(kernel), told)
    return kernel, tuple(_serial(kernel, told))


def _serial(kernel: KernelIR, told: Mapping[Var, bool]) -> Iterator[Diagnostic]:
    """Warnings about top-level loops that are serial, unless the user requested it."""
    loops = [
        s for s in kernel.body.statements if isinstance(s, For) and not s.parallel and s.index not in told
    ]
    if loops:
        verdicts = loop_independence(kernel)
        for s in loops:
            reason = verdicts[s.index].reason
            if reason is not None:
                yield reason


def derived(kernel: KernelIR) -> KernelIR:
    """A kernel that a transform made, prepared for launching and differentiation."""
    return parallel(simplify(kernel))


def stopped(kernel: KernelIR) -> KernelIR:
    """`kernel` with all its reads from memory as constants."""
    return _stopped(kernel, lambda _: True, False)


def constant(kernel: KernelIR, memories: Container[str]) -> KernelIR:
    """`kernel` with all its reads from these memories, and writes to them, as constants."""
    return _stopped(kernel, lambda m: m.name in memories, True)


def _stopped(kernel: KernelIR, meant: Callable[[Memory], bool], writes: bool) -> KernelIR:
    names = Names(bound_names(kernel))

    def block(b: Block) -> Block:
        return Block(tuple(s for old in b.statements for s in statement(old)), b.yields)

    def raw(var: Var) -> Var:
        return Var(names.fresh(f"{var.name}_raw"), var.type)

    def statement(s: Statement) -> tuple[Statement, ...]:
        memory = memory_of(s)
        if memory is None or memory.private or not memory.type.is_float or not meant(memory):
            return (with_blocks(s, block),)
        before: tuple[Statement, ...] = ()
        after: tuple[Statement, ...] = ()
        if writes and isinstance(s, Store | Accumulate):
            value = Var(names.fresh("written"), memory.type)
            before, s = (Let(value, "stop", (s.value,), s.origin),), replace(s, value=value)
        if isinstance(s, Load):
            read = raw(s.var)
            after, s = (Let(s.var, "stop", (read,), s.origin),), replace(s, var=read)
        elif isinstance(s, Accumulate) and s.old is not None:
            read = raw(s.old)
            after, s = (Let(s.old, "stop", (read,), s.origin),), replace(s, old=read)
        return (*before, s, *after)

    return replace(kernel, body=block(kernel.body))


class Machine(Protocol):
    """A kernel as something that runs."""

    def bind(self, buffers: Buffers) -> Launcher:
        """What launches it on these buffers."""
        ...

    def roam(self, buffers: Buffers, keys: Sequence[MemoryKey]) -> Launcher:
        """What launches it on these buffers, and for `keys` on arrays that are given first at each launch."""
        ...


class _Interpreted:
    """A kernel run by the reference backend."""

    def __init__(self, kernel: KernelIR, settings: Settings) -> None:
        self._run = runner(place_residuals(inlined(kernel), settings.loop_memory))

    def bind(self, buffers: Buffers) -> Launcher:
        def launch(*args: Any) -> tuple[Any, ...]:
            return tuple(v.item() for v in self._run(buffers, args))

        return launch

    def roam(self, buffers: Buffers, keys: Sequence[MemoryKey]) -> Launcher:
        def launch(*args: Any) -> tuple[Any, ...]:
            given = dict(zip(keys, args, strict=False))
            return tuple(v.item() for v in self._run({**buffers, **given}, args[len(given) :]))

        return launch


def machine(kernel: KernelIR, settings: Settings) -> Machine:
    """`kernel` compiled as `settings` say."""
    return BACKENDS[settings.backend](kernel, settings)


def _compiled(kernel: KernelIR, settings: Settings) -> CpuMachine:
    most, deterministic = settings.threads, settings.deterministic
    threads = min(most, thread_count()) if most > 0 else thread_count()
    ready = _Ready(kernel, settings, MOST_CHUNKS if deterministic else threads, finish)
    return compile_kernel(
        ready.kernel, ready.bounds, threads=threads, deterministic=deterministic, facts=ready.facts
    )


class _Ready:
    """A kernel as backends take it, of which a parallel loop runs `at_once` iterations at a time."""

    def __init__(
        self, kernel: KernelIR, settings: Settings, at_once: int, finish: Callable[[KernelIR], KernelIR]
    ) -> None:
        self.kernel = finish(place_residuals(without_calls(kernel), settings.loop_memory, at_once))
        self.facts = effects(self.kernel)
        self.bounds = bounds(self.kernel, self.facts) if settings.check_bounds else None


BACKENDS: dict[str, Callable[[KernelIR, Settings], Machine]] = {"cpu": _compiled, "reference": _Interpreted}


class MachineThreads:
    """At most `count` threads on which machines compile before launches, as far as their backend can."""

    def __init__(self, count: int) -> None:
        self._threads = CompilerThreads(count)
        self.close, self.touch = self._threads.close, self._threads.touch

    def begin(self, machine: Machine) -> None:
        """Begins to compile `machine`."""
        if isinstance(machine, CpuMachine):
            self._threads.begin(machine)


def replayed(machine: Machine, buffers: Buffers) -> CpuLauncher | None:
    """What a `LaunchTable` launches; None where Python takes part in each launch."""
    return CpuLauncher(machine, buffers) if isinstance(machine, CpuMachine) and not _prints(machine) else None


class CopyHost(NamedTuple):
    """A kernel into which copies of a memory can be fused.

    Attributes
    ----------
    fuse : callable
        What a table launches, with so many copies before the kernel, and after it.
    late : bool
        Whether copies after it can be fused; if not, their number is 0.
    """

    fuse: Callable[[int, int], CpuLauncher]
    late: bool


def copy_host(machine: Machine, buffers: Buffers, key: MemoryKey) -> CopyHost | None:
    """What fuses copies of a memory into a kernel; None if it cannot be done."""
    if not isinstance(machine, CpuMachine) or _prints(machine):
        return None
    reach = machine.copied(key)
    if reach is None:
        return None

    def fuse(before: int, after: int) -> CpuLauncher:
        return CpuLauncher(machine.copying(key, before, after), buffers)

    return CopyHost(fuse, reach.once)


def _prints(machine: CpuMachine) -> bool:
    return any(isinstance(s, Print) for s in statements(machine.kernel.body))


def python_text(kernel: KernelIR) -> str:
    """`kernel` as Python that a user reads."""
    return source.source(inlined(kernel))


def python_lines(kernel: KernelIR) -> list[tuple[str, Statement | None]]:
    """The lines of `python_text`, each with the statement that it comes from."""
    return source.lines(inlined(kernel))


def llvm_text(kernel: KernelIR, settings: Settings) -> str:
    """`kernel` as optimised LLVM IR."""
    return _compiled(kernel, settings).llvm


def grid_form(kernel: KernelIR, settings: Settings) -> GridModule:
    """`kernel` as a device runs it: functions of the threads of a grid, in LLVM IR."""
    ready = _Ready(kernel, settings, _DEVICE_THREADS, finish_for_grid)
    return emit_kernel(ready.kernel, ready.bounds, deterministic=settings.deterministic, facts=ready.facts)


def ptx_text(kernel: KernelIR, settings: Settings, architecture: str) -> str:
    """`kernel` as PTX, for devices of an architecture and newer ones."""
    with COMPILING, room_to_compile():
        return compile_ptx(grid_form(kernel, settings), kernel.name, architecture).text
