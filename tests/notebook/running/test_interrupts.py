"""An interrupt at any time during a report restores every field."""

import signal
import threading

import pytest

from dsim.notebook.report.watched import Inspector
from dsim.notebook.running import runs
from dsim.runtime.kernels.kernel import Kernel
from dsim.runtime.kernels.watching import Watching
from dsim.runtime.recording.write_history import Trial
from dsim.runtime.state.interruption import heard, held
from tests.stopping import ctrl_c

BEND = """%%kernel bend --loss U --wrt y --check
for i in y:
    y[i] = y[i] * y[i]
    v[i][1] = y[i]
for i in y:
    U[None] += y[i] ** 3"""


def interrupt():
    signal.raise_signal(signal.SIGINT)


def interrupting(monkeypatch, kind, name, at, after=False):
    """Interrupts the call number `at` of a method, before or after it; gives a list of all calls."""
    method, calls = getattr(kind, name), []

    def call(self, *args, **named):
        calls.append(name)
        if len(calls) == at and not after:
            interrupt()
        result = method(self, *args, **named)
        if len(calls) == at and after:
            interrupt()
        return result

    monkeypatch.setattr(kind, name, call)
    return calls


@pytest.fixture
def state(notebook):
    """The bits of all fields and gradients of a notebook in which something has happened."""
    names = notebook.names
    notebook.good("U[None] = 2.5\ny.grad.fill(7.0)\nx.grad.fill(8.0)")
    notebook.good("%%kernel cubes\nfor i in y:\n    U[None] += y[i] ** 3")
    notebook.good("with ds.Tape(U) as earlier:\n    cubes()\nslope = y.grad.to_numpy()")

    def bits(gradients=True):
        fields = [names[n] for n in ("x", "y", "v", "U")]
        fields += [names[n].grad for n in ("x", "y", "U")] if gradients else []
        return [f.require_memory().tobytes() for f in fields]

    return bits


MOMENTS = [
    (Kernel, "__call__", 1, False),  # the launch under the tape
    (Kernel, "__call__", 1, True),
    (Kernel, "__call__", 2, False),  # the launches that are compared
    (Kernel, "__call__", 20, True),
    (Watching, "__call__", 1, False),
    (Watching, "__call__", 1, True),
    (Trial, "undo", 1, False),  # while fields are put back
    (Trial, "undo", 1, True),
    (Trial, "undo", 2, False),
    (Trial, "__init__", 1, True),
    (Trial, "__init__", 3, True),
]


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS, ids=str)
def test_every_field_is_as_it_was(notebook, state, monkeypatch, moment):
    before = state()
    calls = interrupting(monkeypatch, *moment)
    ran = notebook.run(BEND)
    monkeypatch.undo()
    assert len(calls) >= moment[2]
    assert isinstance(ran.error, KeyboardInterrupt)
    assert not [b for b in ran.bundles if "bend" in str(b)]
    assert ran.stdout.count("KeyboardInterrupt: the cell was stopped") == 1
    done = moment not in MOMENTS[:2] and moment[1:3] != ("__init__", 1)  # the gradient, which stays
    assert state(gradients=not done) == before[: 4 if done else 7]
    notebook.names["earlier"].backward()
    assert (notebook.names["y"].grad.to_numpy() == notebook.names["slope"]).all()
    notebook.good(BEND)
    assert state(gradients=False) == before[:4]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_while_a_slider_moves(notebook, state, monkeypatch):
    made = []
    taped = runs.taped
    monkeypatch.setattr(runs, "taped", lambda *args: made.append(args) or taped(*args))
    notebook.good(BEND)
    before = state()
    kernel, args, loss, _, _ = made[0]
    inspector = Inspector(kernel.primal, kernel, args, loss, [])
    interrupting(monkeypatch, Watching, "__call__", 1)
    with pytest.raises(KeyboardInterrupt):
        inspector.look((3,))
    assert state() == before
    assert inspector.look((3,)).probe == (3,)
    assert state() == before


def within(*calls):
    """Calls these while interrupts are held."""
    with held(raises=True):
        for call in calls:
            call()


def test_interrupts_are_held_and_heard():
    told = []
    with pytest.raises(KeyboardInterrupt):
        within(
            interrupt,
            lambda: told.append("held"),
            lambda: within(interrupt),
            lambda: told.append("inner"),
            heard,
            lambda: told.append("not reached"),
        )
    assert told == ["held", "inner"]
    with pytest.raises(KeyboardInterrupt):
        within(interrupt)
    within(heard)
    heard()
    with pytest.raises(KeyboardInterrupt):
        interrupt()


def test_an_error_inside_comes_first():
    with pytest.raises(ZeroDivisionError):
        within(interrupt, lambda: 1 / 0)
    heard()


def test_other_threads_hear_no_interrupts():
    found = []

    def work():
        with held(raises=True):
            heard()
            found.append("done")

    with held(raises=True):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == ["done"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "ends", ["U[None] += y[0]", "while y[0] > 0:\n    y[0] = 0.5 + y[0] / 2\nU[None] += y[0]"]
)
def test_a_report_is_stopped_inside_of_a_launch(notebook, state, ends):
    before = state()
    cell = f"%%kernel forever --loss U --wrt y\nfor i in y:\n    y[i] = 2 * y[i]\n{ends}"
    if "while" not in ends:
        cell += "\nfor i in y:\n    while y[i] > 0:\n        y[i] = 0.5 + y[i] / 2"
    with ctrl_c():
        ran = notebook.run(cell)
    assert isinstance(ran.error, KeyboardInterrupt)
    assert ran.stdout.strip() == "KeyboardInterrupt: the cell was stopped"
    assert state() == before
    notebook.good(BEND)
    assert state(gradients=False) == before[:4]


@pytest.mark.slow
def test_a_launch_that_is_stopped_shows_the_persons_line(notebook):
    notebook.good("@ds.kernel\ndef up():\n    while U[None] >= 0:\n        U[None] = 1 - U[None]")
    with ctrl_c():
        ran = notebook.run("n = 1\nup()")
    assert isinstance(ran.error, KeyboardInterrupt)
    told = "KeyboardInterrupt: `up` was stopped before its end\ncalled from cell In[4]:2: up()\n"
    assert ran.stdout == told
