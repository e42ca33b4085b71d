"""Adjoints and tangents of each statement, in kernels with known derivatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dsim.autodiff import expand, forward, reverse
from dsim.backends.reference.source import run
from dsim.diagnostics import CompilationError
from dsim.ir.build import Builder, const, index
from dsim.ir.check import check
from dsim.ir.nodes import (
    Accumulate,
    Atom,
    Block,
    Derive,
    For,
    If,
    KernelIR,
    Load,
    Memory,
    Statement,
    Store,
    Var,
)
from dsim.ir.sites import number
from dsim.ir.types import f64, i32

X, Y = Memory("x", f64, (3,)), Memory("y", f64, ())
COUNT = Memory("count", i32, ())
ACTIVE = frozenset({X.key, Y.key})


def kernel(make: Callable[[Builder], None], *memories: Memory) -> KernelIR:
    builder = Builder()
    make(builder)
    return number(KernelIR("k", (), (X, Y, *memories), builder.close()))


def load(b: Builder, i: int | Atom, memory: Memory = X) -> Var:
    var = b.fresh("v", memory.type)
    b.add(Load(var, memory, (index(i) if isinstance(i, int) else i,) if memory.shape else ()))
    return var


def gradient(k: KernelIR, x: list[float], y: float = 0.0) -> np.ndarray:
    """dy/dx after running `k` from these values."""
    buffers = {X.key: np.array(x), Y.key: np.array(y), COUNT.key: np.zeros((), np.int32)}
    run(k, buffers, ())
    adjoint = reverse(k, ACTIVE)
    check(adjoint.kernel)
    assert not adjoint.lost
    buffers |= {("x", ("bar",)): np.zeros(3), ("y", ("bar",)): np.array(1.0)}
    run(adjoint.kernel, buffers, ())
    return buffers["x", ("bar",)]


def tangent(k: KernelIR, x: list[float], x_dot: list[float]) -> float:
    buffers = {X.key: np.array(x), Y.key: np.array(0.0), COUNT.key: np.zeros((), np.int32)}
    buffers |= {("x", ("dot",)): np.array(x_dot), ("y", ("dot",)): np.array(0.0)}
    forwards = forward(k, ACTIVE)
    check(forwards)
    run(forwards, buffers, ())
    return float(buffers["y", ("dot",)])


def test_a_store_takes_the_adjoint_with_it() -> None:
    def make(b: Builder) -> None:
        b.add(Store(Y, (), load(b, 0)))
        b.add(Store(Y, (), b.let("mul", load(b, 1), const(3.0, f64))))

    np.testing.assert_array_equal(gradient(kernel(make), [1.0, 2.0, 3.0]), [0, 3, 0])


@pytest.mark.parametrize(("op", "expected"), [("max", [0, 1, 0]), ("min", [1, 0, 0])])
def test_the_extremum_takes_the_adjoint(op: str, expected: list[float]) -> None:
    def make(b: Builder) -> None:
        b.add(Store(Y, (), load(b, 2)))
        for i in range(2):
            b.add(Accumulate(Y, (), load(b, i), op))  # type: ignore[arg-type]

    np.testing.assert_array_equal(gradient(kernel(make), [1.0, 5.0, 2.0]), expected)


def test_what_no_extremum_beats_keeps_the_adjoint() -> None:
    def make(b: Builder) -> None:
        b.add(Store(Y, (), load(b, 2)))
        b.add(Accumulate(Y, (), load(b, 0), "max"))

    k = kernel(make)
    np.testing.assert_array_equal(gradient(k, [1.0, 0.0, 2.0]), [0, 0, 1])
    assert tangent(k, [1.0, 0.0, 2.0], [5.0, 0.0, 7.0]) == 7
    assert tangent(k, [3.0, 0.0, 2.0], [5.0, 0.0, 7.0]) == 5


def test_kernels_with_extrema_have_exact_adjoints() -> None:
    def make(b: Builder) -> None:
        b.add(Accumulate(Y, (), load(b, 0), "max"))

    assert reverse(kernel(make), ACTIVE).kernel.exact


def test_the_value_before_an_accumulation_is_lost_when_the_adjoint_needs_it() -> None:
    def make(b: Builder) -> None:
        old = b.fresh("old", f64)
        b.add(Accumulate(Y, (), load(b, 0), "add", old))
        b.add(Accumulate(X, (index(1),), b.let("mul", old, old)))

    k = kernel(make)
    (lost,) = reverse(k, ACTIVE).lost
    assert lost.by == k.body.statements[1]


def test_the_value_before_is_not_lost_when_it_goes_on_linearly() -> None:
    def make(b: Builder) -> None:
        old = b.fresh("old", f64)
        b.add(Accumulate(Y, (), load(b, 0), "add", old))
        b.add(Accumulate(Y, (), b.let("mul", old, const(2.0, f64))))

    np.testing.assert_array_equal(gradient(kernel(make), [1.0, 0.0, 0.0]), [1, 0, 0])


def test_a_counter_is_not_counted_again() -> None:
    def make(b: Builder) -> None:
        b.add(Accumulate(COUNT, (), const(1, i32)))
        b.add(Accumulate(Y, (), b.let("sin", load(b, 0))))

    adjoint = reverse(kernel(make, COUNT), ACTIVE).kernel
    assert COUNT not in adjoint.memories


def guarded_sqrt(b: Builder) -> None:
    x = load(b, 0)
    positive = b.let("gt", x, const(0.0, f64))
    b.add(Store(Y, (), b.let("select", positive, b.let("sqrt", x), const(0.0, f64))))


def guarded_norm(b: Builder) -> None:
    squares = [b.let("mul", v, v) for v in (load(b, 0), load(b, 1))]
    b.add(Store(Y, (), b.let("sqrt0", b.let("add", *squares))))


def guarded_division(b: Builder) -> None:
    x = load(b, 0)
    zero = b.let("eq", x, const(0.0, f64))
    b.add(Store(Y, (), b.let("select", zero, const(1.0, f64), b.let("div", b.let("sin", x), x))))


@pytest.mark.parametrize("make", [guarded_sqrt, guarded_norm, guarded_division])
def test_what_is_not_taken_at_a_pole_leaves_no_nan(make: Callable[[Builder], None]) -> None:
    k = kernel(make)
    np.testing.assert_array_equal(gradient(k, [0.0, 0.0, 0.0]), [0, 0, 0])
    assert tangent(k, [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]) == 0


def test_only_what_is_needed_is_read_again() -> None:
    """``y += 2 x[0] + x[1]**2``: the linear term needs nothing, the square its own value."""

    def make(b: Builder) -> None:
        b.add(Accumulate(Y, (), b.let("mul", load(b, 0), const(2.0, f64))))
        v = load(b, 1)
        b.add(Accumulate(Y, (), b.let("mul", v, v)))

    k = kernel(make)
    loads = [s for s in k.body.statements if isinstance(s, Load)]
    assert reverse(k, ACTIVE).needed == {loads[1].site}


def test_a_product_in_a_loop_saves_what_it_carries() -> None:
    """``p = 1; for i in range(3): p *= x[i]``."""

    def make(b: Builder) -> None:
        i, p, product = Var("i", i32), Var("p", f64), Var("product", f64)
        with b.block() as inner:
            after = b.let("mul", p, load(b, i))
        b.add(
            For(i, index(0), index(3), 1, Block(tuple(inner), (after,)), (p,), (const(1.0, f64),), (product,))
        )
        b.add(Store(Y, (), product))

    np.testing.assert_allclose(gradient(kernel(make), [2.0, 3.0, 4.0]), [12, 8, 6])


def test_a_branch_gives_to_the_side_that_was_taken() -> None:
    def make(b: Builder) -> None:
        x, r = load(b, 0), b.fresh("r", f64)
        blocks = []
        for factor in (2.0, 5.0):
            with b.block() as inner:
                value = b.let("mul", x, const(factor, f64))
            blocks.append(Block(tuple(inner), (value,)))
        b.add(If(b.let("gt", x, const(1.0, f64)), *blocks, (r,)))
        b.add(Store(Y, (), r))

    assert gradient(kernel(make), [3.0, 0, 0])[0] == 2
    assert gradient(kernel(make), [0.5, 0, 0])[0] == 5


def polynomial(b: Builder, x: Var) -> Atom:
    """``x**3 + 2 x**2 - 3 x + 1``."""
    t = b.term(x)
    return (x_cubed := t * t * t, x_cubed + 2 * (t * t) - 3 * t + 1)[1].atom


def derived(b: Builder, mode: str, order: int) -> Derive:
    """The `order`-th derivative of the polynomial as a statement whose argument is its parameter."""
    x = b.fresh("p", f64)
    with b.block() as inner:
        if order == 1:
            value = polynomial(b, x)
        else:
            nested = derived(b, "jvp" if mode == "vjp" else "vjp", order - 1)
            b.add(Derive(nested.mode, nested.params, nested.body, (x,), nested.seeds, nested.results))
            value = nested.results[0]
    body = Block(tuple(inner), (value,))
    return Derive(mode, (x,), body, (x,), (const(1.0, f64),), (b.fresh("d", f64),))  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["jvp", "vjp"])
@pytest.mark.parametrize(("order", "expected"), [(1, 4.0), (2, 10.0), (3, 6.0)])
def test_derivatives_of_functions_nest(mode: str, order: int, expected: float) -> None:
    def make(b: Builder) -> None:
        d = derived(b, mode, order)
        b.add(Derive(d.mode, d.params, d.body, (load(b, 0),), d.seeds, d.results))
        b.add(Store(Y, (), d.results[0]))

    expanded = expand(kernel(make))
    check(expanded)
    assert not any(isinstance(s, Derive) for s in expanded.body.statements)
    buffers = {X.key: np.array([1.0, 0, 0]), Y.key: np.array(0.0)}
    run(expanded, buffers, ())
    assert buffers[Y.key] == expected


def test_an_argument_that_is_passed_twice_has_two_tangents() -> None:
    def make(b: Builder) -> None:
        p, q, d = b.fresh("p", f64), b.fresh("q", f64), b.fresh("d", f64)
        with b.block() as inner:
            product = b.let("mul", b.let("mul", p, p), q)
        x = load(b, 0)
        seeds = (const(1.0, f64), const(0.0, f64))
        b.add(Derive("jvp", (p, q), Block(tuple(inner), (product,)), (x, x), seeds, (d,)))
        b.add(Store(Y, (), d))

    buffers = {X.key: np.array([3.0, 0, 0]), Y.key: np.array(0.0)}
    run(expand(kernel(make)), buffers, ())
    assert buffers[Y.key] == 18


def test_a_function_that_writes_a_field_has_no_derivative() -> None:
    def make(b: Builder) -> None:
        p, d = b.fresh("p", f64), b.fresh("d", f64)
        inside: tuple[Statement, ...] = (Store(X, (index(0),), p),)
        b.add(Derive("jvp", (p,), Block(inside, (p,)), (load(b, 0),), (const(1.0, f64),), (d,)))

    with pytest.raises(CompilationError, match="writes to the field `x` has no derivative as a function"):
        expand(kernel(make))
