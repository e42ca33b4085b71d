"""Forward mode: seeds, several params, missing tangents; and nested modes."""

import numpy as np
import pytest

import dsim as ti
from tests.refused import refused
from tests.runtime.taping import single


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def _single(name, needs_grad=False):
    return ti.field(ti.f64, shape=(), needs_grad=needs_grad, name=name)


def _cubed(needs_grad=False):
    x, y = _single("x", needs_grad), _single("y", needs_grad)
    x[None] = 2.0

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    @ti.kernel
    def add_cube():
        y[None] += x[None] ** 3

    return x, y, cube, add_cube


def test_a_single_number():
    x, y, cube, _ = _cubed()
    with ti.ad.FwdMode(loss=y, param=x):
        cube()
    assert (y[None], y.dual[None]) == (8.0, 12.0)
    with ti.ad.FwdMode(loss=y, param=x, seed=0.5):
        cube()
    assert y.dual[None] == 6.0
    with ti.ad.FwdMode(y, x, [2.0]):
        cube()
    assert y.dual[None] == 24.0


def test_the_same_store_twice():
    x, y = _single("x"), _single("y")

    @ti.kernel
    def triple():
        y[None] = 3 * x[None]

    with ti.ad.FwdMode(loss=y, param=x):
        triple()
        triple()
    assert y.dual[None] == 3.0


def test_params_of_any_shape():
    x = ti.Vector.field(2, ti.f64, shape=(2, 3), name="x")
    y = ti.field(ti.f64, shape=(2, 3))
    rng = np.random.default_rng(0)
    values, seed = rng.random((2, 3, 2)), rng.random((2, 3, 2))
    x.from_numpy(values)

    @ti.kernel
    def lengths():
        for i, j in x:
            y[i, j] = x[i, j].norm()

    with ti.ad.FwdMode(loss=y, param=x, seed=seed):
        lengths()
    expected = (values * seed).sum(-1) / np.linalg.norm(values, axis=-1)
    np.testing.assert_allclose(y.dual.to_numpy(), expected)
    with ti.ad.FwdMode(loss=y, param=x, seed=seed.tolist()):
        lengths()
    np.testing.assert_allclose(y.dual.to_numpy(), expected)


def test_several_params_and_losses():
    x, w, y, z = map(_single, "xwyz")
    x[None], w[None] = 2.0, 5.0

    @ti.kernel
    def both():
        y[None] = x[None] * w[None]
        z[None] = x[None] - w[None]

    with ti.ad.FwdMode(loss=[y, z], param=[x, w], seed=[1.0, 10.0]):
        both()
    assert (y.dual[None], z.dual[None]) == (25.0, -9.0)
    with ti.ad.FwdMode(loss=[y, z], param=[x, w]):
        both()
    assert (y.dual[None], z.dual[None]) == (7.0, 0.0)


def test_tangents_are_cleared_on_entry():
    x, w, y = map(_single, "xwy")
    x[None], w[None] = 2.0, 5.0

    @ti.kernel
    def product():
        y[None] += x[None] * w[None]

    with ti.ad.FwdMode(loss=y, param=x):
        product()
    with ti.ad.FwdMode(loss=y, param=w):
        product()
    assert (y.dual[None], x.dual[None]) == (2.0, 0.0)


def test_tangents_that_are_kept_are_seeds():
    x, w, y = map(_single, "xwy")
    x[None], w[None] = 2.0, 5.0

    @ti.kernel
    def product():
        y[None] = x[None] * w[None]

    with ti.ad.FwdMode(loss=y, param=w):
        product()
    w.dual[None] = 1.0
    with ti.ad.FwdMode(loss=y, param=x, clear_gradients=False):
        product()
    assert y.dual[None] == 5.0 + 2.0


