"""`check_derivative` finds wrong rules and pairs that are not transposes, and accepts correct ones."""

from __future__ import annotations

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import GradientError
from tests.api.own_derivatives.given import given_root, refused


@pytest.fixture(autouse=True)
def _double():
    ti.init(default_fp=ti.f64)


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
    assert "error[wrong-derivative]: the jvp and the vjp of `square` are not transposes of each other" in text
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
    with pytest.raises(TypeError, match="`square` has no custom derivative"):
        square.check_derivative(1.0)
    square.derivative(jvp=square_jvp)
    with pytest.raises(TypeError, match="checked at all of its 1 arguments, got 2"):
        square.check_derivative(1.0, 2.0)
    with pytest.raises(GradientError, match="`square` has no float argument or result here: pass floats"):
        square.check_derivative(1)
