"""Derivatives of funcs, called in kernels."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.autodiff.expand import expand
from dsim.backends.reference import source
from dsim.ir.nodes import Derive
from dsim.ir.walk import statements
from tests.frontend.dialect import f, lowered, refused, ti


def expanded(function, *args):
    """Runs a kernel with derivatives of funcs in it."""
    result = lowered(function)
    kernel = expand(result.kernel)
    buffers = {m.key: result.fields[m.name].values for m in kernel.memories}
    source.run(kernel, buffers, args)


@ti.func
def cubic(x):
    return x**3 + 2 * x**2 - 3 * x + 1


@ti.func
def saddle(x, y):
    return x * x * y + ti.sin(y)


@ti.func
def length(v):
    return v.norm_sqr() * 0.5 + v[0]


@ti.func
def turned(v, a):
    return ti.Vector([v[0] * a, v[1] * v[0]])


def test_the_derivative_of_the_seed() -> None:
    s = f(3)
    d1 = ti.forward(cubic)
    d2 = ti.forward(d1)

    def k(a: float):
        s[0] = d1(a)
        s[1] = d2(a)
        s[2] = d1(1.0) + d1(1) * 10

    assert sum(isinstance(x, Derive) for x in statements(lowered(k).kernel.body)) == 5
    expanded(k, 2.0)
    assert s.values.tolist() == pytest.approx([12 + 8 - 3, 12 + 4, 44])


def test_derivatives_made_in_the_kernel() -> None:
    s = f(2)

    def k(a: float):
        s[0] = ti.grad(cubic)(a)
        d = ti.forward(ti.forward(cubic))
        s[1] = d(a)

    expanded(k, 2.0)
    assert s.values.tolist() == pytest.approx([17.0, 16.0])


def test_several_arguments_and_vectors() -> None:
    s, v = f(4), f(3, entry=(2,))
    jvp, gradient, by_vector = ti.forward(saddle), ti.grad(saddle), ti.grad(length)
    jvp_turned = ti.forward(turned)

    def k(a: float, b: float):
        s[0] = jvp(a, b, 1.0, 0.5)
        s[1], s[2] = gradient(a, b)
        v[0] = by_vector(ti.Vector([a, b]))
        v[1] = jvp_turned(ti.Vector([a, b]), 2.0, ti.Vector([1.0, 0.0]), 3.0)

    a, b = 0.5, 0.25
    expanded(k, a, b)
    dx, dy = 2 * a * b, a * a + np.cos(b)
    assert s.values[:3].tolist() == pytest.approx([dx + 0.5 * dy, dx, dy])
    assert v.values[0].tolist() == pytest.approx([a + 1, b])
    assert v.values[1].tolist() == pytest.approx([2.0 + a * 3.0, b])


def test_second_order_by_nesting() -> None:
    s = f(2)
    reverse_of_forward = ti.grad(ti.forward(cubic))
    forward_of_reverse = ti.forward(ti.grad(cubic))

    def k(a: float):
        s[0] = reverse_of_forward(a)
        s[1] = forward_of_reverse(a)

    expanded(k, 2.0)
    assert s.values.tolist() == pytest.approx([16.0, 16.0])


def test_loops_branches_and_fields_in_derived_funcs() -> None:
    s, w = f(1), f(3, values=[1.0, 2.0, 3.0])

    @ti.func
    def g(x, n):
        r = x
        for i in range(n):
            r = r * w[i] if x > 0 else r
        return r

    dg = ti.grad(g)

    def k(a: float):
        s[0] = dg(a, 3)

    expanded(k, 2.0)
    assert s.values[0] == 6.0


def test_errors_of_derivatives() -> None:
    x = f(3)

    @ti.func
    def writes(a):
        x[0] = a
        return a

    @ti.func
    def counts(a):
        return int(a)

    d_writes, d_counts, d_saddle, d_length = (
        ti.forward(writes), ti.forward(counts), ti.forward(saddle), ti.forward(length)
    )  # fmt: skip

    def store():
        x[0] = d_writes(1.0)

    def integer():
        x[0] = d_counts(1.0)

    def missing():
        x[0] = d_saddle(1.0, 2.0)

    def vector(): x[0] = d_length(ti.Vector([1.0, 2.0]))  # fmt: skip

    assert (
        "not-differentiable: a function that is differentiated in a kernel cannot write to fields"
        in refused(store)
    )
    assert "not-differentiable: this function returns an integer" in refused(integer)
    assert "takes the arguments and then their tangents, got 2 in all" in refused(missing)
    assert "the tangent of a vector of 2 is missing\nhelp: `forward(f)(x, dx)`" in refused(vector)


Spin = ti.types.struct(axis=ti.math.vec2, rate=ti.f64)


def test_derivatives_by_structs() -> None:
    s = f(6)

    @ti.func
    def power(p):
        return p.rate**2 * p.axis.x + p.axis.y

    def k():
        p = Spin(axis=[3.0, 4.0], rate=5.0)
        g = ti.grad(power)(p)
        s[0], s[1], s[2] = g.axis.x, g.axis.y, g.rate
        s[3] = ti.forward(power)(p, Spin(rate=1.0))
        s[4] = ti.forward(power)(p, g)
        s[5] = ti.grad(lengths)(g).axis.x

    @ti.func
    def lengths(p):
        return p.axis.norm_sqr()

    expanded(k)
    assert s.values.tolist() == [25, 1, 30, 30, 30 * 30 + 25 * 25 + 1, 50]


def test_what_a_derivative_by_a_struct_needs() -> None:
    mixed = ti.types.struct(mass=ti.f64, hits=ti.i32)

    @ti.func
    def energy(b, g):
        return b.mass * g

    @ti.func
    def power(p):
        return p.rate**2

    def integers(a: float) -> float:
        return ti.grad(energy)(mixed(mass=a), a)

    def tangent(a: float) -> float:
        return ti.forward(power)(Spin(rate=a), ti.Struct(rate=1.0, axis=[0.0, 0.0]))

    assert refused(integers) == (
        "not-differentiable: a struct of `mass`, `hits` holds floats and integers: "
        "a derivative by it is not defined\nhelp: pass its floats as arguments of their own"
    )
    assert "shape: a struct of `rate`, `axis` cannot be the tangent of a struct of `axis`, `rate`" in refused(
        tangent
    )