def test_seeds_end_with_their_block():
    x, w, y = map(_single, "xwy")
    x[None], w[None] = 2.0, 5.0

    @ti.kernel
    def product():
        y[None] = x[None] * w[None]

    @ti.kernel
    def double():
        w[None] = 2.0 * w[None]

    with ti.ad.FwdMode(loss=y, param=[x, w]):
        product()
    for param, other, derivative in ((w, x, 2.0), (x, w, 5.0), (w, x, 2.0)):
        with ti.ad.FwdMode(loss=y, param=param, clear_gradients=False):
            product()
        assert (y.dual[None], param.dual[None], other.dual[None]) == (derivative, 0.0, 0.0)
    with ti.ad.FwdMode(loss=y, clear_gradients=False, param=x, seed=0.0):
        w.dual[None] = 10.0
        product()
    assert (y.dual[None], w.dual[None]) == (20.0, 0.0)
    with ti.ad.FwdMode(loss=x, param=[x, w]):  # what is asked for and what is written stays
        double()
    assert (x.dual[None], w.dual[None]) == (1.0, 2.0)
    with pytest.raises(ZeroDivisionError), ti.ad.FwdMode(param=x):
        _ = 1 / 0
    assert x.dual[None] == 0.0


def test_seeds_of_modes_inside_one_another():
    x, y = _single("x"), _single("y")
    x[None] = 2.0

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    for _ in range(2):
        with ti.ad.FwdMode(loss=y, param=x, clear_gradients=False):
            with ti.ad.FwdMode(loss=y, param=x, clear_gradients=False):
                cube()
            cube()
        assert (y.dual.dual[None], y.dual[None], x.dual[None]) == (12.0, 12.0, 0.0)


@pytest.mark.parametrize("shape", [(1,), (1, 1)])
def test_a_param_of_one_element_needs_no_seed(shape):
    x, y = ti.ndarray(ti.f64, shape), _single("y")
    v = ti.Vector.field(1, ti.f64, shape=(), name="v")
    x.fill(3.0)
    v.fill(4.0)

    @ti.kernel
    def product(x: ti.types.ndarray()):
        for at in ti.grouped(x):
            y[None] = x[at] ** 2 * v[None][0]

    for seed, derivative in ((None, 24.0), (0.5, 12.0), (np.ones(shape), 24.0), ([2.0], 48.0)):
        with ti.ad.FwdMode(loss=y, param=x, seed=seed):
            product(x)
        assert y.dual[None] == derivative
    with ti.ad.FwdMode(loss=y, param=v):
        product(x)
    assert y.dual[None] == 9.0


def test_an_intermediate_field_has_a_tangent():
    x, m, y = map(_single, "xmy")
    x[None] = 3.0

    @ti.kernel
    def first():
        m[None] = x[None] ** 2

    @ti.kernel
    def second():
        y[None] = 2 * m[None]

    with ti.ad.FwdMode(loss=y, param=x):
        first()
        second()
    assert (m.dual[None], y.dual[None]) == (6.0, 12.0)


def test_writes_by_python_have_no_tangent():
    x, y = _single("x"), _single("y")

    @ti.kernel
    def add():
        y[None] += x[None]

    with ti.ad.FwdMode(loss=y, param=x):
        add()
        y[None] = 3.0
        add()
    assert (y[None], y.dual[None]) == (3.0, 1.0)
    with ti.ad.FwdMode(loss=y, param=x):
        y.copy_from(x)
    assert y.dual[None] == 1.0


def test_seeds_that_do_not_fit():
    x, v, n = _single("x"), ti.field(ti.f64, shape=3, name="v"), ti.field(ti.i32, shape=(), name="n")
    for arguments, message in (
        ({"param": v}, "`v` has shape \\(3,\\): a direction is needed"),
        ({"param": v, "seed": [1.0, 2.0]}, r"`v` takes an array of shape \(3,\), got \(2,\)"),
        ({"param": v, "seed": "a"}, "`seed=`: `v` takes an array of shape"),
        ({"param": v, "seed": ["a", "b", "c"]}, "`seed=`: `v` holds f64, got an array of"),
        ({"param": v, "seed": 2.0}, r"`seed=`: `v` takes an array of shape \(3,\), got \(\)"),
        ({"param": [x, v], "seed": [1.0]}, "2 params need 2 seeds, got 1"),
        ({"param": [x, v], "seed": 2.0}, "2 params need 2 seeds, got 1"),
        ({"param": [x, v], "seed": [1.0, 0.0, 0.0]}, "2 params need 2 seeds, got 3"),
        ({"param": n}, "param must be a float field, `n` holds i32"),
        ({"param": 3.0}, "param must be a field or a list of fields, not float"),
        ({"loss": n, "param": x}, "loss must be a float field"),
        ({}, "FwdMode needs a param to differentiate by"),
        ({"param": []}, "FwdMode needs a param to differentiate by"),
    ):
        with pytest.raises(ti.DsimError, match=message):
            ti.ad.FwdMode(**arguments)


