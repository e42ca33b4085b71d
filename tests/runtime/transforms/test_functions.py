"""Transforms: right numbers for fields and arrays, and no trace of having been there."""

import threading

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import GradientError
from tests.runtime.transforms.programs import differences, oscillators


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64, random_seed=3)


def test_a_linear_operator_equals_differences_in_both_modes():
    o = oscillators()
    expected = differences(o, [o.q, o.k], [o.p, o.q])
    J = ti.linearize(o.run, wrt=[o.q, o.k], out=[o.p, o.q])
    assert J.shape == (8, 8)
    np.testing.assert_allclose(J @ np.eye(8), expected, atol=1e-8)
    np.testing.assert_allclose(J.H @ np.eye(8), expected.T, atol=1e-8)
    np.testing.assert_allclose(J.dense(), expected, atol=1e-8)


def test_products_with_several_directions_equal_single_ones():
    o = oscillators()
    J = ti.linearize(o.run, wrt=[o.q, o.k], out=[o.p, o.energy])
    V = np.random.default_rng(1).normal(size=(8, 7))
    np.testing.assert_allclose(J.matmat(V), np.stack([J.matvec(v) for v in V.T], 1), rtol=1e-13)
    assert J.matmat(np.zeros((8, 0))).shape == (5, 0)


def test_one_operator_in_two_threads():
    o = oscillators()
    J = ti.linearize(o.run, wrt=o.q, out=o.energy)
    K = ti.linearize(o.run, wrt=o.k, out=o.energy)
    q, k = J.rmatvec([1.0]), K.matvec(np.ones(4))
    found = []
    thread = threading.Thread(target=lambda: found.extend(J.rmatvec([1.0]) for _ in range(30)))
    thread.start()
    for _ in range(30):
        np.testing.assert_array_equal(K.matvec(np.ones(4)), k)
    thread.join()
    np.testing.assert_array_equal(found, [q] * 30)


def test_the_run_is_called_once():
    o = oscillators()
    calls = []

    def counted():
        calls.append(1)
        o.run()

    J = ti.linearize(counted, wrt=o.q, out=o.energy)
    J.matvec(np.ones(4))
    J.rmatvec(np.ones(1))
    J.matmat(np.eye(4))
    assert calls == [1]


def test_an_operator_stays_at_its_state_whatever_is_written_later():
    o = oscillators()
    J = ti.linearize(o.run, wrt=[o.q, o.p], out=[o.q, o.energy])
    forward, backward = J.matvec(np.arange(8.0)), J.rmatvec(np.arange(5.0))
    o.q.fill(9.0)
    o.k.fill(-3.0)
    o.run()
    np.testing.assert_array_equal(J.matvec(np.arange(8.0)), forward)
    np.testing.assert_array_equal(J.rmatvec(np.arange(5.0)), backward)


def test_nothing_changes():
    x, y = (ti.field(ti.f64, shape=3, needs_grad=True, needs_dual=True) for _ in range(2))
    loss = ti.field(ti.f64, shape=(), needs_grad=True)
    noise = ti.field(ti.f64, shape=())

    @ti.kernel
    def squares():
        for i in x:
            y[i] = x[i] ** 2
            loss[None] += y[i]

    @ti.kernel
    def draw():
        noise[None] = ti.random(ti.f64)

    def all_of_it():
        draw()
        squares()

    x.fill(2.0)
    x.grad.fill(7.0)
    x.dual.fill(5.0)
    y.fill(1.0)

    def state():
        return [f.to_numpy().tobytes() for f in (x, y, loss, noise, x.grad, y.grad, x.dual, y.dual)]

    before = state()
    J = ti.linearize(all_of_it, wrt=x, out=[y, loss])
    J.matvec(np.ones(3))
    J.rmatvec(np.ones(4))
    ti.value_and_grad(all_of_it, wrt=x, out=loss)()
    ti.hvp(all_of_it, wrt=x, out=loss, tangents=np.ones(3))
    ti.hessian(all_of_it, wrt=x, out=loss)
    ti.jacobian(all_of_it, wrt=x, out=y)
    ti.jvp(all_of_it, wrt=x, out=y, tangents=np.ones(3))
    ti.vjp(all_of_it, wrt=x, out=y)[1](np.ones(3))
    assert state() == before
    draw()
    drawn = noise[None]
    ti.init(default_fp=ti.f64, random_seed=3)
    draw()
    assert noise[None] == drawn


