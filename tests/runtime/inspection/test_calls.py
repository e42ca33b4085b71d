"""The recorded calls of a tape, as records and as a table."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import cubed, single


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def springs(steps):  # noqa: C901 (four kernels)
    """A tape of a small simulation: a grid is cleared, filled, and moves what filled it."""
    x, v, g = (ti.field(ti.f64, shape=4, needs_grad=True, name=name) for name in ("x", "v", "grid"))
    loss = single("loss")

    @ti.kernel
    def clear():
        for i in g:
            g[i] = 0.0

    @ti.kernel
    def scatter():
        for i in x:
            g[i] += ti.sin(x[i])

    @ti.kernel
    def gather(dt: float, shift: ti.i32):
        for i in x:
            v[i] += dt * g[(i + shift) % 4]
            x[i] += dt * v[i]

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2

    def run(tape):
        with tape:
            for t in range(steps):
                clear()
                scatter()
                gather(0.125, t % 2)
            total()
        return tape

    return x, loss, run


def test_records():
    _, loss, run = springs(3)
    tape = run(ti.Tape(loss))
    calls = tape.calls
    assert len(calls) == 10
    assert [c.kernel for c in calls] == ["clear", "scatter", "gather"] * 3 + ["total"]
    assert [c.index for c in calls] == list(range(10))
    one = calls[5]
    assert (one.reads, one.stores, one.accumulates) == (("grid", "v"), (), ("v", "x"))
    assert one.arguments == "dt=0.125, shift=1"
    assert (one.overwrites, one.saved_bytes) == (("x",), 32)
    assert one.span.text == "gather(dt: float, shift: ti.i32):"
    assert one.span.end_line - one.span.line == 3
    assert (one.seconds, one.backward_seconds, one.gradient_norm) == (None, None, None)
    assert calls[-1].kernel == "total"
    assert [c.index for c in calls[8:]] == [8, 9]
    for at in (10, -11):
        with pytest.raises(IndexError, match=f"there is no call {at}: the tape has 10 calls"):
            calls[at]
    with pytest.raises(AttributeError):
        one.index = 3
    assert sum(c.saved_bytes for c in calls) == tape.saved_bytes == 96


def test_the_table():
    _, loss, run = springs(700)
    lines = repr(run(ti.Tape(loss))).split("\n")
    first = int(lines[2].split("clear")[1].split()[0])
    for n, at in enumerate((0, 5, 10, 16)):
        assert str(first + at) in lines[n + 2]
        lines[n + 2] = lines[n + 2].replace(str(first + at), "##")
    assert "\n".join(lines) == (
        "tape of `loss`: 2,101 calls, 22,400 bytes saved\n"
        " call           kernel   line  reads    stores  adds to   saved\n"
        "    0  ┌ 700 ×  clear      ##           grid\n"
        "    1  │        scatter    ##  x                grid\n"
        "    2  └        gather     ##  grid, v          v, x     22,400\n"
        "2,100           total      ##  x                loss"
    )


def test_a_table_without_calls():
    _, y, _ = cubed()
    assert repr(ti.Tape(y)) == "tape of `y`: 0 calls"


def test_what_python_writes():
    x, v = (ti.Vector.field(2, ti.f64, shape=3, needs_grad=True, name=name) for name in "xv")
    s, loss = single("s"), single("loss")

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i].norm_sqr() * s[None]

    with ti.Tape(loss) as tape:
        x.fill([1.0, 2.0])
        v.copy_from(x)
        x[1][1] = 3.5
        s[None] = 2.0
        total()
    shown = [(c.kernel, c.stores, c.arguments) for c in tape.calls]
    assert shown[0] == ("fill", ("x",), "x = 1, 2")
    assert shown[1] == ("copy", ("v",), "v")
    assert shown[2] == ("put", ("x",), "x[1][1] = 3.5")
    assert shown[3] == ("put", ("s",), "s[None] = 2")
    assert tape.calls[2].span is None


def test_parts_of_a_kernel_are_one_call():
    x, loss = single("x"), single("loss")

    @ti.kernel
    def sine():
        x[None] = ti.sin(x[None])

    @ti.kernel
    def end():
        loss[None] += x[None]

    x[None] = 1.0
    with ti.Tape(loss) as tape:
        for _ in range(3):
            sine()
        end()
    assert len(tape.entries) > 4
    assert [c.kernel for c in tape.calls] == ["sine"] * 3 + ["end"]
    assert [c.saved_bytes for c in tape.calls] == [8, 8, 8, 0]
    assert tape.profile().backward_seconds.shape == (4,)


def test_functions_with_gradients_of_their_own():
    x, y, cube = cubed()

    @ti.ad.grad_replaced
    def whole():
        cube()

    @ti.ad.grad_for(whole)
    def back():
        x.grad[None] += 1.0

    with ti.Tape(y, profile=True) as tape:
        whole()
    (one,) = tape.calls
    assert (one.kernel, one.reads, one.stores, one.span) == ("whole", ("x", "y"), ("y",), None)
    assert one.seconds is None
    assert one.gradient_norm == 1.0


def test_random_numbers_are_no_argument():
    x, y = single("x"), single("y")

    @ti.kernel
    def noisy(scale: float):
        y[None] += x[None] * scale * ti.random()

    with ti.Tape(y) as tape:
        noisy(2.0)
    assert tape.calls[0].arguments == "scale=2"


def test_names_that_are_hostile():
    x = ti.field(ti.f64, shape=(), needs_grad=True, name="\x1b[31mred")
    loss = ti.field(ti.f64, shape=(), needs_grad=True, name="a\nb")

    @ti.kernel
    def end():
        loss[None] += x[None] ** 2

    with ti.Tape(loss) as tape:
        end()
    text = repr(tape)
    assert "\x1b" not in text
    assert len(text.split("\n")) == 3
    assert "�[31mred" in text
    assert tape.calls[0].reads == ("\x1b[31mred",)


def test_a_long_table_is_cut():
    """Kernels in an order that never comes back: nothing to fold."""
    fields = [single(f"f{n}") for n in range(120)]
    loss = single("loss")
    with ti.Tape(loss) as tape:
        for n, f in enumerate(fields):
            f[None] = float(n)
        loss[None] = 1.0
    lines = repr(tape).split("\n")
    assert lines[-1] == "… and 21 lines more"
    assert len(lines) == 103


# -- profiles


def test_the_norm_of_the_gradient():
    """x ← 2x, 5 times: 2, 4, … at the calls' ends, as one goes back."""
    x, loss = single("x"), single("loss")

    @ti.kernel
    def double():
        x[None] = 2.0 * x[None]

    @ti.kernel
    def end():
        loss[None] += 3.0 * x[None]

    def run(**options):
        x[None] = 1.0
        with ti.Tape(loss, **options) as tape:
            for _ in range(5):
                double()
            end()
        return tape

    tape = run()
    before = x.grad[None], x[None]
    profile = tape.profile()
    assert profile.gradient_norm.tolist() == [48.0, 24.0, 12.0, 6.0, 3.0, 1.0]
    assert profile.gradient_norm_before.tolist()[:5] == [96.0, 48.0, 24.0, 12.0, 6.0]
    assert (x.grad[None], x[None]) == before
    assert np.isnan(profile.seconds).all()
    assert (profile.backward_seconds >= 0).all()
    assert tape.profile() is profile
    assert tape.calls[2].gradient_norm == 12.0
    assert tape.calls[2].seconds is None
    timed = run(profile=True)
    assert timed.profile().gradient_norm.tolist() == profile.gradient_norm.tolist()
    assert (timed.profile().seconds > 0).all()
    assert timed.calls[0].seconds > 0
    assert x.grad[None] == 96.0
    assert "gradient" in repr(timed).split("\n")[1]
    assert repr(timed.profile()).startswith("<profile of 6 calls: ")


