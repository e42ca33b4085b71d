"""A kernel in parts is equivalent to the whole."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.backends.reference.source import run
from dsim.ir.build import Builder, Names
from dsim.ir.check import check
from dsim.ir.nodes import Alloc, Block, Const, For, KernelIR, Load, Memory, Store, Var
from dsim.ir.types import f64, i32
from dsim.passes.kernel_fission import split

X = Memory("x", f64, (8,))


def _kernel() -> KernelIR:
    """``a = x[p+1] * 2; x[0] = a; k = p + 1; x[k] = sin(a); for i in range(4): x[i] += a; return a``."""
    b, p = Builder(Names(["x", "p"])), Var("p", i32)
    k = b.let("add", p, Const(1, i32), hint="k")
    loaded = b.fresh("v", f64)
    b.add(Load(loaded, X, (k,)))
    a = b.let("mul", loaded, Const(2.0, f64), hint="a")
    b.add(Store(X, (Const(0, i32),), a))
    b.add(Store(X, (k,), b.let("sin", a)))
    i = b.fresh("i", i32)
    with b.block() as inner:
        old = b.fresh("old", f64)
        b.add(Load(old, X, (i,)))
        b.add(Store(X, (i,), b.let("add", old, a)))
    b.add(For(i, Const(0, i32), Const(4, i32), 1, Block(tuple(inner))))
    return KernelIR("k", (p,), (X,), b.close((a,)))


@pytest.mark.parametrize("cuts", [[], [1], [3], [4], [5], [3, 4, 6], range(20)])
def test_parts_do_what_the_whole_does(cuts: list[int]) -> None:
    kernel, start = _kernel(), np.linspace(0.1, 0.8, 8)
    whole = start.copy()
    expected = run(kernel, {X.key: whole}, (2,))
    parts = split(kernel, cuts)
    assert len(parts.kernels) == 1 + len([c for c in cuts if 0 < c < len(kernel.body.statements)])
    buffers = {X.key: start.copy()} | {m.key: np.zeros((), m.type.numpy) for m in parts.between}
    result: tuple = ()
    for part in parts.kernels:
        check(part)
        result = run(part, {m.key: buffers[m.key] for m in part.memories}, (2,))
    assert result == expected
    np.testing.assert_array_equal(buffers[X.key], whole)


def test_what_depends_on_parameters_alone_is_computed_again() -> None:
    parts = split(_kernel(), [4])
    assert [m.name.split("_")[0] for m in parts.between] == ["a"]


def test_buffers_are_not_cut_through() -> None:
    b, buffer = Builder(Names(["x"])), Memory("w", f64, (3,), private=True)
    zero = Const(0, i32)
    b.add(Alloc(buffer, (Const(3, i32),)))
    b.add(Store(buffer, (zero,), Const(1.5, f64)))
    v = b.fresh("v", f64)
    b.add(Load(v, buffer, (zero,)))
    b.add(Store(X, (zero,), v))
    parts = split(KernelIR("k", (), (X,), b.close()), range(5))
    assert [len(k.body.statements) for k in parts.kernels] == [4, 2]