def test_nothing_changes_after_an_error():
    o = oscillators()
    before = [f.to_numpy().tobytes() for f in (o.q, o.p, o.k, o.energy)]

    def failing():
        o.run()
        raise RuntimeError("half way")

    for transform in (ti.linearize, ti.vjp, ti.hessian, ti.jacobian):
        with pytest.raises(RuntimeError, match="half way"):
            transform(failing, wrt=o.q, out=o.energy)
    with pytest.raises(RuntimeError, match="half way"):
        ti.value_and_grad(failing, wrt=o.q, out=o.energy)()
    assert [f.to_numpy().tobytes() for f in (o.q, o.p, o.k, o.energy)] == before


def test_gradients_of_fields_without_needs_grad():
    o = oscillators()
    value, gradient = ti.value_and_grad(o.run, wrt=[o.q, o.k], out=o.energy)()
    assert list(gradient) == [o.q, o.k]
    np.testing.assert_allclose(
        np.concatenate([gradient[o.q], gradient[o.k]])[None],
        differences(o, [o.q, o.k], [o.energy]),
        atol=1e-8,
    )
    o.run()
    assert value == o.energy[None]


def test_only_the_chosen_inputs_vary():
    x = ti.field(ti.f64, shape=(), needs_grad=True)
    y = ti.field(ti.f64, shape=(), needs_grad=True)
    z = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def product():
        z[None] = x[None] * y[None]

    x[None], y[None] = 2.0, 3.0
    assert ti.grad(product, wrt=x, out=z)() == 3.0
    assert ti.jacobian(product, wrt=[x, y], out=z)[y] == 2.0


def test_given_values_take_the_place_of_those_in_the_fields():
    x1, x2, x3, y = (ti.field(ti.f64, shape=()) for _ in range(4))

    @ti.kernel
    def f():
        y[None] += x1[None] ** 3 + 2 * x2[None] ** 2 - 3 * x3[None] + 1

    dfdx = ti.grad(f, wrt=[x1, x2, x3], out=y)
    found = dfdx(1.0, 2.0, 3.0)
    assert [float(found[x]) for x in (x1, x2, x3)] == [3.0, 8.0, -3.0]
    assert x2[None] == 0.0