def test_the_gradient_of_a_state_with_an_axis_for_the_step():
    """Only what a call wrote counts, not the whole field."""
    x, loss = ti.field(ti.f64, shape=6, needs_grad=True, name="x"), single("loss")

    @ti.kernel
    def step(t: ti.i32):
        x[t + 1] = 2.0 * x[t]

    @ti.kernel
    def end():
        loss[None] += x[5]

    with ti.Tape(loss) as tape:
        for t in range(5):
            step(t)
        end()
    assert tape.profile().gradient_norm.tolist() == [16.0, 8.0, 4.0, 2.0, 1.0, 1.0]


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64])
def test_norms_of_what_is_very_large_or_small(dtype):
    from dsim.runtime.inspection.profiling import norm

    largest, smallest = np.finfo(dtype.numpy).max, np.finfo(dtype.numpy).tiny
    for scale in (float(largest) / 8, float(smallest), 1.0):
        for count in (1, 100):
            values = np.array([3.0 * scale, 4.0 * scale] + [0.0] * count, dtype.numpy)
            np.testing.assert_allclose(norm(values), 5.0 * scale, rtol=1e-6)
    assert norm(np.zeros((3, 3), dtype.numpy)) == 0.0
    for count in (1, 100):
        assert np.isnan(norm(np.array([1.0, np.nan] * count, dtype.numpy)))
        assert norm(np.array([1.0, np.inf] * count, dtype.numpy)) == np.inf


def test_many_calls_are_folded_at_once():
    x, loss = ti.field(ti.f64, shape=10_001, needs_grad=True, name="x"), single("loss")

    @ti.kernel
    def step(t: ti.i32):
        x[t + 1] = ti.sin(x[t])

    with ti.Tape(loss) as tape:
        for t in range(10_000):
            step(t)
        loss[None] = 1.0
    assert len(tape.calls) == 10_001
    assert len(repr(tape).split("\n")) == 4
    assert tape.calls[9_999].arguments == "t=9999"
