"""Sweeps that fill rows work in gradients of their own: those that a user sees keep their numbers."""

import numpy as np
import pytest

import dsim as ti
from dsim.runtime.fields.aliases import address
from dsim.runtime.fields.memory_places import PAGE
from dsim.runtime.launching.native_replay import NativeReplay
from dsim.runtime.recording.record import TapeRecord
from dsim.runtime.sweeping import private_gradients
from tests.runtime.taping import same


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


class Decay:
    """A linear program of six steps."""

    def __init__(self, n=8):
        self.x, self.v = (ti.field(ti.f64, shape=n, needs_grad=True, name=name) for name in "xv")
        self.loss = ti.field(ti.f64, shape=(), needs_grad=True, name="loss")
        x, v, loss = self.x, self.v, self.loss

        @ti.kernel
        def slow():
            for i in x:
                v[i] = 0.5 * v[i] - 0.25 * x[i]

        @ti.kernel
        def drift():
            for i in x:
                x[i] += 0.125 * v[i]

        @ti.kernel
        def total():
            for i in x:
                loss[None] += (i + 1) * x[i]

        self.kernels = slow, drift, total
        x.from_numpy(np.linspace(0.1, 1.0, n))

    @property
    def gradients(self):
        return self.x.grad, self.v.grad, self.loss.grad

    def tape(self, again=1):
        slow, drift, total = self.kernels
        with ti.Tape(self.loss) as tape:
            for _ in range(6):
                slow()
                drift()
            total()
        for _ in range(again):
            tape.gradients(self.x)
        return tape


@pytest.fixture
def private(monkeypatch):
    """The memory of each sweep that had gradients of its own."""
    found = []
    run_on = NativeReplay.run_on

    def noted(self, memory, rows):
        found.append(list(memory))
        run_on(self, memory, rows)

    monkeypatch.setattr(NativeReplay, "run_on", noted)
    return found


def test_the_gradients_that_a_user_sees_are_not_written_to(monkeypatch):
    program = Decay()
    tape = program.tape()
    expected = [tape.gradient(program.x, after=n) for n in range(13)]
    kept = [g.to_numpy() for g in program.gradients]
    run_on = NativeReplay.run_on

    def beside(self, memory, rows):
        for g in program.gradients:
            g.require_memory().fill(np.nan)
        run_on(self, memory, rows)
        assert all(np.isnan(g.require_memory()).all() for g in program.gradients)
        for g, values in zip(program.gradients, kept, strict=True):
            g.require_memory()[...] = values

    monkeypatch.setattr(NativeReplay, "run_on", beside)
    for _ in range(3):
        assert same(tape.gradients(program.x), expected)
    assert same([g.to_numpy() for g in program.gradients], kept)


@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_rows_of_vectors_and_matrices(private, shape):
    numbers, make = not shape, (ti.field, ti.Vector.field, ti.Matrix.field)[len(shape)]
    x = make(*shape, ti.f32, shape=7, needs_grad=True)
    loss = ti.field(ti.f32, shape=(), needs_grad=True)

    @ti.kernel
    def grow():
        for i in x:
            x[i] *= 1.5

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] if ti.static(numbers) else x[i].sum()

    with ti.Tape(loss) as tape:
        for _ in range(9):
            grow()
        total()
    for _ in range(3):
        found = tape.gradients(x)
    assert len(private) == 2
    powers = [np.float32(1.5) ** n for n in range(8, -1, -1)]
    assert same(found.values, [np.full((7, *shape), p, np.float32) for p in (*powers, np.float32(0))])


def test_memory_serves_again_where_the_result_does(private):
    program = Decay()
    tape = program.tape(2)
    out = np.empty((13, 8))
    for _ in range(3):
        tape.gradients(program.x, out=out)
    addresses = [[m.ctypes.data for m in memory] for memory in private]
    assert addresses[-1] == addresses[-2] == addresses[-3]


def test_few_begin_at_pages_and_halves_of_pages(private, monkeypatch):
    program = Decay()
    tape = program.tape(2)
    places = [address(m) % PAGE for m in private[-1]]
    assert set(places) == {0, PAGE // 2}
    monkeypatch.setattr(private_gradients, "_FEW", 2)
    found = tape.gradients(program.x, out=np.empty((13, 8)))
    where = {address(m) % PAGE for m in private[-1]}
    assert where == {address(g.require_memory()) % PAGE for g in program.gradients}
    assert same(found, [tape.gradient(program.x, after=n) for n in range(13)])


def test_a_tape_that_uses_gradients_as_values_is_still_right(private):
    """No gradient changes: a tape whose kernels read one can go backwards after a sweep of another one."""
    program = Decay()
    first = program.tape(2)
    square = ti.field(ti.f64, shape=(), needs_grad=True, name="square")
    w = ti.field(ti.f64, shape=8, needs_grad=True, name="w")
    g = program.x.grad

    @ti.kernel
    def weigh():
        for i in w:
            square[None] += w[i] * g[i]

    with ti.Tape(square, clear_gradients=False) as second:
        weigh()
    first.gradients(program.x)
    assert len(private) == 2
    second.backward()
    assert same([w.grad.to_numpy()], [2 * g.to_numpy()])  # added to


def test_a_sweep_that_is_stopped_leaves_gradients_alone(monkeypatch):
    program = Decay()
    tape = program.tape(2)
    expected = tape.gradients(program.x).values.copy()
    kept = [g.to_numpy() for g in program.gradients]

    def stopped(self, memory, rows):
        memory[0].fill(7.0)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(NativeReplay, "run_on", stopped)
        with pytest.raises(KeyboardInterrupt):
            tape.gradients(program.x)
    assert same([g.to_numpy() for g in program.gradients], kept)
    assert same(tape.gradients(program.x), expected)
    tape.backward()
    assert same([g.to_numpy() for g in program.gradients], kept)


def launches(record: TapeRecord):
    return [(entry.adjoint.form, entry.args) for entry in reversed(record.entries)]


def test_only_all_gradients_together_can_move():
    program = Decay()
    found = launches(program.tape())
    all_of_them = program.gradients
    assert NativeReplay(found, all_of_them).moving == all_of_them
    assert NativeReplay(found, all_of_them[1:]).moving == ()  # the launches write to the first
    assert NativeReplay(found, (*all_of_them, all_of_them[0])).moving == ()  # two in one place
    assert NativeReplay(found).moving == ()


def test_gradients_that_share_memory_with_another_field_stay():
    program = Decay()
    found = launches(program.tape())
    w = ti.field(ti.f64, shape=7, needs_grad=True)
    w.buffer = program.v.grad.require_memory()[1:]

    @ti.kernel
    def touch():
        for i in w:
            program.loss[None] += w[i]

    with ti.Tape(program.loss) as tape:
        touch()
    other = tape.entries[0].adjoint
    assert NativeReplay([*found, (other.form, ())], (*program.gradients, w.grad)).moving
    assert NativeReplay([*found, (other.primal, ())], program.gradients).moving == ()


def test_launches_that_python_takes_part_in_stay():
    program = Decay()
    x, loss = program.x, program.loss

    @ti.kernel
    def say():
        for i in x:
            loss[None] += x[i]
        print("said")

    with ti.Tape(loss) as tape:
        say()
    found, printing = launches(program.tape()), tape.entries[0].adjoint.primal
    assert NativeReplay([*found, (printing, ())], program.gradients).moving == ()
