"""`tape.gradients`: with respect to the values of a field after many calls."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import dsim as ti
from dsim.backends.cpu.streaming import stream
from dsim.runtime.inspection import result_memory
from dsim.runtime.sweeping import adjoint_rows
from tests.runtime.taping import cubed, same, single, state, swings


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def steps(n=4, trips=6):
    """A tape of three kernels a step, one of them recorded in parts, and a loss at its end."""
    x, v = (ti.field(ti.f64, shape=n, needs_grad=True, name=name) for name in "xv")
    f = ti.field(ti.f64, shape=n, name="f")
    loss = single("loss")

    @ti.kernel
    def forces():
        for i in x:
            f[i] = -ti.sin(x[i])

    @ti.kernel
    def kick(dt: float):
        for i in x:
            v[i] += dt * f[i]

    @ti.kernel
    def drift(dt: float):
        for i in x:
            x[i] += dt * v[i] * x[i]
        for i in x:
            x[i] = ti.cos(x[i])

    x.from_numpy(np.linspace(0.1, 1.0, n))
    v.from_numpy(np.linspace(1.0, 0.5, n))
    return taped_steps(trips, [forces, kick, drift], x, loss), x, v, f, loss


def taped_steps(trips, kernels, x, loss):
    forces, *moves = kernels

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2

    with ti.Tape(loss) as tape:
        for _ in range(trips):
            forces()
            for move in moves:
                move(0.1)
        total()
    return tape


def test_every_is_a_sweep_per_query():
    tape, x, v, f, loss = steps()
    before = state(x, v, loss)
    for field in (x, v):
        found = tape.gradients(field)
        assert found.calls.tolist() == list(range(19))
        assert found.values.shape == (19, 4)
        for n, values in zip(found.calls.tolist(), found, strict=True):
            assert same([values], [tape.gradient(field, after=n)])
    found = tape.gradients(f)
    assert same(found[5:6], [tape.gradient(f, after=5)])
    assert same(state(x, v, loss), before)


def test_out_takes_them():
    tape, x, _v, f, _loss = steps()
    out = np.full((6, 4), np.nan)
    found = tape.gradients(x, every=3, out=out)
    assert found.values is out
    assert same(out, tape.gradients(x, every=3).values)
    wide = np.full((19, 8), np.nan)
    tape.gradients(x, out=wide[:, ::2])
    assert same(wide[:, ::2], tape.gradients(x).values)
    assert np.isnan(wide[:, 1::2]).all()
    assert same(tape.gradients(f, out=np.full((19, *f.shape), np.nan)), tape.gradients(f))


def test_out_is_set_where_nothing_wrote_the_loss():
    x, _y, cube = cubed()
    z = single("z")
    with pytest.warns(ti.GradientWarning, match="no call inside the tape wrote the loss"), ti.Tape(z) as tape:
        cube()
    assert tape.gradients(x, out=np.full(1, np.nan)).values.tolist() == [0.0]


@pytest.mark.parametrize(
    ("out", "found"),
    [
        ([0.0], "not list"),
        (np.zeros((5, 4)), r"not float64\[5, 4\]"),
        (np.zeros((6, 4), np.float32), r"not float32\[6, 4\]"),
        (np.broadcast_to(np.zeros(4), (6, 4)), "not an array that can only be read"),
        (np.ma.zeros((6, 4)), "not MaskedArray"),
        (as_strided(np.zeros(9), (6, 4), (8, 8)), "not an array whose elements share memory"),
    ],
)
def test_what_out_may_not_be(out, found):
    tape, x, *_ = steps()
    before = np.array(out)
    wanted = r"6 gradients with respect to `x`: float64\[6, 4\], "
    with pytest.raises(ti.GradientError, match=f"(?s){wanted}{found}.*out=np.empty"):
        tape.gradients(x, every=3, out=out)
    assert np.array_equal(out, before)


def test_out_is_no_field():
    tape, x, *_ = steps()
    y = ti.ndarray(ti.f64, (6, 4))
    with pytest.raises(ti.GradientError, match="not the memory of a field"):
        tape.gradients(x, every=3, out=y.buffer.reshape(6, 4))


def test_steps_of_several_kernels():
    tape, x, *_ = steps()
    found = tape.gradients(x, every=3)
    assert found.calls.tolist() == [2, 5, 8, 11, 14, 17]
    assert {tape.calls[n].kernel for n in found.calls.tolist()} == {"drift"}
    assert same(found, tape.gradients(x)[2::3])
    drifts = [c for c in tape.calls if c.kernel == "drift"]
    assert same(found, tape.gradients(x, after=drifts))
    assert same(found[::-1], tape.gradients(x, after=reversed(drifts)))


def test_any_calls_in_any_order():
    tape, x, *_ = steps()
    found = tape.gradients(x, after=[-1, 3, np.int64(3), tape.calls[0]])
    assert found.calls.tolist() == [18, 3, 3, 0]
    assert not found[0].any()
    assert same(found[1:3], [tape.gradient(x, after=3)] * 2)
    assert same(found[3:], [tape.gradient(x, after=0)])


def test_it_is_an_array_to_numpy():
    tape, x, *_ = steps()
    found = tape.gradients(x, every=3)
    assert len(found) == 6
    assert found[2, 1] == found.values[2, 1]
    assert np.linalg.norm(found, axis=1).shape == (6,)
    assert np.asarray(found) is found.values
    assert np.array(found) is not found.values
    assert np.asarray(found, np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="needs a copy"):
        found.__array__(np.float32, copy=False)
    assert repr(found) == "gradients with respect to `x` after 6 of 19 calls: float64[6, 4], 192 bytes"


def test_vectors_and_narrow_numbers():
    v = ti.Vector.field(2, ti.f32, shape=3, needs_grad=True)
    loss = ti.field(ti.f32, shape=(), needs_grad=True)

    @ti.kernel
    def double():
        for i in v:
            v[i] = 2 * v[i]

    @ti.kernel
    def total():
        for i in v:
            loss[None] += v[i].x + 3 * v[i].y

    with ti.Tape(loss) as tape:
        double()
        double()
        total()
    found = tape.gradients(v, after=[0, 1])
    assert (found.values.shape, found.values.dtype) == ((2, 3, 2), np.float32)
    assert found[:, 0].tolist() == [[2.0, 6.0], [1.0, 3.0]]


def test_gradients_of_a_person_and_of_other_sweeps():
    q, p, loss, run = swings()

    @ti.ad.grad_replaced
    def again():
        run()

    @ti.ad.grad_for(again)
    def back():
        q.grad.fill(1.0)

    with ti.Tape(loss) as tape:
        again()
        run()
    found = tape.gradients(q)
    for n in range(len(tape.calls)):
        assert same(found[n : n + 1], [tape.gradient(q, after=n)])
    assert p.grad.to_numpy().any()


def test_a_loss_that_nothing_wrote():
    x, _, cube = cubed()
    z = single("z")
    with pytest.warns(ti.GradientWarning, match="no call inside the tape wrote the loss"), ti.Tape(z) as tape:
        cube()
    assert tape.gradients(x).values.tolist() == [0.0]


def test_what_it_refuses():
    tape, x, _v, f, loss = steps()
    spare = ti.field(ti.f64, shape=(), name="spare")
    for ask, message in [
        (lambda: tape.gradients(x, every=0), "`every` is a number of calls from 1 to 19, not 0"),
        (lambda: tape.gradients(x, every=20), "from 1 to 19, not 20"),
        (lambda: tape.gradients(x, every=1.5), r"from 1 to 19, not 1\.5"),
        (lambda: tape.gradients(x, every=1, after=[1]), "both choose the calls"),
        (lambda: tape.gradients(x, after=3), r"(?s)a sequence of calls, not int.*tape\.gradient\(x, after=3"),
        (lambda: tape.gradients(x, after=[]), "`after` names no call"),
        (lambda: tape.gradients(x, after=[19]), "there is no call 19: the tape has 19 calls"),
        (lambda: tape.gradients(1.0), "with respect to a field, not to float"),
        (lambda: tape.gradients(ti.field(ti.i32, shape=())), "integers have no gradient"),
        (lambda: tape.gradients(spare), "(?s)`spare` has no gradient after call 0.*no call computes it"),
    ]:
        with pytest.raises(ti.GradientError, match=message):
            ask()
    x[0] = 3.0
    with pytest.raises(ti.GradientError, match="`x` was changed from Python after the tape's block"):
        tape.gradients(f, every=3)
    assert loss.grad[None] == 1.0


@pytest.mark.parametrize("every", [None, 1, 2])
def test_calls_that_a_budget_has_made_one_call_of_are_not_counted_as_one(every):
    x, z = ti.field(ti.f64, shape=8, needs_grad=True), single("z")

    @ti.kernel
    def bend():
        for i in x:
            x[i] = ti.sin(x[i])

    @ti.kernel
    def end():
        for i in x:
            z[None] += x[i]

    x.fill(0.5)
    with ti.Tape(z, budget=8 * x.to_numpy().nbytes) as tape:
        inside = tape.trajectory(x, every=2)
        for _ in range(20):
            bend()
        end()
    assert len(tape.calls) < 21
    with pytest.raises(ti.GradientError, match=r"(?s)has made one call of several.*`tape\.trajectory\(x\)`"):
        tape.gradients(x, every=every)
    assert inside.steps.tolist() == list(range(0, 21, 2))
    assert same(tape.gradients(x, after=[0])[:1], [tape.gradient(x, after=0)])


def test_a_field_that_is_constant_at_first():
    x, z = single("x"), single("z")
    y = single("y", needs_grad=False)

    @ti.kernel
    def use():
        z[None] += 2 * y[None] + x[None]

    @ti.kernel
    def set_y():
        y[None] = 10 * x[None]

    with ti.Tape(z) as tape:
        use()
        set_y()
        use()
    assert tape.gradients(y, after=[1, 2]).values.tolist() == [2.0, 0.0]
    with pytest.raises(ti.GradientError, match=r"(?s)no gradient after call 0.*from call 1 on, by `after=`"):
        tape.gradients(y)


def test_more_than_the_memory_holds(monkeypatch, tmp_path):
    tape, x, *_ = steps()
    known = tmp_path / "meminfo"
    monkeypatch.setattr(result_memory, "_MEMINFO", known)
    known.write_text("MemTotal: 9 kB\nMemAvailable: 0 kB\n")
    message = r"(?s)19 gradients with respect to `x` need 5\.66e-07 GiB, which are not available.*every="
    with pytest.raises(ti.GradientError, match=message):
        tape.gradients(x)
    known.write_text("MemTotal: 9 kB\nMemAvailable: 1 kB\n")
    assert len(tape.gradients(x)) == 19
    known.unlink()
    assert len(tape.gradients(x)) == 19
    monkeypatch.setattr(result_memory.np, "empty", _none)
    with pytest.raises(ti.GradientError, match="not available"):
        tape.gradients(x)


def _none(shape, dtype):
    raise MemoryError


@pytest.mark.slow
@pytest.mark.parametrize("size", [17_000, 40_001])
def test_a_result_larger_than_the_caches(monkeypatch, size):
    tape, x, *_ = steps(size)
    expected = tape.gradients(x)
    monkeypatch.setattr(adjoint_rows, "LARGE", 1000)
    copies = []
    monkeypatch.setattr(adjoint_rows, "stream", lambda *a: (copies.append(a), stream(*a)))
    assert same(tape.gradients(x), expected)
    assert len(copies) == 19
    wide = np.full((19, 2 * size + 1), np.nan)
    tape.gradients(x, out=wide[:, 1::2])
    assert same(wide[:, 1::2], expected)
    assert np.isnan(wide[:, ::2]).all()


def test_gradients_put_aside_come_back_each_time():
    tape, x, v, _f, loss = steps()
    out = np.empty((6, 4))
    for scale in (1.0, 2.0):
        x.grad.from_numpy(scale * np.arange(4.0))
        before = state(x, v, loss)
        for _ in range(2):
            tape.gradients(x, every=3, out=out)
            assert same(state(x, v, loss), before)
