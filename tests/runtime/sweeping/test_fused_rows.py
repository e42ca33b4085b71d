"""Backward passes whose launches copy an adjoint on their way: rows are those of a sweep per call."""

import numpy as np
import pytest

import dsim as ti
from dsim.backends.cpu.row_copies import RowCopies
from dsim.runtime.driver import pipeline
from dsim.runtime.launching.native_replay import CopyingForm
from dsim.runtime.sweeping import adjoint_rows, repeated_sweeps
from dsim.runtime.sweeping.fused_rows import fused
from tests.runtime.taping import same, single

N = 20_011  # odd, and several chunks of more than 128 KiB


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@pytest.fixture
def replays(monkeypatch):
    """What was fused: for each table the kinds of its launches, with the copies that each takes."""
    monkeypatch.setattr(adjoint_rows, "LARGE", 0)
    monkeypatch.setattr(pipeline, "thread_count", lambda: 2)  # on one core, too
    made = []

    def noted(launches, adjoint):
        found = fused(launches, adjoint)
        made.append([_said(one, args) for one, args in found])
        return found

    monkeypatch.setattr(repeated_sweeps, "fused", noted)
    return made


def _said(one, args):
    if isinstance(one, RowCopies):
        return "copy"
    name = (one.form if isinstance(one, CopyingForm) else one).kernel.name
    return name, len(args) // 2 if isinstance(one, CopyingForm) else 0


def fields(*shape, dtype=ti.f64, make=ti.field):
    made = [make(dtype, shape=shape, needs_grad=True, name=name) for name in "xv"]
    random = np.random.default_rng(3)
    for f in made:
        f.from_numpy(random.normal(size=f.to_numpy().shape))
    return (*made, single("loss"))


@ti.kernel
def drift(x: ti.template(), v: ti.template()):
    for i in ti.grouped(x):
        x[i] += 0.25 * v[i]


def oscillators(x, v, loss):
    """Adjoints that write the other field, and read their own."""

    @ti.kernel
    def kick():
        for i in ti.grouped(x):
            v[i] -= 0.3 * x[i]

    @ti.kernel
    def total():
        for i in ti.grouped(x):
            loss[None] += x[i] * 0.5

    return [kick, lambda: drift(x, v)], total


def damped(x, v, loss):
    """An adjoint that writes the adjoint that is asked for, and nothing else."""

    @ti.kernel
    def damp():
        for i in x:
            x[i] *= 0.5

    @ti.kernel
    def idle():
        for i in v:
            v[i] *= 0.25

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] + v[i]

    return [damp, idle], total


def wave(x, v, loss):
    """One adjoint scatters to neighbours."""
    n = x.shape[0]

    @ti.kernel
    def kick():
        for i in v:
            if i > 0 and i < n - 1:
                v[i] += 0.1 * (x[i - 1] - 2 * x[i] + x[i + 1])

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] * 0.5

    return [kick, lambda: drift(x, v)], total


def taped(program, these, steps=6):
    calls, total = program(*these)
    with ti.Tape(these[-1]) as tape:
        for _ in range(steps):
            for call in calls:
                call()
        total()
    return tape


def check(tape, field, replays, **choice):
    tape.gradients(field, **choice)
    found = tape.gradients(field, **choice)
    assert replays
    for after, values in zip(found.calls.tolist(), found, strict=True):
        assert same([values], [tape.gradient(field, after=after)])
    return replays[-1]


@pytest.mark.parametrize("choice", [{}, {"every": 2}, {"every": 3}, {"after": [7, 2, 11, 2, 12, 7, 7]}])
@pytest.mark.parametrize("of", [0, 1])
@pytest.mark.parametrize("program", [oscillators, damped, wave])
def test_rows_are_the_adjoints_after_each_call(replays, program, of, choice):
    these = fields(N)
    launches = check(taped(program, these), these[of], replays, **choice)
    assert any(one != "copy" and one[1] for one in launches)


@pytest.mark.parametrize(
    ("shape", "dtype", "make"),
    [
        ((150, 301), ti.f64, ti.field),
        ((50, 40, 30), ti.f32, ti.field),
        ((N,), ti.f64, lambda *args, **kw: ti.Vector.field(3, *args, **kw)),
        ((N,), ti.f32, lambda *args, **kw: ti.Matrix.field(2, 2, *args, **kw)),
    ],
)
def test_fields_of_all_shapes(replays, shape, dtype, make):
    these = fields(*shape, dtype=dtype, make=make)
    x, v, loss = these
    numbers = make is ti.field

    @ti.kernel
    def total():
        for i in ti.grouped(x):
            loss[None] += x[i] if ti.static(numbers) else x[i].sum()

    with ti.Tape(loss) as tape:
        for _ in range(8):
            drift(x, v)
        total()
    assert "copy" not in check(tape, x, replays)
    assert "copy" not in check(tape, v, replays)


def test_copies_are_shared_out_evenly(replays):
    these = fields(N)
    launches = check(taped(oscillators, these), these[0], replays)
    assert "copy" not in launches
    assert {rows for name, rows in launches if name != "total"} == {1}


