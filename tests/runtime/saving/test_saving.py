"""Values overwritten inside a tape: saved, only those needed, and restored."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def _sines(n=3):
    """x, the loss, and kernels ``x = sin(x)`` and ``loss += Σ x²``."""
    x, loss = ti.field(ti.f64, shape=n, needs_grad=True, name="x"), single("loss")
    x.from_numpy(np.linspace(0.5, 2.0, n))

    @ti.kernel
    def sine():
        for i in x:
            x[i] = ti.sin(x[i])

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2

    def run(steps=3):
        for _ in range(steps):
            sine()
        total()

    return x, loss, run


def _slope(x):
    """The derivative of sin(sin(sin(x)))²."""
    a, b = np.sin(x), np.sin(np.sin(x))
    return 2 * np.sin(b) * np.cos(b) * np.cos(a) * np.cos(x)


def _curvature(x, h=1e-5):
    return (_slope(x + h) - _slope(x - h)) / (2 * h)


def test_state_in_place():
    x, loss, run = _sines()
    start = x.to_numpy()
    with ti.Tape(loss) as tape:
        run()
    np.testing.assert_allclose(x.grad.to_numpy(), _slope(start), rtol=1e-13)
    np.testing.assert_array_equal(x.to_numpy(), np.sin(np.sin(np.sin(start))))
    assert tape.saved_bytes == 3 * 3 * 8


def test_the_report_names_both_lines():
    _, loss, run = _sines()
    with ti.Tape(loss) as tape:
        run()
    (row,) = tape.saved
    assert (row.field, row.bytes, row.times) == ("x", 72, 3)
    assert row.writer.endswith("x[i] = ti.sin(x[i])")
    assert row.reader == row.writer
    assert str(tape.saved).splitlines()[0].split() == [
        "bytes",
        "times",
        "field",
        "overwritten",
        "by",
        "read",
        "by",
    ]
    with ti.Tape(loss) as tape:
        run(0)
    assert not tape.saved
    assert str(tape.saved) == "nothing was saved: no value that a gradient needs is overwritten"


def test_only_what_is_read_and_overwritten_is_saved():
    x, loss = ti.field(ti.f64, shape=(4, 5), needs_grad=True), single("loss")
    x.fill(3.0)

    @ti.kernel
    def read(row: ti.i32):
        for j in range(1, 4):
            loss[None] += x[row, j] ** 2

    with ti.Tape(loss) as tape:
        read(1)
        read(2)
        x[1, 0] = 7.0
        assert tape.saved_bytes == 0
        x[1, 1] = 7.0
        assert tape.saved_bytes == 8
        x[1, 1] = 9.0
        assert tape.saved_bytes == 8
        x.fill(5.0)
    assert tape.saved_bytes == 8 * 6
    expected = np.zeros((4, 5))
    expected[1:3, 1:4] = 6.0
    np.testing.assert_array_equal(x.grad.to_numpy(), expected)
    assert np.all(x.to_numpy() == 5.0)


def test_a_linear_wave_in_place_saves_nothing():
    u, v, loss = ti.field(ti.f64, shape=16, needs_grad=True), ti.field(ti.f64, shape=16), single("loss")
    u.from_numpy(np.sin(np.arange(16.0)))

    @ti.kernel
    def kick():
        for i in range(1, 15):
            v[i] += 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1])

    @ti.kernel
    def drift():
        for i in u:
            u[i] += 0.1 * v[i]

    @ti.kernel
    def look():
        loss[None] = u[3]

    start = u.to_numpy()
    with ti.Tape(loss) as tape:
        for _ in range(10):
            kick()
            drift()
        look()
    assert tape.saved_bytes == 0

    def run(first):
        a, b = first.copy(), np.zeros(16)
        for _ in range(10):
            b[1:-1] += 0.1 * (a[:-2] - 2 * a[1:-1] + a[2:])
            a += 0.1 * b
        return a[3]

    expected = [run(start + row) - run(start) for row in np.eye(16)]
    np.testing.assert_allclose(u.grad.to_numpy(), expected, atol=1e-13)


def test_a_kernel_that_reads_and_overwrites_in_turns():
    a, b, loss = single("a"), single("b"), single("loss")

    @ti.kernel
    def run(k: ti.f64):
        s = a[None] * k
        loss[None] += s * b[None]
        b[None] = a[None] ** 2
        a[None] = ti.sin(s) * b[None]
        for _i in range(3):
            loss[None] += a[None] * b[None] * s
        b[None] = 0.0

    def value(p, q, k=1.5):
        s = p * k
        p2 = np.sin(s) * p * p
        return s * q + 3 * p2 * p * p * s

    a[None], b[None] = 0.7, -1.2
    with ti.Tape(loss) as tape:
        run(1.5)
    assert loss[None] == pytest.approx(value(0.7, -1.2), rel=1e-14)
    h = 1e-6
    assert a.grad[None] == pytest.approx((value(0.7 + h, -1.2) - value(0.7 - h, -1.2)) / (2 * h), rel=1e-8)
    assert b.grad[None] == pytest.approx(0.7 * 1.5, rel=1e-13)
    assert b[None] == 0.0
    assert tape.saved_bytes > 0


def test_what_a_kernel_in_parts_returns():
    a, loss = single("a"), single("loss")

    @ti.kernel
    def run() -> ti.f64:
        before = a[None]
        loss[None] = before**2
        a[None] = 5.0
        return before

    a[None] = 3.0
    with pytest.warns(UserWarning, match="returns a value"), ti.Tape(loss):
        assert run() == 3.0
    assert (a.grad[None], a[None]) == (6.0, 5.0)


def test_flags_and_ends_of_loops():
    x, loss = single("x"), single("loss")
    flag, count = ti.field(ti.i32, shape=()), ti.field(ti.i32, shape=())

    @ti.kernel
    def run():
        if flag[None] == 1:
            for _ in range(count[None]):
                loss[None] += x[None] ** 2

    x[None], flag[None], count[None] = 2.0, 1, 3
    with ti.Tape(loss):
        run()
        flag[None] = 0
        count.fill(7)
    assert x.grad[None] == 12.0
    assert (flag[None], count[None]) == (0, 7)


def test_forward_mode_goes_through_what_is_saved():
    x, loss, run = _sines()
    start, direction = x.to_numpy(), np.array([1.0, -2.0, 0.5])
    with ti.ad.FwdMode(loss=loss, param=x, seed=direction):
        with ti.Tape(loss) as tape:
            run()
        assert tape.saved_bytes == 72
    np.testing.assert_allclose(x.grad.to_numpy(), _slope(start), rtol=1e-12)
    np.testing.assert_allclose(x.grad.dual.to_numpy(), _curvature(start) * direction, rtol=1e-8)
    np.testing.assert_array_equal(x.to_numpy(), np.sin(np.sin(np.sin(start))))


def test_a_tape_goes_through_what_another_one_saves():
    x, loss, run = _sines()
    outer = single("outer")
    weight = ti.field(ti.f64, shape=3)
    weight.from_numpy(np.array([1.0, -2.0, 0.5]))

    @ti.kernel
    def weigh():
        for i in x:
            outer[None] += weight[i] * x.grad[i]

    start = x.to_numpy()
    with ti.Tape(outer):
        with ti.Tape(loss):
            run()
        weigh()
    np.testing.assert_allclose(x.grad.to_numpy(), _curvature(start) * weight.to_numpy(), rtol=1e-8)
    np.testing.assert_array_equal(x.to_numpy(), np.sin(np.sin(np.sin(start))))


def test_tapes_one_after_the_other_inside_another_one():
    x, loss, run = _sines()
    start = x.to_numpy()
    blocks = set()
    for _ in range(3):
        x.from_numpy(start)
        with ti.ad.FwdMode(loss=loss, param=x, seed=[1.0, 1.0, 1.0]), ti.Tape(loss) as tape:
            run()
        np.testing.assert_allclose(x.grad.dual.to_numpy(), _curvature(start), rtol=1e-8)
        blocks.update(s.values[0] for s in tape.snapshots.all)
    assert len(blocks) == 1


def test_more_steps_than_a_block_has_slots():
    x, loss, run = _sines(1)
    start, steps = x.to_numpy(), 200
    with ti.ad.FwdMode(loss=loss, param=x, seed=[1.0]), ti.Tape(loss):
        run(steps)
    y, slope = start, 2.0
    for _ in range(steps):
        slope, y = slope * np.cos(y), np.sin(y)
    np.testing.assert_allclose(x.grad.to_numpy(), slope * y, rtol=1e-12)


@pytest.mark.parametrize("budget", [104, 120, "0.2kB"])
def test_with_a_budget_calls_run_again_instead(budget):
    x, loss, run = _sines()
    start = x.to_numpy()
    with ti.Tape(loss, budget=budget) as tape:
        run()
    np.testing.assert_allclose(x.grad.to_numpy(), _slope(start), rtol=1e-13)
    np.testing.assert_array_equal(x.to_numpy(), np.sin(np.sin(np.sin(start))))
    assert "step" in str(tape)


def test_a_budget_for_less_than_a_state():
    _, loss, run = _sines()
    with pytest.raises(ti.GradientError) as error, ti.Tape(loss, budget=50):
        run()
    message = str(error.value)
    assert "one state takes 32 bytes, and overwritten values 24: more than the budget of 50" in message
    assert "help: raise `budget`" in message
    with pytest.raises(ti.GradientError) as error, ti.Tape(loss, budget=20):
        run()
    assert "overwritten values take 24 bytes, more than the tape's budget of 20" in str(error.value)
    with pytest.raises(ti.GradientError) as error, ti.Tape(loss, budget=100):
        run()
    assert "one state and what a step overwrites take 56 bytes" in str(error.value)


@pytest.mark.parametrize("budget", [0, -3, "many", "3 apples", 2.5])
def test_a_budget_is_a_number_of_bytes(budget):
    _, loss, _ = _sines()
    with pytest.raises(ti.GradientError, match="a budget is a number of bytes"):
        ti.Tape(loss, budget=budget)


def test_an_error_going_backwards_leaves_the_state_at_the_end():
    x, loss, run = _sines()

    @ti.ad.grad_replaced
    def nothing():
        pass

    @ti.ad.grad_for(nothing)
    def failing():
        raise KeyError("mine")

    start = x.to_numpy()

    def taped():
        with ti.Tape(loss):
            nothing()
            run()

    with pytest.raises(KeyError, match="mine"):
        taped()
    np.testing.assert_array_equal(x.to_numpy(), np.sin(np.sin(np.sin(start))))


def test_a_gradient_of_ones_own_finds_what_its_function_used():
    x, y, loss = single("x"), single("y"), single("loss")

    @ti.kernel
    def square():
        y[None] = x[None] ** 2

    @ti.kernel
    def back():
        x.grad[None] += 2 * x[None] * y.grad[None]

    @ti.kernel
    def use():
        loss[None] += y[None]

    @ti.ad.grad_replaced
    def own():
        square()

    ti.ad.grad_for(own)(back)
    x[None] = 3.0
    with ti.Tape(loss) as tape:
        own()
        use()
        x[None] = 100.0
    assert (x.grad[None], x[None], tape.saved_bytes) == (6.0, 100.0, 8)
    assert tape.saved[0].reader.endswith("y[None] = x[None] ** 2")


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64])
def test_vectors_and_matrices(dtype):
    ti.init(default_fp=dtype)
    a = ti.Matrix.field(2, 2, dtype, shape=3, needs_grad=True)
    v = ti.Vector.field(2, dtype, shape=3, needs_grad=True)
    loss = ti.field(dtype, shape=(), needs_grad=True)
    rng = np.random.default_rng(1)
    a.from_numpy(rng.uniform(-1, 1, (3, 2, 2)))
    v.from_numpy(rng.uniform(-1, 1, (3, 2)))
    first, second = a.to_numpy().astype(float), v.to_numpy().astype(float)

    @ti.kernel
    def turn():
        for i in v:
            v[i] = a[i] @ v[i]
            a[i] = a[i] @ a[i]

    @ti.kernel
    def total():
        for i in v:
            loss[None] += v[i].norm_sqr()

    with ti.Tape(loss):
        turn()
        turn()
        total()

    def value(m, w):
        for _ in range(2):
            w, m = np.einsum("nij,nj->ni", m, w), m @ m
        return (w**2).sum()

    h, tolerance = 1e-6, 1e-7 if dtype == ti.f64 else 2e-5
    for field, start, at in ((a, first, (1, 0, 1)), (a, first, (2, 1, 1)), (v, second, (0, 1))):
        step = np.zeros_like(start)
        step[at] = h
        up, down = (
            value(first + s * step, second) if start is first else value(first, second + s * step)
            for s in (1, -1)
        )
        assert field.grad.to_numpy()[at] == pytest.approx((up - down) / (2 * h), rel=tolerance, abs=tolerance)
