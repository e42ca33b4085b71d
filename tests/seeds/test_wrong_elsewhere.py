"""Programs for which other systems give a wrong gradient without a word: here the right one, or an error."""

import numpy as np
import pytest

import dsim as ti

pytestmark = pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def _field(*shape, start=0.0, dtype=ti.f64, needs_grad=True):
    made = ti.field(dtype, shape=shape, needs_grad=needs_grad)
    made.fill(start)
    return made


def _gradient(loss, run, wrt):
    with ti.Tape(loss):
        run()
    return wrt.grad.to_numpy().tolist()


@pytest.mark.parametrize("n", [31, 32, 1000, 20000])
def test_a_local_carried_through_many_trips(n):
    x, loss = _field(start=0.5), _field()

    @ti.kernel
    def run():
        for _ in range(1):
            s = 0.0
            for _ in range(n):
                s += x[None]
            loss[None] += s * s

    assert _gradient(loss, run, x) == pytest.approx(2 * (0.5 * n) * n)


def test_a_product_in_a_loop():
    x, loss = _field(3, start=2.0), _field()

    @ti.kernel
    def run(n: ti.i32):
        for _ in range(1):
            p = 1.0
            for j in range(n):
                p *= x[j]
            loss[None] += p

    assert _gradient(loss, lambda: run(3), x) == [4.0, 4.0, 4.0]


def test_squaring_until_it_is_large():
    x, loss = _field(start=2.0), _field()

    @ti.kernel
    def run():
        p = x[None]
        while p < 100:
            p *= p
        loss[None] = p

    assert _gradient(loss, run, x) == 1024.0


def test_a_field_in_between_that_nobody_asked_a_gradient_for():
    x, middle, loss = _field(start=3.0), _field(needs_grad=False), _field()

    @ti.kernel
    def first():
        middle[None] = 2.0 * x[None]

    @ti.kernel
    def second():
        loss[None] += middle[None]

    def run():
        first()
        second()

    assert _gradient(loss, run, x) == 2.0


def test_a_counter_counts_once():
    x, loss = _field(start=3.0), _field()
    count = _field(dtype=ti.i32, start=0, needs_grad=False)

    @ti.kernel
    def run():
        count[None] += 1
        loss[None] += x[None] ** 2

    assert _gradient(loss, run, x) == 6.0
    assert count[None] == 1


def test_writes_from_python_inside_the_tape():
    x, w, loss = _field(3, start=1.0), _field(3), _field()

    @ti.kernel
    def run():
        for i in x:
            loss[None] += x[i] * w[i]

    with ti.Tape(loss):
        w.from_numpy(np.array([1.0, 2.0, 3.0]))
        run()
    assert x.grad.to_numpy().tolist() == [1.0, 2.0, 3.0]
    with ti.Tape(loss):
        x.fill(5.0)
        run()
    assert x.grad.to_numpy().tolist() == [0.0, 0.0, 0.0]  # what x was on entry does not matter
    assert w.grad.to_numpy().tolist() == [5.0, 5.0, 5.0]


def test_a_store_twice_in_forward_mode():
    x, y = _field(start=1.0), _field()

    @ti.kernel
    def triple():
        y[None] = 3.0 * x[None]

    with ti.ad.FwdMode(loss=y, param=x):
        triple()
        triple()
    assert y.dual[None] == 3.0


def test_forward_mode_through_local_vectors_and_matrices():
    x, y = ti.Vector.field(2, ti.f64, shape=()), _field()
    x[None] = [1.0, 2.0]

    @ti.kernel
    def run():
        m = ti.Matrix([[x[None][0], 2.0], [1.0, x[None][1]]])
        v = m @ (m @ x[None])
        y[None] = v.dot(v) + m.determinant()

    def by_hand(a, b):
        m = np.array([[a, 2.0], [1.0, b]])
        v = m @ m @ [a, b]
        return v @ v + a * b - 2.0

    with ti.ad.FwdMode(loss=y, param=x, seed=[0.5, -1.0]):
        run()
    h = 1e-6
    slope = (by_hand(1 + 0.5 * h, 2 - h) - by_hand(1 - 0.5 * h, 2 + h)) / (2 * h)
    assert y[None] == by_hand(1.0, 2.0)
    assert y.dual[None] == pytest.approx(slope, rel=1e-8)


