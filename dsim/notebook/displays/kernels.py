"""Kernels in a notebook: signature, place, accesses, and whether they are compiled and differentiable."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from dsim.diagnostics import CompilationError, KernelSyntaxError, Level
from dsim.frontend.source.source import read
from dsim.notebook.displays.tables import table
from dsim.notebook.report.locations import Places
from dsim.notebook.report.summary import Summary
from dsim.runtime.kernels.kernel import Kernel

_NONE = "nothing to differentiate: it uses no field of floats"


def kernel_bundle(kernel: Kernel) -> dict[str, str]:
    """The forms of a kernel. It is lowered for them, but neither compiled to machine code nor run."""
    rows = [*_place(kernel), *_facts(kernel)]
    return {"text/plain": repr(kernel), "text/html": table(f"kernel {_signature(kernel)}", rows)}


def _signature(kernel: Kernel) -> str:
    name = kernel.__name__
    try:
        return f"{name}{inspect.signature(kernel.function)}"
    except (TypeError, ValueError):
        return name


def _place(kernel: Kernel) -> Iterator[tuple[str, str]]:
    try:
        span = read(getattr(kernel.function, "__func__", kernel.function)).name_span()
    except KernelSyntaxError:
        return
    yield "defined", Places(None, span.source).name(span)


def _facts(kernel: Kernel) -> Iterator[tuple[str, str]]:
    if kernel.generic:
        yield "compiled", "for each combination of its arguments, when it is launched"
        return
    try:
        form = kernel.unsaid()
    except CompilationError as error:
        yield "compiled", f"cannot be: {error.diagnostics[0].message}"
        return
    summary = Summary(kernel.__name__)
    summary.effects(form)
    yield from ((label, value) for _, label, value in summary.rows)
    yield "compiled", "yes" if form.compiled else "not yet: at its first launch"
    yield "differentiable", _differentiable(kernel) if form.floats else _NONE


def _differentiable(kernel: Kernel) -> str:
    found = kernel.check()
    errors = [d for d in found if d.level is Level.ERROR]
    if errors:
        return f"no: {errors[0].message}"
    saves = any(d.code == "overwrites" for d in found)
    return "yes; a tape saves what it overwrites" if saves else "yes"
