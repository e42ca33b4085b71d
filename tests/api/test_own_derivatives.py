"""Funcs with a derivative of their own: values in both modes and all compositions, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import CompilationError, GradientError


@pytest.fixture(autouse=True)
def _double():
    ti.init(default_fp=ti.f64)
    yield
    ti.reset()


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


@BOTH
def test_both_modes_by_one_rule_or_two(given) -> None:
    root = given_root(given)
    x, y = ti.field(ti.f64, shape=3, needs_grad=True), ti.field(ti.f64, shape=3, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def k():
        for i in x:
            y[i] = root(3.0 * x[i])
            loss[None] += y[i]

    x.from_numpy(np.array([1.0, 2.0, 3.0]))
    slope = 1.5 / np.sqrt(3 * x.to_numpy())
    with ti.ad.Tape(loss):
        k()
    np.testing.assert_allclose(x.grad.to_numpy(), slope, rtol=1e-14)
    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0, -1.0, 2.0]):
        k()
    np.testing.assert_allclose(y.dual.to_numpy(), slope * [1, -1, 2], rtol=1e-14)


@BOTH
def test_second_derivatives_of_funcs(given) -> None:
    root = given_root(given)
    ff, fr = ti.forward(ti.forward(root)), ti.forward(ti.grad(root))
    rf, rr = ti.grad(ti.forward(root)), ti.grad(ti.grad(root))
    third = ti.grad(ti.forward(ti.grad(root)))

    @ti.kernel
    def k(a: float) -> ti.types.vector(5, float):
        return ti.Vector([ff(a), fr(a), rf(a), rr(a), third(a)])

    a = 2.0
    np.testing.assert_allclose(k(a).to_numpy(), [-0.25 * a**-1.5] * 4 + [0.375 * a**-2.5], rtol=1e-13)


@BOTH
def test_second_derivatives_of_kernels(given) -> None:
    root = given_root(given)
    x = ti.field(ti.f64, shape=3, needs_grad=True)
    loss, outer = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def k():
        for i in x:
            loss[None] += root(x[i])

    @ti.kernel
    def slopes():
        for i in x:
            outer[None] += x.grad[i]

    @ti.kernel
    def tangents():
        outer[None] += loss.dual[None]

    start = np.array([1.0, 2.0, 3.0])
    x.from_numpy(start)
    right = -0.25 * start**-1.5
    with ti.ad.FwdMode(loss=x.grad, param=x, seed=np.ones(3)), ti.ad.Tape(loss):
        k()
    np.testing.assert_allclose(x.grad.dual.to_numpy(), right, rtol=1e-13)
    with ti.ad.Tape(outer):
        with ti.ad.FwdMode(loss=loss, param=x, seed=np.ones(3)):
            k()
        tangents()
    np.testing.assert_allclose(x.grad.to_numpy(), right, rtol=1e-13)


def test_the_adjoint_does_not_run_the_body_when_the_rule_does_not_need_the_result() -> None:
    @ti.func
    def total(x):
        s = 0.0
        while s < 100.0 * x:
            s += x
        return s

    @ti.func
    def total_vjp(x, s_bar):
        return 100.0 * s_bar

    total.derivative(vjp=total_vjp)
    x, loss = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def k():
        loss[None] += total(x[None]) * 2.0

    x[None] = 3.0
    with ti.ad.Tape(loss):
        k()
    assert x.grad[None] == 200.0
    assert "while" in k.primal.python
    assert "while" not in k.adjoint.python
    assert "= x[" not in k.adjoint.python


def test_vectors_matrices_several_results_and_integers() -> None:
    @ti.func
    def power(m, v, n: int):
        r = v
        for _ in range(n):
            r = m @ r
        return r, n + 1, r.sum()

    @ti.func
    def power_jvp(m, v, n, m_dot, v_dot):
        r, r_dot = v, v_dot
        for _ in range(n):
            r_dot = m_dot @ r + m @ r_dot
            r = m @ r
        return r_dot, r_dot.sum()

    power.derivative(jvp=power_jvp)
    plain = ti.func(power.function)
    m = ti.Matrix.field(2, 2, ti.f64, shape=(), needs_grad=True)
    v = ti.Vector.field(2, ti.f64, shape=(), needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)
    m.from_numpy(np.array([[0.5, -1.0], [2.0, 0.25]]))
    v.from_numpy(np.array([1.0, -2.0]))

    @ti.kernel
    def k(f: ti.template()):
        for _ in range(2):
            r, n, s = f(m[None], v=v[None], n=3)
            loss[None] += r[0] * n + s * s

    found = []
    for f in (power, plain):
        with ti.ad.Tape(loss):
            k(f)
        found.append([loss[None], m.grad.to_numpy(), v.grad.to_numpy()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_a_literal_is_a_float_where_the_rule_has_a_tangent_for_it() -> None:
    @ti.func
    def scaled(x, s=2):
        return x * s

    @ti.func
    def scaled_jvp(x, s, x_dot, s_dot):
        return x_dot * s + x * s_dot

    scaled.derivative(jvp=scaled_jvp)
    slope, by_both = ti.forward(scaled), ti.grad(scaled)

    @ti.kernel
    def k(a: float) -> ti.types.vector(4, float):
        u, v = by_both(a, 4.0)
        return ti.Vector([scaled(a), slope(a), u, v])

    assert k(3.0).to_numpy().tolist() == [6.0, 2.0, 4.0, 3.0]


def test_one_that_uses_another() -> None:
    root = given_root(("jvp", "vjp"))

    @ti.func
    def length(v):
        return root(v.dot(v))

    @ti.func
    def length_vjp(v, bar):
        return bar * v / root(v.dot(v))

    length.derivative(vjp=length_vjp)
    gradient, curvature = ti.grad(length), ti.forward(ti.grad(length))

    @ti.kernel
    def g(v: ti.math.vec2) -> ti.math.vec2:
        return gradient(v)

    @ti.kernel
    def h(v: ti.math.vec2, d: ti.math.vec2) -> ti.math.vec2:
        return curvature(v, d)

    v, d = np.array([3.0, 4.0]), np.array([1.0, -2.0])
    np.testing.assert_allclose(g(v).to_numpy(), v / 5, rtol=1e-13)
    np.testing.assert_allclose(h(v, d).to_numpy(), d / 5 - v * (v @ d) / 125, rtol=1e-13)


def test_rules_that_call_each_other() -> None:
    @ti.func
    def my_sin(x):
        return ti.stop_grad(ti.sin(x))

    @ti.func
    def my_cos(x):
        return ti.stop_grad(ti.cos(x))

    @ti.func
    def sin_jvp(x, x_dot):
        return my_cos(x) * x_dot

    @ti.func
    def cos_jvp(x, x_dot):
        return -my_sin(x) * x_dot

    my_sin.derivative(jvp=sin_jvp)
    my_cos.derivative(jvp=cos_jvp)
    d = ti.grad(ti.forward(my_sin))
    d3 = ti.forward(d)

    @ti.kernel
    def k(x: float) -> ti.math.vec2:
        return ti.Vector([d(x), d3(x)])

    np.testing.assert_allclose(k(0.7).to_numpy(), [-np.sin(0.7), -np.cos(0.7)], rtol=1e-14)


def test_a_rule_that_calls_its_own_func_has_derivatives_up_to_the_third() -> None:
    @ti.func
    def e(x):
        return ti.stop_grad(ti.exp(x))

    @ti.func
    def e_jvp(x, x_dot):
        return e(x) * x_dot

    e.derivative(jvp=e_jvp)
    third = ti.forward(ti.grad(ti.forward(e)))
    fourth = ti.grad(third)

    @ti.kernel
    def k(x: float) -> float:
        return third(x)

    @ti.kernel
    def more(x: float) -> float:
        return fourth(x)

    assert k(0.5) == pytest.approx(np.exp(0.5))
    with pytest.raises(GradientError, match="the derivative of `e` calls `e` again") as caught:
        more(0.5)
    assert "def …(…, *, result)" in str(caught.value)


def test_methods() -> None:
    class Spring:
        def __init__(self, stiffness):
            self.stiffness = stiffness

        @ti.func
        def force(self, x):
            return ti.stop_grad(-self.stiffness * x)

        @ti.func
        def force_vjp(self, x, bar):
            return -self.stiffness * bar

        force.derivative(vjp=force_vjp)

        @ti.kernel
        def slope(self, x: float) -> float:
            return ti.static(ti.grad(self.force))(x)

    assert Spring(3.0).slope(1.0) == -3.0
    assert Spring(5.0).slope(1.0) == -5.0


def test_a_derivative_given_later_counts_from_then_on() -> None:
    @ti.func
    def half(x):
        return 0.5 * x

    @ti.func
    def half_vjp(x, bar):
        return 7.0 * bar

    x, loss = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def k():
        loss[None] += half(x[None])

    found = []
    for _ in range(2):
        with ti.ad.Tape(loss):
            k()
        found.append(x.grad[None])
        half.derivative(vjp=half_vjp)
    assert found == [0.5, 7.0]


# ------------------------------------------------------------------ fields


def lookup():
    """A func that reads a table, with a rule that reads one element further."""
    table = ti.field(ti.f64, shape=4, needs_grad=True)

    @ti.func
    def at(x):
        i = int(x)
        return table[i] + (x - i) * (table[i + 1] - table[i])

    @ti.func
    def at_jvp(x, x_dot):
        i = int(x)
        return (table[i + 1] - table[i]) * x_dot

    table.from_numpy(np.array([0.0, 1.0, 4.0, 9.0]))
    return table, at.derivative(jvp=at_jvp)


def test_fields_that_a_derivative_reads_are_constants() -> None:
    at = lookup()[1]
    x, y = (ti.field(ti.f64, shape=2, needs_grad=True) for _ in range(2))

    @ti.kernel
    def k():
        for i in x:
            y[i] = at(x[i])

    x.from_numpy(np.array([0.5, 1.5]))
    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0, 2.0]):
        k()
    assert y.dual.to_numpy().tolist() == [1.0, 6.0]


def test_a_gradient_by_a_field_that_the_func_reads_is_refused() -> None:
    table, at = lookup()
    x, loss = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))
    x[None] = 1.5

    @ti.kernel
    def k():
        loss[None] += at(x[None])

    with (
        pytest.raises(GradientError, match="the derivative of `at` does not go through") as caught,
        ti.ad.Tape(loss),
    ):
        k()
    assert "return table[i] +" in str(caught.value)
    assert "pass the value as an argument" in str(caught.value)
    assert [found.code for found in k.check()] == ["not-differentiable"]
    with pytest.raises(GradientError, match="the derivative of `at`"), ti.ad.FwdMode(loss, table, np.ones(4)):
        k()


def test_an_adjoint_that_reads_further_than_its_primal_is_checked() -> None:
    table = ti.field(ti.f64, shape=4)

    @ti.func
    def f(x, i):
        return table[i] * x

    @ti.func
    def f_vjp(x, i, bar):
        return table[i + 1] * bar

    f.derivative(vjp=f_vjp)
    x, loss = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def k(i: int):
        loss[None] += f(x[None], i)

    with ti.ad.Tape(loss):
        k(2)
    with pytest.raises(IndexError, match=r"table\[i \+ 1\]"), ti.ad.Tape(loss):
        k(3)


def test_a_table_that_is_overwritten_before_the_rule_reads_it() -> None:
    table = ti.field(ti.f64, shape=())

    @ti.func
    def f(x):
        return table[None] * x

    @ti.func
    def f_vjp(x, bar):
        return table[None] * bar

    f.derivative(vjp=f_vjp)
    x, loss = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))
    table[None] = 3.0

    @ti.kernel
    def k():
        loss[None] += f(x[None])

    with ti.ad.Tape(loss):
        k()
        table[None] = 5.0
        k()
    assert x.grad[None] == 8.0
    with ti.ad.Tape(loss, on_overwrite="error"):
        k()
        with pytest.raises(ti.AccessRuleError, match="overwritten"):
            table[None] = 6.0


@BOTH
def test_what_is_not_chosen_has_no_gradient(given) -> None:
    @ti.func
    def root(x):
        return ti.stop_grad(ti.sqrt(x))

    rules = root_func()[1]
    root.derivative(**{mode: rules[mode] for mode in given})
    x, loss = ti.field(ti.f64, shape=2, needs_grad=True), ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def k():
        for i in x:
            loss[None] += ti.select(x[i] > 0, root(x[i]), 0.0)

    x.from_numpy(np.array([0.0, 4.0]))
    with ti.ad.FwdMode(loss=x.grad, param=x, seed=np.ones(2)), ti.ad.Tape(loss):
        k()
    assert x.grad.to_numpy().tolist() == [0.0, 0.25]
    assert x.grad.dual.to_numpy().tolist() == [0.0, -1 / 32]


# ------------------------------------------------------------------ refusals


@ti.func
def plain(x, y):
    return x * y


@ti.func
def one(x):
    return x


@ti.func
def too_many(x, y, x_dot, y_dot, more):
    return x


@ti.func
def with_factor(x, y, bar, *, factor):
    return x


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"plain.derivative\(\) takes `jvp=`, `vjp=` or both, and got none"),
        (
            {"jvp": lambda x: x},
            r"plain.derivative\(jvp=…\) takes a func \(a function under @func\), not function",
        ),
        (
            {"vjp": one},
            "`one` takes 1 arguments by position: as the vjp of `plain` it takes the 2 of `plain` and",
        ),
        ({"jvp": too_many}, "then the tangents of its float arguments"),
        ({"vjp": with_factor}, "the vjp of `plain` has no parameter like the `factor` of `with_factor`"),
    ],
)
def test_what_cannot_be_a_derivative(given, message) -> None:
    with pytest.raises(TypeError, match=message):
        plain.derivative(**given)


def refused(f, *args) -> str:
    """What is said of a kernel that calls `f`."""

    @ti.kernel
    def k(a: float) -> float:
        return f(a)

    with pytest.raises(CompilationError) as caught:
        k(1.0)
    return str(caught.value)


def test_effects_are_refused() -> None:
    x = ti.field(ti.f64, shape=())

    @ti.func
    def writes(a):
        x[None] = a
        return a

    @ti.func
    def draws(a):
        return a + ti.random(ti.f64)

    @ti.func
    def prints(a, a_dot):
        print(a)
        return a_dot

    @ti.func
    def fine(a):
        return a

    @ti.func
    def fine_jvp(a, a_dot):
        return a_dot

    assert "`writes` has a derivative of its own, and cannot write to fields" in refused(
        writes.derivative(jvp=fine_jvp)
    )
    assert "`draws` has a derivative of its own, and cannot draw" in refused(draws.derivative(jvp=fine_jvp))
    assert "the derivative of `fine` cannot print" in refused(fine.derivative(jvp=prints))


def test_shapes_are_checked() -> None:
    @ti.func
    def sum_(v):
        return v.sum()

    @ti.func
    def sum_vjp(v, bar):
        return bar

    @ti.func
    def f(a):
        return sum_(ti.Vector([a, a]))

    sum_.derivative(vjp=sum_vjp)
    text = refused(f)
    assert (
        "this returns an f64, where the adjoint of each float argument of `sum_` is due: a vector of 2"
        in text
    )
    assert "def sum_vjp" in text


def test_integers_where_the_rule_has_tangents() -> None:
    @ti.func
    def g(x, y):
        return x * y

    @ti.func
    def g_jvp(x, y, x_dot, y_dot):
        return x_dot * y + x * y_dot

    g.derivative(jvp=g_jvp)

    @ti.func
    def f(a):
        return g(a, int(a))

    text = refused(f)
    assert "`g_jvp` takes 2 tangents, but `g` has 1 float arguments here" in text
    assert "annotate the parameters of `g`" in text


# ------------------------------------------------------------------ checks


def quadratic(vjp_factor: float = 2.0, jvp_factor: float = 2.0):
    @ti.func
    def square(x):
        return x * x

    @ti.func
    def square_jvp(x, x_dot):
        return jvp_factor * x * x_dot

    @ti.func
    def square_vjp(x, bar):
        return vjp_factor * x * bar

    return square, square_jvp, square_vjp


def test_rules_that_do_not_belong_together_are_found_when_a_kernel_is_compiled() -> None:
    square, square_jvp, square_vjp = quadratic(3.0)
    square.derivative(jvp=square_jvp, vjp=square_vjp)
    text = refused(square)
    assert "error[wrong-derivative]: the jvp and the vjp of `square` do not belong together" in text
    assert "def square_jvp(x, x_dot):" in text
    assert "def square_vjp(x, bar):" in text
    ahead = float(text.split("⟨w, jvp(x, v)⟩ = ")[1].split("\n")[0])
    back = float(text.split("⟨vjp(x, w), v⟩ = ")[1].split("\n")[0])
    assert back == pytest.approx(1.5 * ahead)
    square.derivative(jvp=square_jvp, vjp=square_vjp, check=False)

    @ti.kernel
    def k(a: float) -> float:
        return square(a)

    assert k(3.0) == 9.0


def test_a_kernel_s_findings_have_it_too() -> None:
    square, square_jvp, square_vjp = quadratic(3.0)
    square.derivative(jvp=square_jvp, vjp=square_vjp)

    @ti.kernel
    def k(a: float) -> float:
        return square(a)

    assert [found.code for found in k.check()] == ["wrong-derivative"]


@pytest.mark.parametrize("mode", ["jvp", "vjp"])
def test_a_rule_that_is_not_linear_is_found(mode) -> None:
    @ti.func
    def f(x):
        return x

    @ti.func
    def rule(x, seed):
        return ti.abs(seed)

    f.derivative(**{mode: rule})
    seeds = {"jvp": "tangents", "vjp": "adjoints"}[mode]
    assert f"the {mode} of `f` is not linear in its {seeds}: its transpose has" in refused(f)


def test_points_that_say_nothing_are_left_out() -> None:
    table, out = ti.field(ti.f64, shape=2), ti.field(ti.f64, shape=())

    @ti.func
    def f(x):
        y = 1.0
        if x < 1.0:
            while x < 2.0:
                y += 1.0
        i = int(10.0 * x)
        return y + table[i] + ti.log(-x)

    @ti.func
    def f_jvp(x, x_dot, *, result):
        return result * x_dot

    @ti.func
    def f_vjp(x, bar, *, result):
        return 2.0 * result * bar

    f.derivative(jvp=f_jvp, vjp=f_vjp)

    @ti.kernel
    def k(x: float):
        out[None] = f(x)

    assert list(k.check()) == []
    with pytest.raises(GradientError, match="`f` or its derivative is not finite here, or does not end"):
        f.check_derivative(-0.5)


def test_single_precision_is_no_error() -> None:
    root = given_root(("jvp", "vjp"))

    @ti.func
    def wide(x):
        return root(ti.cast(x, ti.f32)) * 1e3

    y = ti.field(ti.f32, shape=())

    @ti.kernel
    def k(x: ti.f32):
        y[None] = ti.cast(wide(x), ti.f32)

    assert list(k.check()) == []


def test_a_derivative_is_compared_with_differences() -> None:
    square, square_jvp, square_vjp = quadratic(3.0, 3.0)
    square.derivative(jvp=square_jvp, vjp=square_vjp)
    with pytest.raises(GradientError, match="the derivative of `square` is not that of its values") as caught:
        square.check_derivative(1.5)
    assert "where differences give" in str(caught.value)
    assert "at x = (1.5)" in str(caught.value)
    right, right_jvp, right_vjp = quadratic()
    right.derivative(jvp=right_jvp, vjp=right_vjp).check_derivative(1.5)
    right.derivative(vjp=right_vjp).check_derivative(ti.Vector([1.5, -2.0]))


def test_a_derivative_with_all_kinds_of_arguments_is_compared() -> None:
    scale = ti.field(ti.f64, shape=2)
    scale.fill(2.0)

    class Owner:
        factor = 3.0

        @ti.func
        def f(self, m, v, n: int, field):
            return self.factor * (m @ v) * n * field[1], n, v.norm_sqr()

        @ti.func
        def f_jvp(self, m, v, n, field, m_dot, v_dot):
            return self.factor * (m_dot @ v + m @ v_dot) * n * field[1], 2.0 * v.dot(v_dot)

        @ti.func
        def wrong_jvp(self, m, v, n, field, m_dot, v_dot):
            return self.factor * (m_dot @ v + m @ v_dot) * n * field[1], v.dot(v_dot)

        f.derivative(jvp=f_jvp)

    class Wrong(Owner):
        f = ti.func(Owner.f.function).derivative(jvp=Owner.wrong_jvp)

    args = (np.array([[1.0, 2.0], [0.5, -1.0]]), [0.3, -0.7], 2, scale)
    Owner().f.check_derivative(*args)
    with pytest.raises(GradientError, match="is not that of its values"):
        Wrong().f.check_derivative(*args)


def test_what_cannot_be_checked() -> None:
    square, square_jvp, _ = quadratic()
    with pytest.raises(TypeError, match="`square` has no derivative of its own"):
        square.check_derivative(1.0)
    square.derivative(jvp=square_jvp)
    with pytest.raises(TypeError, match="checked at all of its 1 arguments, got 2"):
        square.check_derivative(1.0, 2.0)
    with pytest.raises(GradientError, match="`square` has nothing to differentiate here: pass floats"):
        square.check_derivative(1)
