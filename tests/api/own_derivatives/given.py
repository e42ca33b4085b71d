"""Shared helpers of the tests of funcs with custom derivatives."""

from __future__ import annotations

import pytest

import dsim as ti
from dsim.diagnostics import CompilationError


def root_func():
    """A square root by iteration, nowhere differentiable as it is written, and its two rules."""

    @ti.func
    def root(x):
        y = 1.0
        while ti.abs(y * y - x) > 1e-14:
            y = ti.stop_grad(0.5 * (y + x / y))
        return y

    @ti.func
    def root_jvp(x, x_dot, *, result):
        return x_dot / (2.0 * result)

    @ti.func
    def root_vjp(x, y_bar, *, result):
        return y_bar / (2.0 * result)

    return root, {"jvp": root_jvp, "vjp": root_vjp}


BOTH = pytest.mark.parametrize("given", [("jvp",), ("vjp",), ("jvp", "vjp")], ids="+".join)


def given_root(given):
    root, rules = root_func()
    return root.derivative(**{mode: rules[mode] for mode in given})


def refused(f) -> str:
    """What is said of a kernel that calls `f`."""

    @ti.kernel
    def k(a: float) -> float:
        return f(a)

    with pytest.raises(CompilationError) as caught:
        k(1.0)
    return str(caught.value)
