"""From a kernel in the intermediate representation to something that can be called.

The standard passes in their order, and the choice of the backend. Everything here takes a kernel and
knows nothing of fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dsim.analysis.bounds import bounds
from dsim.analysis.effects import effects
from dsim.analysis.independence import loop_independence
from dsim.autodiff import compares_final_values, expand
from dsim.backends import cpu, python_source
from dsim.backends.faults import Fault
from dsim.backends.python_source import run
from dsim.diagnostics import Diagnostic
from dsim.frontend.lowered import LoopConfig
from dsim.ir.build import Names
from dsim.ir.nodes import Block, For, Kernel, Let, Load, MemoryKey, Statement, Var
from dsim.ir.walk import bound_names, with_blocks
from dsim.passes.parallel import parallel
from dsim.passes.simplify import finish, inlined, simplify
from dsim.runtime.agreement import refuse_wrong_rules
from dsim.runtime.settings import current

Launcher = Callable[..., tuple[Any, ...]]
FAULTS = Fault


def prepared(kernel: Kernel, loops: Mapping[Var, LoopConfig]) -> tuple[Kernel, tuple[Diagnostic, ...]]:
    """A kernel from the frontend, ready to be launched and to be derived, and what there is to say of it."""
    told = {index: c.parallel for index, c in loops.items() if c.parallel or c.serialize}
    # Adjoints of minima and maxima compare what the primal computed.
    exact = kernel.exact or not current().fast_math or compares_final_values(kernel)
    kernel = expand(replace(kernel, exact=exact))
    refuse_wrong_rules(kernel)
    kernel = parallel(simplify(kernel), told)
    return kernel, tuple(_serial(kernel, told))


def _serial(kernel: Kernel, told: Mapping[Var, bool]) -> Iterator[Diagnostic]:
    """Why top-level loops are not parallel, unless a person said so."""
    loops = [
        s for s in kernel.body.statements if isinstance(s, For) and not s.parallel and s.index not in told
    ]
    if loops:
        verdicts = loop_independence(kernel)
        for s in loops:
            reason = verdicts[s.index].reason
            if reason is not None:
                yield reason


def derived(kernel: Kernel) -> Kernel:
    """A kernel that a transform made, ready to be launched and to be derived."""
    return parallel(simplify(kernel))


def stopped(kernel: Kernel) -> Kernel:
    """`kernel` with all that it reads from memory cut off from derivatives."""
    names = Names(bound_names(kernel))

    def block(b: Block) -> Block:
        return Block(tuple(s for old in b.statements for s in statement(old)), b.yields)

    def statement(s: Statement) -> tuple[Statement, ...]:
        if isinstance(s, Load) and s.var.type.is_float and not s.memory.private:
            raw = Var(names.fresh(f"{s.var.name}_raw"), s.var.type)
            return replace(s, var=raw), Let(s.var, "stop", (raw,), s.origin)
        return (with_blocks(s, block),)

    return replace(kernel, body=block(kernel.body))


def launcher(
    kernel: Kernel, buffers: Mapping[MemoryKey, np.ndarray], backend: str, checked: bool
) -> Launcher:
    """`kernel` compiled for `backend` and bound to `buffers`."""
    return BACKENDS[backend](kernel, buffers, checked)


def _reference(kernel: Kernel, buffers: Mapping[MemoryKey, np.ndarray], checked: bool) -> Launcher:
    plain = inlined(kernel)

    def launch(*args: Any) -> tuple[Any, ...]:
        return tuple(v.item() for v in run(plain, buffers, args))

    return launch


def _cpu(kernel: Kernel, buffers: Mapping[MemoryKey, np.ndarray], checked: bool) -> Launcher:
    return _machine(kernel, checked).bind(buffers)


def _machine(kernel: Kernel, checked: bool) -> cpu.Compiled:
    chosen, kernel = current(), finish(kernel)
    facts = effects(kernel)
    known = bounds(kernel, facts) if checked else None
    return cpu.compile_kernel(
        kernel, known, threads=chosen.threads != 1, deterministic=chosen.deterministic, facts=facts
    )


BACKENDS: dict[str, Callable[[Kernel, Mapping[MemoryKey, np.ndarray], bool], Launcher]] = {
    "cpu": _cpu,
    "reference": _reference,
}


def python_text(kernel: Kernel) -> str:
    """`kernel` as Python that a person reads."""
    return python_source.source(inlined(kernel))


def llvm_text(kernel: Kernel, checked: bool) -> str:
    """`kernel` as optimised LLVM IR."""
    return _machine(kernel, checked).llvm