def test_second_derivatives_both_ways_round():
    x, y = _field(start=2.0), _field()

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    with ti.ad.FwdMode(loss=y, param=x), ti.Tape(y):
        cube()
    assert x.grad.dual[None] == 12.0


@pytest.mark.parametrize("start", [0.0, 4.0])
def test_lengths_at_zero(start):
    x, loss = ti.Vector.field(2, ti.f64, shape=2, needs_grad=True), _field()
    x[1] = [start, 0.0]

    @ti.kernel
    def run():
        for i in x:
            loss[None] += x[i].norm() + x[i].normalized()[1]

    slope = float(start > 0)
    assert _gradient(loss, run, x) == [[0.0, 0.0], [slope, 1 / start if start else 0.0]]


def test_a_root_that_is_not_taken():
    x, loss = _field(3), _field()
    x[1] = 4.0

    @ti.kernel
    def run():
        for i in x:
            loss[None] += ti.select(x[i] > 0, ti.sqrt(x[i]), 0.0)
            loss[None] += ti.sqrt(x[i]) if x[i] > 0 else 0.0

    assert _gradient(loss, run, x) == [0.0, 0.5, 0.0]


def test_an_exception_in_the_tape():
    x, loss = _field(start=3.0), _field()
    x.grad[None] = 7.0

    @ti.kernel
    def run():
        loss[None] += x[None] ** 2

    def failing():
        with ti.Tape(loss, clear_gradients=False):
            run()
            raise KeyError("a person's own")

    with pytest.raises(KeyError):
        failing()
    assert x.grad[None] == 7.0  # no backward pass


def test_the_value_that_an_atomic_returns_is_refused_backwards_and_right_forwards():
    x, sums, y, loss = _field(4), _field(), _field(4), _field()
    x.from_numpy(np.array([1.0, 2.0, 3.0, 4.0]))

    @ti.kernel
    def run():
        for i in range(4):
            before = ti.atomic_add(sums[None], x[i])
            y[i] = before * x[i]
        for i in range(4):
            loss[None] += y[i]

    with pytest.raises(ti.AccessRuleError, match=r"before = ti.atomic_add\(sums\[None\], x\[i\]\)"):
        _gradient(loss, run, x)
    sums[None] = 0.0
    loss[None] = 0.0
    with ti.ad.FwdMode(loss=loss, param=x, seed=[1.0, 0.0, 0.0, 1.0]):
        run()
    assert loss[None] == 35.0  # x0·x1 + (x0 + x1)·x2 + (x0 + x1 + x2)·x3, whose gradient is (9, 8, 7, 6)
    assert loss.dual[None] == 15.0


def test_a_kernels_result_as_the_loss_is_not_silent():
    x, loss = _field(start=3.0), _field()

    @ti.kernel
    def square() -> float:
        return x[None] ** 2

    def taped():
        with ti.Tape(loss):
            loss[None] = square()

    with pytest.warns(ti.GradientWarning):
        taped()


def test_a_layer_in_a_loop():
    n = 32
    w, state, loss = _field(n, n), _field(n), _field()
    rng = np.random.default_rng(0)
    weights, start = rng.standard_normal((n, n)) / 8, rng.standard_normal(n)
    w.from_numpy(weights)
    state.from_numpy(start)

    @ti.kernel
    def run():
        for _ in range(1):
            hidden = ti.Vector.zero(ti.f64, n)
            for i in range(n):
                hidden[i] = state[i]
            for _ in range(3):
                following = ti.Vector.zero(ti.f64, n)
                for i in range(n):
                    s = 0.0
                    for j in range(n):
                        s += w[i, j] * hidden[j]
                    following[i] = ti.tanh(s)
                for i in range(n):
                    hidden[i] = following[i]
            for i in range(n):
                loss[None] += hidden[i] ** 2

    with ti.Tape(loss):
        run()
    values = [start]
    for _ in range(3):
        values.append(np.tanh(weights @ values[-1]))
    bar, by_w = 2 * values[3], np.zeros((n, n))
    for step in (2, 1, 0):
        inner = bar * (1 - values[step + 1] ** 2)
        by_w += np.outer(inner, values[step])
        bar = weights.T @ inner
    assert loss[None] == pytest.approx((values[3] ** 2).sum())
    np.testing.assert_allclose(w.grad.to_numpy(), by_w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(state.grad.to_numpy(), bar, rtol=1e-9, atol=1e-12)
