"""A tape and its saved values are freed with its last reference, without Python's cyclic collector."""

import gc
import weakref

import numpy as np
import pytest

import dsim as ti
from dsim.runtime.fields import holders, storage
from dsim.runtime.state.pressure import Pressure
from tests.garbage import collector_off, left
from tests.notebook.cells import BODIES, empty, notebook
from tests.runtime.taping import single, swings

__all__ = ["empty", "notebook"]


@pytest.fixture(scope="module")
def s():
    ti.init(default_fp=ti.f64)
    return Swings()


class Swings:
    """A program that changes its state in place, and ways to differentiate it."""

    def __init__(self):
        self.q, self.p, self.loss, self.run = swings()
        self.norm = single("norm")

        @ti.kernel
        def norm():
            for i in self.q:
                self.norm[None] += self.q.grad[i] ** 2

        @ti.kernel
        def on_array(a: ti.types.ndarray()):
            for i in self.q:
                a[i] *= self.q[i]
                self.loss[None] += a[i] ** 2

        @ti.kernel
        def squares():
            for i in self.q:
                self.norm[None] += self.q[i] ** 2

        self.gradients, self.squares, self.on_array, self.array = norm, squares, on_array, np.ones(5)

    def start(self):
        self.q.from_numpy(np.linspace(0.5, 2.5, 5))
        self.p.from_numpy(np.linspace(-1.0, 1.0, 5))


def _forward(s, inner=lambda s: s.run()):
    with ti.ad.FwdMode(loss=s.loss, param=s.q, seed=[1.0] * 5):
        inner(s)


def _reverse(s, inner=lambda s: s.run(), **options):
    with ti.Tape(s.loss, **options) as tape:
        inner(s)
    return tape


def _looked_into(s):
    tape = _reverse(s, profile=True)
    tape.profile(again=True)
    tape.backward(2.0)
    tape.gradient(s.q, after=1)
    return str(tape), str(tape.calls), str(tape.saved), list(tape.calls)


def _around(s, inner, end):
    with ti.Tape(s.norm):
        inner(s)
        end()


def _raised(s, fails, error, **options):
    with pytest.raises(error):
        _reverse(s, lambda s: (s.run(), fails(s)), **options)


def _on_arrays(s):
    with pytest.warns(ti.GradientWarning):
        s.on_array(s.array)
    s.on_array(s.array)


def _from_python(s):
    s.q[2] = 1.0
    s.q.copy_from(s.p)
    s.p.from_numpy(np.ones(5))
    s.run()


@ti.ad.grad_replaced
def _replaced(s):
    s.run()


@ti.ad.grad_for(_replaced)
def _replaced_backward(s):
    s.q.grad.fill(1.0)


def _steps(s):
    with ti.Tape(s.loss) as tape:
        for _ in tape.steps(range(9), slots=2):
            s.run()
    return tape


def _not_reached(s):
    raise AssertionError


def _opens_another(s):
    ti.Tape(s.norm).__enter__()
    s.run()
    raise ZeroDivisionError