def test_a_stencil_and_a_sum_take_a_half_each(replays):
    """The adjoint of the stencil writes to neighbours, and leaves out the border."""
    these = fields(150, 301)

    def program(x, v, loss):
        @ti.kernel
        def kick():
            for i, j in ti.ndrange((1, 149), (1, 300)):
                v[i, j] += 0.1 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j])

        @ti.kernel
        def total():
            for i, j in x:
                loss[None] += x[i, j] * 0.5

        return [kick, lambda: drift(x, v)], total

    launches = check(taped(program, these), these[0], replays, every=2)
    assert "copy" not in launches
    taken = [rows for name, rows in launches if name != "total"]
    assert taken == [1] * 10  # five rows, in halves; behind the sweep the first one
    assert "copy" not in check(taped(program, these), these[0], replays)


def test_what_one_launch_cannot_take_stays_a_copy(replays):
    these = fields(N)
    launches = check(taped(oscillators, these), these[0], replays, after=[3] * 8 + [0])
    assert launches.count("copy") == 2
    assert max(one[1] for one in launches if one != "copy") == 2


def test_rows_at_any_place(replays):
    these = fields(N)
    tape = taped(oscillators, these)
    expected = tape.gradients(these[0]).values
    for ahead in (0, 1, 3, 7):
        memory = np.full(13 * N + 16, np.nan)
        out = memory[ahead : ahead + 13 * N].reshape(13, N)
        tape.gradients(these[0], out=out)
        tape.gradients(these[0], out=out)
        assert same([out], [expected])
        assert np.isnan(memory[:ahead]).all()
        assert np.isnan(memory[ahead + 13 * N :]).all()
    assert replays


def test_components_of_one_memory_are_told_apart(replays):
    """Two vectors' components lie in one memory: an adjoint that writes one touches the copy of all."""
    p = ti.Vector.field(2, ti.f64, shape=N, needs_grad=True, name="p")
    p.from_numpy(np.random.default_rng(0).normal(size=(N, 2)))
    loss = single("loss")

    @ti.kernel
    def turn():
        for i in p:
            p[i][0] += 0.5 * p[i][1]

    @ti.kernel
    def back():
        for i in p:
            p[i][1] -= 0.25 * p[i][0]

    @ti.kernel
    def total():
        for i in p:
            loss[None] += p[i][0] * 3

    with ti.Tape(loss) as tape:
        for _ in range(5):
            turn()
            back()
        total()
    check(tape, p, replays)


@pytest.mark.parametrize(
    "options", [{"cpu_max_num_threads": 1}, {"deterministic": True}, {"check_bounds": True}]
)
def test_other_settings(replays, options):
    ti.init(default_fp=ti.f64, **options)
    these = fields(N)
    check(taped(oscillators, these), these[0], replays)


def test_arguments_stand_before_the_places(replays):
    x, v, loss = fields(N)

    @ti.kernel
    def kick(k: ti.f64, n: ti.i32):
        for i in x:
            v[i] -= k * n * x[i]

    @ti.kernel
    def total():
        for i in x:
            loss[None] += v[i]

    with ti.Tape(loss) as tape:
        for t in range(9):
            kick(0.1 * t, t)
        total()
    assert "copy" not in check(tape, x, replays)


# Kernels whose adjoints go over all of a gradient, once,


@ti.kernel
def kick(x: ti.template(), v: ti.template(), k: ti.f64):
    for i in x:
        v[i] -= k * x[i]


@ti.kernel
def mix(x: ti.template(), v: ti.template(), w: ti.template()):
    for i in x:
        x[i] += 0.25 * v[i] - 0.125 * w[i]


@ti.kernel
def damp(x: ti.template(), k: ti.f64):
    for i in x:
        x[i] *= k


@ti.kernel
def some(x: ti.template(), w: ti.template()):
    for i in x:
        if i % 3 == 1:
            x[i] = 0.5 * w[i]


# and over a part of it, or more than once, or beyond their own element.


@ti.kernel
def spread(x: ti.template(), v: ti.template(), w: ti.template()):
    for i in range(1, N - 1):
        w[i] += 0.1 * (x[i - 1] - 2 * x[i] + v[i + 1])


@ti.kernel
def inner(x: ti.template(), w: ti.template()):
    for i in range(1, N - 2):
        x[i] += 0.5 * w[i]


@ti.kernel
def twice(x: ti.template(), v: ti.template()):
    for i in x:
        x[i] += 0.5 * v[i]
    for i in x:
        v[i] -= 0.5 * x[i]


@ti.kernel
def one(x: ti.template(), v: ti.template()):
    x[5] += v[7]


@ti.kernel
def summed(x: ti.template(), loss: ti.template()):
    for i in x:
        loss[None] += 0.01 * x[i]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(replays, seed):
    random = np.random.default_rng(seed)
    x, v, loss = fields(N)
    w = ti.field(ti.f64, shape=N, needs_grad=True, name="w")
    w.from_numpy(random.normal(size=N))
    calls = [
        (kick, x, v, 0.3),
        (mix, x, v, w),
        (damp, v, 0.9),
        (some, x, w),
        (spread, x, v, w),
        (inner, x, w),
        (twice, x, v),
        (one, x, v),
        (summed, x, loss),
    ]
    chosen = [calls[k] for k in random.integers(0, len(calls), 14)]

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] + 0.5 * v[i] - 0.25 * w[i]

    with ti.Tape(loss) as tape:
        for kernel, *args in chosen:
            kernel(*args)
        total()
    for f in (x, v, w):
        check(tape, f, replays)
        check(tape, f, replays, after=random.integers(0, len(chosen), 9).tolist())
