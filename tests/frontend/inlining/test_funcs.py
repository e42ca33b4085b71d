"""Inlining: arguments, results, names, errors; and derivatives of funcs."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.diagnostics import CompilationError
from dsim.frontend import lower
from dsim.ir.nodes import Store
from dsim.ir.walk import statements
from tests.frontend.dialect import Kernel, f, lowered, refused, run, ti


def test_arguments_go_by_value() -> None:
    s, x = f(4), f(2, entry=(2,), values=[[1, 2], [3, 4]])

    @ti.func
    def g(a, v):
        a += 10.0
        v[0] = 100.0
        return a + v.sum()

    def k():
        a = 1.0
        v = x[0]
        s[0] = g(a, v)
        s[1] = a + v[0]
        s[2] = g(x[1].x, x[1])

    run(k)
    assert s.values.tolist() == [11 + 102, 2, 13 + 104, 0]
    assert x.values.tolist() == [[1, 2], [3, 4]]


def test_defaults_keywords_and_several_results() -> None:
    s = f(5)

    @ti.func
    def g(a, b=2.0, *, c=3.0):
        return a * b, c

    @ti.func
    def swap(a, b):
        return b, a

    def k():
        p, q = g(1.0)
        s[0] = p + q * 10
        s[1] = g(1.0, c=5.0, b=4.0)[1]
        r, t = swap(p, q)
        s[2], s[3] = swap(r, t)
        both = g(2.0, 3.0)
        s[4] = both[0] + both[1]

    run(k)
    assert s.values.tolist() == [32, 5, 2, 3, 9]


def test_annotated_parameters_and_results_are_cast() -> None:
    s = f(3)

    @ti.func
    def g(n: ti.i32, v: ti.types.vector(2, ti.f64)) -> ti.i32:
        return n * 1.75 + v[0] * 0.0

    def k(a: float):
        s[0] = g(a, [1, 2])

    run(k, 2.9)
    assert s.values[0] == 3.0


def test_a_float_given_to_a_parameter_that_is_an_integer_warns() -> None:
    s = f(4)

    @ti.func
    def g(n: ti.i32, v: ti.types.vector(2, ti.i32)):
        return n + v[0]

    def k(a: float):
        s[0] = g(2, [1, 2]) + g(2.0, [1.0, 2])
        s[1] = g(a, [1, 2])
        s[2] = g(2, [1, a])

    found = lowered(k).diagnostics
    assert [d.message.partition(": ")[2] for d in found] == [
        "`n` of `g` holds values of type i32",
        "`v` of `g` holds values of type i32",
    ]
    assert [d.span.text for d in found] == ["g(a, [1, 2])", "g(2, [1, a])"]
    assert "or make `n` of `g` a float" in found[0].help


def test_fields_and_funcs_as_arguments() -> None:
    x, y = f(3, values=[1.0, 2.0, 3.0]), f(3)

    @ti.func
    def double(a):
        return 2 * a

    @ti.func
    def apply(g: ti.template(), src: ti.template(), dst, i):
        dst[i] = g(src[i])

    def k():
        for i in x:
            apply(double, x, y, i)

    run(k)
    assert y.values.tolist() == [2, 4, 6]


def test_funcs_that_call_funcs_keep_the_chain_of_calls() -> None:
    x = f(1)

    @ti.func
    def inner(a):
        x[0] = a

    @ti.func
    def outer(a):
        inner(a + 1.0)

    def k():
        outer(1.0)

    run(k)
    assert x.values[0] == 2.0
    (store,) = [s for s in statements(lowered(k).kernel.body) if isinstance(s, Store)]
    assert [span.text for span in store.origin.inlined] == ["outer(1.0)", "inner(a + 1.0)"]
    assert store.origin.span is not None
    assert store.origin.span.source.line(store.origin.span.line).strip() == "x[0] = a"


def test_funcs_inside_kernels() -> None:
    x = f(3)

    def k(a: float):
        b = a * 2

        def g(c, d=1.0):
            e = c + b
            return e * d

        for i in x:
            x[i] = g(i, 10.0) + g(0.0)

    run(k, 1.0)
    assert x.values.tolist() == [22, 32, 42]


def test_methods() -> None:
    class Body:
        def __init__(self) -> None:
            self.mass = 2.0

        def force(self, a):
            return self.mass * a

    body = Body()
    body.push = ti.func(body.force)
    s = f(1)

    def k():
        s[0] = body.push(3.0)

    run(k)
    assert s.values[0] == 6.0
    assert [c.name for c in lowered(k).captures] == ["Body.mass"]


def test_a_compile_time_argument_stays_one() -> None:
    s = f(1)

    @ti.func
    def total(n):
        r = 0.0
        for i in ti.static(range(n)):
            r += i
        return r

    def k():
        s[0] = total(5)

    run(k)
    assert s.values[0] == 10


def test_errors_of_calls() -> None:
    x = f(3)
    step = Kernel()

    @ti.func
    def one(a):
        return a

    @ti.func
    def again(a):
        return again(a - 1)

    @ti.func
    def ping(a):
        return pong(a)

    @ti.func
    def pong(a):
        return ping(a)

    @ti.func
    def half(a):
        if a > 0:
            return 1.0

    @ti.func
    def mixed(a):
        if a > 0:
            return 1.0
        return ti.Vector([1.0, 2.0])

    @ti.func
    def keeps(a: ti.template()):
        a += 1.0

    @ti.func
    def scalar(a: float):
        return a

    def recursion():
        x[0] = again(1.0)

    def mutual():
        x[0] = ping(1.0)

    def none_at_all():
        one()

    def too_many():
        one(1.0, 2.0)

    def keyword():
        one(b=1.0)

    def half_way(a: float):
        x[0] = half(a)

    def two_kinds(a: float):
        x[0] = mixed(a)

    def kernel_in_kernel():
        step()

    def unknown():
        x[0] = one(1.0) + oen(1.0)

    def template():
        keeps(1.0)

    def vector():
        x[0] = scalar(x.shape)

    def number(a: float):
        x[0] = a(1.0)

    def host(): x[0] = np.linalg.norm(1.0)  # fmt: skip

    ends = "help: write a loop"
    assert f"recursion: `again` calls itself more than 64 times\n{ends}" in refused(recursion)
    assert "recursion: `ping` calls itself" in refused(mutual)
    assert "argument: `one` lacks the argument `a`" in refused(none_at_all)
    assert "argument: `one` takes 1 argument, got 2" in refused(too_many)
    assert "argument: `one` got an unexpected or repeated argument `b`" in refused(keyword)
    assert "return: `half` does not return a value on every path" in refused(half_way)
    assert "return: one `return` gives a float, another a vector of 2" in refused(two_kinds)
    assert "a kernel cannot call a kernel\nhelp: make the called one a func" in refused(kernel_in_kernel)
    assert "unknown-name: `oen` is not defined\nhelp: did you mean `one`?" in refused(unknown)
    assert "`keeps` assigns to its template parameter `a`" in refused(template)
    assert "`scalar` takes a scalar `a`, got a tuple of 1" in refused(vector)
    assert "unknown-function: an f64 cannot be called" in refused(number)
    assert refused(host).startswith("unknown-function: kernels cannot call `norm`")


def test_an_error_in_a_func_names_the_calls() -> None:
    x = f(3)

    @ti.func
    def inner(a):
        return a + missing

    @ti.func
    def outer(a):
        return inner(a) * 2

    def k():
        x[0] = outer(1.0)
        x[1] = outer(2.0)

    with pytest.raises(CompilationError) as caught:
        lower(k)
    (found,) = caught.value.diagnostics
    assert found.message == "`missing` is not defined"
    assert [(label.span.text, label.text) for label in found.labels] == [
        ("outer(1.0)", "called here"),
        ("inner(a)", "called here"),
    ]