def test_numpy_arrays_are_inputs_and_outputs():
    @ti.kernel
    def scale(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in range(3):
            b[i] = a[i] ** 2 * a[0]

    a, b = np.array([2.0, 3.0, 4.0]), np.zeros(3)
    J = ti.linearize(lambda: scale(a, b), wrt=a, out=b)
    expected = np.array([[12.0, 0, 0], [9, 12, 0], [16, 0, 16]])
    np.testing.assert_array_equal(J.dense(), expected)
    np.testing.assert_array_equal((J.H @ np.eye(3)).T, expected)
    np.testing.assert_array_equal(J.value, [8.0, 18.0, 32.0])
    assert not b.any()
    a[:] = 0.0
    np.testing.assert_array_equal(J.dense(), expected)


def test_views_of_an_array_carry_its_derivative():
    @ti.kernel
    def first(a: ti.types.ndarray(dtype=ti.math.vec2, ndim=1), b: ti.types.ndarray()):
        b[0] += a[1].x * a[0].y

    a, b = np.arange(6.0).reshape(3, 2) + 1, np.zeros(1)
    J = ti.jacobian(lambda: first(a[1:], b), wrt=a, out=b)
    np.testing.assert_array_equal(J[0], [[0, 0], [0, 5.0], [4.0, 0]])


def test_an_array_that_the_run_overwrites_is_put_back():
    @ti.kernel
    def square(a: ti.types.ndarray()):
        for i in range(3):
            a[i] = a[i] ** 2

    a = np.array([1.0, 2.0, 3.0])
    J = ti.jacobian(lambda: [square(a), square(a)], wrt=a, out=a)
    np.testing.assert_array_equal(np.diag(J), 4 * np.array([1.0, 2.0, 3.0]) ** 3)
    np.testing.assert_array_equal(a, [1.0, 2.0, 3.0])


def test_views_of_an_array_that_the_run_overwrites_are_put_back():
    @ti.kernel
    def add(a: ti.types.ndarray()):
        for i in range(3):
            a[i] += 1.0

    @ti.kernel
    def total(a: ti.types.ndarray(), y: ti.types.ndarray()):
        for i, j in ti.ndrange(2, 3):
            y[0] += a[i, j] ** 2

    a, y = np.arange(6.0).reshape(2, 3), np.zeros(1)
    J = ti.jacobian(lambda: [add(a[1]), total(a, y)], wrt=a, out=y)
    np.testing.assert_array_equal(a, np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(J[0], [[0, 2, 4], [8, 10, 12]])


def test_an_input_can_be_an_output():
    o = oscillators()
    np.testing.assert_allclose(ti.jacobian(o.run, wrt=o.q, out=o.q), differences(o, [o.q], [o.q]), atol=1e-8)


def test_vectors_and_single_precision():
    v = ti.Vector.field(2, ti.f32, shape=3)
    y = ti.field(ti.f64, shape=())

    @ti.kernel
    def lengths():
        for i in v:
            y[None] += v[i].norm_sqr()

    v.from_numpy(np.arange(6, dtype=np.float32).reshape(3, 2))
    _, pull = ti.vjp(lengths, wrt=v, out=y)
    found = pull(1.0)
    assert found.shape == (3, 2)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, 2 * v.to_numpy())
    assert ti.hessian(lengths, wrt=v, out=y).shape == (3, 2, 3, 2)


def test_prints_happen_once(capfd):
    x, y = (ti.field(ti.f64, shape=()) for _ in range(2))

    @ti.kernel
    def told():
        y[None] = x[None] ** 2
        print("here")

    J = ti.linearize(told, wrt=x, out=y)
    for product in (J.matvec, J.matvec, J.rmatvec):
        product([1.0])
    assert capfd.readouterr().out == "here\n"


@pytest.mark.slow
def test_the_four_second_orders():
    """Forward and reverse products with the Jacobian of a gradient, and of a tangent."""
    o = oscillators()
    H = ti.hessian(o.run, wrt=[o.q, o.k], out=o.energy)
    whole = np.block([[H[a][b] for b in (o.q, o.k)] for a in (o.q, o.k)])
    np.testing.assert_allclose(whole, whole.T, atol=1e-10)

    def gradients():
        with ti.FwdMode(loss=[o.energy], param=[o.q, o.k], seed=[np.ones(4), np.arange(4.0)]):
            o.run()

    direction = np.concatenate([np.ones(4), np.arange(4.0)])
    tangent = ti.linearize(gradients, wrt=[o.q, o.k], out=o.energy.dual)
    np.testing.assert_allclose(tangent.dense()[0], whole @ direction, atol=1e-9)  # forward over forward
    np.testing.assert_allclose(tangent.rmatvec([1.0]), whole @ direction, atol=1e-9)  # reverse over forward


def test_reverse_over_reverse_by_a_tape_in_the_run():
    x = ti.field(ti.f64, shape=3, needs_grad=True)
    y = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def run():
        for i in x:
            for _ in range(3):
                x[i] = ti.sin(x[i]) * x[i]
        for i in x:
            y[None] += x[i] ** 2 * x[0]

    def gradient():
        start.copy_from(x)
        with ti.Tape(y):
            run()
        x.copy_from(start)

    start = ti.field(ti.f64, shape=3)
    x.from_numpy([0.7, 1.1, 1.3])
    J = ti.linearize(gradient, wrt=x, out=x.grad)
    H = ti.hessian(run, wrt=x, out=y)
    np.testing.assert_allclose(J.matmat(np.eye(3)), H, atol=1e-12)
    np.testing.assert_allclose(J.rmatmat(np.eye(3)), H, atol=1e-12)


def test_inside_a_tape_they_are_constants_and_say_so():
    x = ti.field(ti.f64, shape=(), needs_grad=True)
    y = ti.field(ti.f64, shape=(), needs_grad=True)
    z = ti.field(ti.f64, shape=())

    @ti.kernel
    def square():
        z[None] = x[None] ** 2

    @ti.kernel
    def product(factor: ti.f64):
        y[None] = factor * x[None]

    x[None] = 3.0
    with pytest.warns(ti.GradientWarning, match="of a transform inside the tape has no gradient"), ti.Tape(y):
        product(float(ti.grad(square, wrt=x, out=z)()))
    assert x.grad[None] == 6.0


def test_an_output_that_the_run_does_not_write_has_derivative_zero_and_a_warning():
    x, y = (ti.field(ti.f64, shape=2, name=n) for n in "xy")

    @ti.kernel
    def nothing():
        pass

    with pytest.warns(ti.GradientWarning, match="the run does not write `y`"):
        J = ti.linearize(nothing, wrt=x, out=y)
    assert not J.dense().any()
    z = ti.field(ti.f64, shape=())
    with pytest.warns(ti.GradientWarning, match="does not depend on `x`: its second derivative is 0"):
        H = ti.hessian(nothing, wrt=x, out=z)
    assert not H.any()


def test_two_threads():
    o = oscillators()
    J = ti.linearize(o.run, wrt=o.q, out=o.energy)
    expected = J.rmatvec([1.0])
    other = oscillators()
    found = []

    def work():
        K = ti.linearize(other.run, wrt=other.q, out=other.energy)
        found.extend(K.rmatvec([1.0]) for _ in range(20))

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(20):
        np.testing.assert_array_equal(J.rmatvec([1.0]), expected)
    thread.join()
    assert len(found) == 20
    np.testing.assert_array_equal(found, [expected] * 20)


@pytest.mark.parametrize(
    ("wrt", "message"),
    [
        ([], "`wrt=` is empty"),
        (3.0, "`wrt=` takes fields and NumPy arrays, got float"),
        ("integers", "`wrt=` needs floats, `n` holds i32"),
        ("twice", "`wrt=` contains the same field twice"),
        ("component", "whole fields, not a component"),
    ],
)
def test_what_cannot_be_an_input(wrt, message):
    x = ti.Vector.field(2, ti.f64, shape=2)
    n = ti.field(ti.i32, shape=2, name="n")
    y = ti.field(ti.f64, shape=())
    chosen = {"integers": n, "twice": [x, x], "component": x.get_scalar_field(0)}
    with pytest.raises(GradientError, match=message):
        ti.linearize(lambda: None, wrt=chosen[wrt] if isinstance(wrt, str) else wrt, out=y)


def test_a_gradient_is_that_of_one_number():
    x, y = (ti.field(ti.f64, shape=2) for _ in range(2))
    with pytest.raises(GradientError, match="gradient is that of one number, and `out=` has 2"):
        ti.grad(lambda: None, wrt=x, out=y)


def test_wrong_shapes_say_which_are_right():
    o = oscillators()
    with pytest.raises(GradientError, match=r"the tangent for `q` must be of shape \(4,\), got shape \(3,\)"):
        ti.jvp(o.run, wrt=o.q, out=o.energy, tangents=np.ones(3))
    with pytest.raises(GradientError, match="must be 2 arrays"):
        ti.jvp(o.run, wrt=[o.q, o.p], out=o.energy, tangents=np.ones(4))
