"""`stop_grad(x)` of a field as a statement: reads of `x` after it, in its block, are constants."""

from __future__ import annotations

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import CompilationError

pytestmark = pytest.mark.usefixtures("f64")


@pytest.fixture
def f64():
    ti.init(default_fp=ti.f64)


@pytest.fixture
def x():
    made = ti.field(ti.f64, shape=3, needs_grad=True)
    made.from_numpy(np.array([1.0, 2.0, 3.0]))
    return made


@pytest.fixture
def w(x):
    made = ti.field(ti.f64, shape=3, needs_grad=True)
    made.from_numpy(np.array([5.0, 7.0, 11.0]))
    return made


@pytest.fixture
def loss():
    return ti.field(ti.f64, shape=(), needs_grad=True)


def slope(loss, x, *kernels):
    with ti.ad.Tape(loss):
        for k in kernels:
            k()
    return x.grad.to_numpy().tolist()


def test_reads_after_it_have_no_gradient_and_those_of_others_do(x, w, loss):
    @ti.kernel
    def k():
        for i in x:
            ti.stop_grad(x)
            loss[None] += x[i] ** 2 * w[i]

    with ti.ad.Tape(loss):
        k()
    assert w.grad.to_numpy().tolist() == [1.0, 4.0, 9.0]
    with pytest.warns(ti.GradientWarning, match="leave out `stop_grad`"):
        assert x.grad[0] == 0.0


def test_it_counts_from_where_it_stands(x, loss):
    @ti.kernel
    def k():
        for i in x:
            a = x[i]
            ti.stop_grad(x)
            loss[None] += a * x[i]

    assert slope(loss, x, k) == [1.0, 2.0, 3.0]


def test_forward_mode(x, loss):
    @ti.kernel
    def k():
        ti.stop_grad(x)
        for i in x:
            loss[None] += x[i] * x[i]

    @ti.kernel
    def whole():
        for i in x:
            loss[None] += x[i] * x[i]

    with ti.ad.FwdMode(loss=loss, param=x, seed=[1.0, 1.0, 1.0]):
        k()
        whole()
    assert loss.dual[None] == 12.0


def test_other_kernels_and_later_blocks_are_not_concerned(x, loss):
    @ti.kernel
    def k():
        for i in x:
            ti.stop_grad(x)
            loss[None] += x[i] ** 2
        for i in x:
            loss[None] += 10.0 * x[i]

    @ti.kernel
    def after():
        for i in x:
            loss[None] += 100.0 * x[i]

    assert slope(loss, x, k, after) == [110.0] * 3


@pytest.mark.parametrize("known", [True, False])
def test_a_branch_is_a_block(x, loss, known):
    limit = 10

    @ti.kernel
    def k():
        for i in x:
            if limit > 2 if ti.static(known) else x[i] < 2.5:
                ti.stop_grad(x)
                loss[None] += x[i] ** 2
            loss[None] += x[i]

    assert slope(loss, x, k) == [1.0] * 3


def test_a_branch_that_what_follows_is_joined_to(x, loss):
    @ti.kernel
    def k():
        for i in x:
            if x[i] < 2.5:
                ti.stop_grad(x)
                loss[None] += x[i] ** 2
            else:
                continue
            loss[None] += x[i]

    assert slope(loss, x, k) == [1.0, 1.0, 0.0]


def test_after_an_early_way_out(x, loss):
    @ti.kernel
    def k():
        for i in x:
            if x[i] > 2.5:
                loss[None] += x[i] ** 2
                continue
            ti.stop_grad(x)
            loss[None] += x[i] ** 2

    assert slope(loss, x, k) == [0.0, 0.0, 6.0]


def test_static_branches_and_funcs_are_no_blocks(x, loss):
    @ti.func
    def freeze(of: ti.template()):
        ti.stop_grad(of)

    @ti.kernel
    def k(chosen: ti.template()):
        for i in x:
            if ti.static(chosen):
                freeze(x)
            loss[None] += x[i]

    assert slope(loss, x, lambda: k(False)) == [1.0] * 3
    with ti.ad.Tape(loss):
        k(True)
    with pytest.warns(ti.GradientWarning):
        assert x.grad[1] == 0.0


def test_what_is_written_to_it_passes_gradients_on(x, w, loss):
    @ti.kernel
    def k():
        for i in x:
            ti.stop_grad(x)
            x[i] += 3.0 * w[i]

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    assert slope(loss, w, k, total) == [3.0] * 3
    assert x.grad.to_numpy().tolist() == [1.0] * 3


def test_what_an_atomic_returns_is_read(x, w, loss):
    @ti.kernel
    def k():
        for i in x:
            ti.stop_grad(x)
            before = ti.atomic_add(x[i], 1.0)
            loss[None] += before * w[i]

    assert slope(loss, w, k) == [1.0, 2.0, 3.0]
    with pytest.warns(ti.GradientWarning):
        assert x.grad[1] == 0.0


def test_vectors_structs_and_arrays(loss):
    v = ti.Vector.field(2, ti.f64, shape=2, needs_grad=True)
    ball = ti.types.struct(pos=ti.math.vec2, mass=ti.f64)
    balls = ball.field(shape=2, needs_grad=True)
    a = ti.ndarray(ti.f64, shape=2, needs_grad=True)
    v.fill(2.0)
    balls.mass.fill(3.0)
    a.fill(4.0)

    @ti.kernel
    def k(p: ti.types.ndarray()):
        for i in v:
            ti.stop_grad(v)
            ti.stop_grad(balls)
            ti.stop_grad(p)
            loss[None] += v[i].norm_sqr() * balls[i].mass * p[i]

    @ti.kernel
    def plain(p: ti.types.ndarray()):
        for i in v:
            loss[None] += v[i].x + balls[i].mass + p[i]

    with ti.ad.Tape(loss):
        k(a)
        plain(a)
    assert v.grad.to_numpy().tolist() == [[1.0, 0.0], [1.0, 0.0]]
    assert balls.mass.grad.to_numpy().tolist() == [1.0, 1.0]
    assert a.grad.to_numpy().tolist() == [1.0, 1.0]


def test_integers_are_read_as_they_are(loss):
    n = ti.field(ti.i32, shape=2)

    @ti.kernel
    def k():
        ti.stop_grad(n)
        for i in n:
            loss[None] += n[i]

    k()


def test_as_a_value_a_field_is_refused(x, loss):
    @ti.kernel
    def k():
        loss[None] = ti.stop_grad(x)

    with pytest.raises(CompilationError, match="index it, as in"):
        k()


def test_updates_by_what_it_holds_are_refused(x):
    @ti.kernel
    def k():
        for i in x:
            ti.stop_grad(x)
            ti.atomic_max(x[i], 1.0)

    with pytest.raises(CompilationError, match="this changes `x` in place, and `stop_grad`") as error:
        k()
    assert "help: assign instead" in str(error.value)


def test_a_component_is_refused():
    v = ti.Vector.field(2, ti.f64, shape=2, needs_grad=True)
    first = v.get_scalar_field(0)

    @ti.kernel
    def k():
        ti.stop_grad(first)

    with pytest.raises(CompilationError, match="is a component of a field"):
        k()
