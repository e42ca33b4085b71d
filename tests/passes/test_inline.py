"""Calls are replaced by their bodies."""

from __future__ import annotations

import numpy as np

from dsim.backends.reference.source import run
from dsim.ir.build import Builder, const, index
from dsim.ir.check import check
from dsim.ir.nodes import Atom, Block, Call, For, KernelIR, Load, Memory, Rule, Store, Var
from dsim.ir.show import show
from dsim.ir.types import f64, i32
from dsim.passes.dead_code_elimination import eliminate_dead_code
from dsim.passes.inline import inline

X = Memory("x", f64, (4,))


def call_in_a_loop(inner: bool) -> KernelIR:
    """``for i: x[i] = f(f(x[i]))``, the second call inside the first one's body or after it."""
    b, i = Builder(), Var("i", i32)

    def call(arg: Atom, nested: bool) -> Var:
        a, result = b.fresh("a", f64), b.fresh("r", f64)
        with b.block() as body:
            from_inside = call(a, False) if nested else a
            value = b.let("mul", from_inside, const(3.0, f64))
        params = tuple(b.fresh(n, f64) for n in ("a", "v", "r"))
        with b.block() as rule:
            tangent = b.let("mul", params[1], const(3.0, f64))
        jvp = Rule(params, Block(tuple(rule), (tangent,)))
        b.add(Call("f", (a,), Block(tuple(body), (value,)), (arg,), (result,), jvp))
        return result

    with b.block() as body:
        loaded = b.fresh("v", f64)
        b.add(Load(loaded, X, (i,)))
        last = call(loaded, True) if inner else call(call(loaded, False), False)
        b.add(Store(X, (i,), last))
    b.add(For(i, index(0), index(4), 1, Block(tuple(body))))
    return KernelIR("k", (), (X,), b.close())


def test_bodies_stand_where_the_calls_stood() -> None:
    for nested in (True, False):
        kernel = call_in_a_loop(nested)
        check(kernel)
        plain = inline(kernel)
        check(plain)
        assert "call" not in show(plain)
        values = np.arange(4.0)
        run(plain, {X.key: values}, ())
        assert values.tolist() == [0.0, 9.0, 18.0, 27.0]


def test_a_kernel_without_calls_is_itself() -> None:
    plain = inline(call_in_a_loop(False))
    assert inline(plain) is plain


def test_a_call_whose_results_nobody_needs_goes() -> None:
    b = Builder()
    a, r, params = Var("a", f64), Var("r", f64), tuple(Var(n, f64) for n in ("a1", "v", "r1"))
    b.add(Call("f", (a,), Block((), (a,)), (const(1.0, f64),), (r,), Rule(params, Block((), (params[1],)))))
    assert eliminate_dead_code(KernelIR("k", (), (X,), b.close())).body == Block(())