def test_a_param_that_is_named_twice():
    x = ti.field(ti.f64, shape=2, name="x")
    pair = ti.types.struct(a=ti.f64, v=ti.types.vector(2, ti.f64)).field(shape=())
    ones = {"a": 1.0}
    for act in (
        lambda: ti.ad.FwdMode(param=[x, x], seed=[[1.0, 0.0], [0.0, 1.0]]),
        lambda: ti.ad.FwdMode(param=[pair, pair.a], seed=[ones, 0.5]),
        lambda: ti.ad.FwdMode(param=[pair.a, pair], seed=[0.5, ones]),
        lambda: ti.ad.FwdMode(param=[pair, pair], seed=[ones, ones]),
    ):
        refused(act, "param contains the same field twice", __file__)
    assert len(ti.ad.FwdMode(param=[pair, pair], seed=[ones, {"v": [0.0, 1.0]}]).params) == 2


def test_cutting_in_both_modes():
    x, y = _single("x", True), _single("y", True)
    x[None] = 2.0

    @ti.kernel
    def half_cut():
        y[None] = x[None] * ti.stop_grad(x[None])

    @ti.ad.no_grad
    @ti.kernel
    def uncounted():
        y[None] = 5 * x[None]

    @ti.kernel
    def copy():
        y[None] = x[None]

    with ti.ad.FwdMode(y, x), ti.Tape(y):
        half_cut()
    assert (y.dual[None], x.grad[None]) == (2.0, 2.0)
    with ti.ad.FwdMode(y, x), ti.Tape(y):
        copy()
        uncounted()
    assert (y[None], y.dual[None], x.grad[None]) == (10.0, 0.0, 0.0)
    with ti.ad.FwdMode(y, x), ti.Tape(y):
        copy()
        ti.stop_grad(y)
    assert (y[None], y.dual[None], x.grad[None]) == (2.0, 0.0, 0.0)


def test_a_gradient_of_ones_own():
    x, y, cube, _ = _cubed(needs_grad=True)

    @ti.ad.grad_replaced
    def ahead():
        cube()

    with (
        pytest.raises(
            ti.GradientError, match="`ahead` is under `grad_replaced`, but has no gradient function"
        ),
        ti.Tape(y),
    ):
        ahead()

    @ti.ad.grad_for(ahead)
    def back():
        x.grad[None] = 100.0

    with ti.ad.FwdMode(y, x):
        ahead()
    assert y.dual[None] == 12.0
    with ti.ad.FwdMode(y, x), ti.Tape(y):
        ahead()
    assert x.grad[None] == 100.0
    with ti.Tape(y), ti.ad.FwdMode(y, x):
        ahead()
    assert x.grad[None] == 100.0
    with pytest.raises(ti.GradientError, match="is not decorated with `grad_replaced`"):
        ti.ad.grad_for(cube)


def test_derivatives_of_a_linear_loss_have_a_tangent_of_zero():
    x, y = single("x"), single("y")

    @ti.kernel
    def triple():
        y[None] = 3.0 * x[None]

    with ti.ad.FwdMode(loss=y, param=x), ti.ad.Tape(y):
        triple()
    assert (x.grad[None], x.grad.dual[None]) == (3.0, 0.0)
    with ti.ad.FwdMode(loss=y, param=x), ti.ad.FwdMode(loss=y, param=x):
        triple()
    assert (y.dual[None], y.dual.dual[None]) == (3.0, 0.0)