WAYS = {
    "tape": _reverse,
    "find_nan": lambda s: _reverse(s, find_nan=True),
    "profile": lambda s: _reverse(s, profile=True),
    "grad_check": lambda s: _reverse(s, grad_check=[s.q]),
    "looked into": _looked_into,
    "forward mode": _forward,
    "tape in a tape": lambda s: _around(s, _reverse, s.gradients),
    "tape in forward mode": lambda s: _forward(s, _reverse),
    "forward mode in a tape": lambda s: _around(s, _forward, s.squares),
    "NumPy arrays": lambda s: _reverse(s, _on_arrays),
    "steps": _steps,
    "steps in forward mode": lambda s: _forward(s, _steps),
    "steps in a tape": lambda s: _around(s, _steps, s.gradients),
    "within a budget": lambda s: _reverse(s, budget=260),
    "from Python": lambda s: _reverse(s, _from_python),
    "a gradient of one's own": lambda s: _reverse(s, _replaced),
    "check_grad": lambda s: ti.check_grad(s.run, wrt=[s.q], loss=s.loss, order=2),
    "the body raised": lambda s: _raised(s, lambda s: 1 / 0, ZeroDivisionError),
    "refused": lambda s: _raised(s, _not_reached, ti.AccessRuleError, on_overwrite="error"),
    "over budget": lambda s: _raised(s, _not_reached, ti.GradientError, budget=10),
    "left open": lambda s: _raised(s, _opens_another, ZeroDivisionError),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_nothing_is_left_in_cycles(s, way):
    def program():
        s.start()
        way(s)

    assert left(program) == {}


def test_shadow_arrays_of_earlier_programs_are_not_taken_in_turn(s):
    """Each context that met one of them again would drop what others kept in it."""

    @ti.kernel
    def add(a: ti.types.ndarray()):
        for i in s.q:
            s.loss[None] += a[i] * s.q[i]

    with ti.Tape(s.loss):
        for array in np.ones((8, 5)):
            add(array)
    for _ in range(6):
        assert left(lambda: _reverse(s, _on_arrays)) == {}


@pytest.mark.parametrize("options", [{}, {"find_nan": True}, {"profile": True}, {"grad_check": True}])
def test_saved_values_go_with_the_last_name(s, options):
    options = {name: [s.q] if name == "grad_check" else value for name, value in options.items()}
    with collector_off():
        tape = _reverse(s, **options)
        values = [weakref.ref(saved.values) for saved in tape.snapshots.all]
        kept = weakref.ref(tape)
        assert values
        assert all(v() is not None for v in values)
        record, report = tape.calls[0], tape.saved  # these are copies
        del tape
        assert kept() is None
        assert {v() for v in values} == {None}
        assert (record.kernel, len(report) > 0) == ("swing", True)


def test_the_sequence_of_calls_keeps_its_tape(s):
    with collector_off():
        calls = _reverse(s).calls
        tape = weakref.ref(calls._record)
        assert len(calls) == 8
        assert tape() is not None
        del calls
        assert tape() is None


def test_an_error_keeps_no_tape(s):
    with collector_off():
        error = None
        try:
            with ti.Tape(s.loss) as tape:
                s.run()
                s.q[7] = 1.0
        except IndexError as found:
            error = found
        kept = weakref.ref(tape)
        del tape
        assert kept() is None
        assert "index 7 is outside `q`" in str(error)


@pytest.mark.slow
def test_reports_leave_no_tape_each(notebook):
    notebook.good(BODIES)
    cell = "%%kernel --loss U --wrt y\ndef en():\n    for i in y:\n        U[None] += ds.sin(y[i])"
    with collector_off():
        counts = []
        for _ in range(4):
            notebook.good(cell)
            counts.append(sum(type(o) is ti.Tape for o in gc.get_objects()))
    assert counts[1:] == counts[:1] * 3  # the last ones are kept, for `%tape`


def test_the_collector_runs_when_fields_take_much_memory():
    ran = []
    pressure = Pressure(100)

    def note(phase, info):
        if phase == "stop":
            ran.append(info["generation"])

    gc.callbacks.append(note)
    try:
        pressure.add(99, lambda: 0)
        assert 2 not in ran
        pressure.add(1, lambda: 1000)  # as much as that is left
        assert ran.count(2) == 1
        pressure.add(999, lambda: 0)
        assert ran.count(2) == 1
        gc.disable()
        pressure.add(1, lambda: 0)
        assert ran.count(2) == 1
    finally:
        gc.enable()
        gc.callbacks.remove(note)


def test_fields_with_gradients_do_not_pile_up(monkeypatch):
    gc.collect()
    least = max(1 << 18, 2 * holders.in_use())  # the fields of other tests may be alive
    monkeypatch.setattr(storage, "PRESSURE", Pressure(least))
    fields = []
    for _ in range(40):
        x = ti.field(ti.f64, shape=least >> 8, needs_grad=True)  # a sixteenth of it together
        fields.append(weakref.ref(x))
    del x
    assert sum(f() is not None for f in fields) < 20


def test_forms_that_nobody_holds_go_while_an_evaluation_runs():
    x, loss = ti.field(ti.f64, shape=(), needs_grad=True), ti.field(ti.f64, shape=(), needs_grad=True)

    def left_in_a_cycle():
        @ti.kernel
        def double():
            x[None] *= 2.0

        double()
        return weakref.ref(double.primal)

    @ti.kernel
    def add():
        loss[None] += x[None]

    def run():
        add()
        gc.collect()
        found.append(form())

    gc.disable()
    try:
        form, found = left_in_a_cycle(), []
        assert form() is not None
        assert ti.value_and_grad(run, wrt=x, out=loss)()[1] == 1.0
    finally:
        gc.enable()
    assert found == [None]
