"""What recorded launches alone would not repeat is refused, at the person's line."""

from types import SimpleNamespace

import numpy as np
import pytest

import dsim as ti

RATE = 1.0
COUNT = 0


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def program():  # noqa: C901 (six kernels)
    x, y = (ti.field(ti.f64, shape=n, name=name, needs_grad=True) for n, name in ((3, "x"), ((), "y")))

    @ti.kernel
    def add(k: ti.f64):
        for i in x:
            x[i] += k

    @ti.kernel
    def measure():
        for i in x:
            y[None] += x[i] ** 2

    @ti.kernel
    def first() -> ti.f64:
        return x[0]

    @ti.kernel
    def draw():
        for i in x:
            x[i] = ti.random()

    @ti.kernel
    def load(a: ti.types.ndarray(ti.f64, 1)):
        for i in x:
            x[i] += a[i]

    @ti.kernel
    def scaled():
        for i in x:
            x[i] *= RATE

    return SimpleNamespace(**locals())


def read(p):
    p.add(1.0 if p.y[None] > 0 else 2.0)


def read_component(p):
    p.add(p.x[1])


def read_all(p):
    p.add(p.x.to_numpy().sum())


def returns(p):
    p.add(p.first())


def draws(p):
    p.draw()


def takes_an_array(p):
    p.load(np.ones(3))


def writes_an_array(p):
    p.x.from_numpy(np.ones(3))


def assigns(p):
    global COUNT  # noqa: PLW0603
    COUNT += 1
    p.add(COUNT)


def looks_up(p):
    p.add(globals()["RATE"])


NAMES = globals


def looks_up_by_another_name(p):
    p.add(NAMES()["RATE"])


def executes(p):
    exec("p.add(RATE)")


def evaluates(p):
    p.add(eval("RATE"))


def opens_a_tape(p):
    with ti.ad.Tape(p.y):
        p.measure()


def goes_back(p):
    p.measure()
    p.measure.grad()


def clears(p):
    p.x.grad.fill(0.0)


def sorts(p):
    ti.algorithms.parallel_sort(p.x)


def differentiates(p):
    ti.jacobian(p.measure, wrt=p.x, out=p.y)


def changes_what_it_uses(p):
    p.rate = getattr(p, "rate", 0.0) + 1.0
    p.add(p.rate)


def custom(p):
    @ti.ad.grad_replaced
    def inner():
        p.add(1.0)

    @ti.ad.grad_for(inner)
    def backward():
        pass

    inner()


@pytest.mark.parametrize(
    ("does", "says"),
    [
        (read, "Python reads `y` during the run"),
        (read_component, "Python reads `x` during the run"),
        (read_all, "Python reads `x` during the run"),
        (returns, "`first` returns a number to Python"),
        (draws, "`draw` draws random numbers"),
        (takes_an_array, "`load` is given the NumPy array `a`"),
        (writes_an_array, "Python writes an array to `x` during the run"),
        (assigns, "`assigns` assigns `COUNT`"),
        (looks_up, "`looks_up` calls `globals`"),
        (evaluates, "`evaluates` calls `eval`"),
        (executes, "`executes` calls `exec`"),
        (looks_up_by_another_name, "the run calls `NAMES`"),
        (opens_a_tape, "by a tape or forward mode inside the run"),
        (goes_back, r"works with `\w\.grad`"),
        (clears, "works with `x.grad`"),
        (sorts, "computes in Python"),
        (differentiates, "Python reads"),
        (changes_what_it_uses, "the run changes `p`"),
        (custom, "`inner` has a backward pass in Python"),
    ],
)
def test_refused(does, says):
    p = program()

    def run():
        p.add(1.0)
        does(p)

    with pytest.raises(ti.LaunchError, match=f"(?s){says}.*help:") as caught:
        ti.graph(run)
    (found,) = caught.value.diagnostics
    assert found.code == "graph"
    assert found.span.source.name.endswith("test_refused_graphs.py")


def test_other_functions_of_such_names_are_none_that_look_up():
    p = program()
    p.eval = lambda: 1.0

    def globals():
        return 1.0

    def run():
        p.add(globals() + p.eval())

    ti.graph(run)()


def test_what_a_kernel_captured_changes_during_the_run(monkeypatch):
    p = program()
    module = globals()

    def run():
        p.scaled()
        module.update(RATE=module["RATE"] * 0.5)
        p.scaled()

    kept = RATE
    with pytest.raises(ti.LaunchError, match="the run changes `RATE`, which `scaled` captured"):
        ti.graph(run)
    module["RATE"] = kept


def test_not_in_a_block():
    p = program()
    with pytest.raises(ti.LaunchError, match="recorded inside the block"), ti.ad.Tape(p.y):
        ti.graph(p.measure)


@pytest.mark.parametrize("run", [None, 3, lambda k: None])
def test_not_a_run(run):
    with pytest.raises(ti.GradientError, match="a run is"):
        ti.graph(run)


def test_a_captured_number_has_changed(monkeypatch):
    p = program()
    g = ti.graph(p.scaled)
    g()
    monkeypatch.setitem(globals(), "RATE", 2.0)
    before = p.x.to_numpy()
    with pytest.raises(ti.LaunchError, match=r"(?s)`RATE` has changed since.*help: record it again"):
        g()
    assert (p.x.to_numpy() == before).all()
    h = ti.graph(p.scaled)
    p.x.fill(1.0)
    h()
    assert p.x[0] == 2.0


def test_a_number_captured_by_a_kernel_in_a_list_has_changed(monkeypatch):
    p = program()
    kernels = [p.scaled]
    g = ti.graph(lambda: [k() for k in kernels])
    monkeypatch.setitem(globals(), "RATE", 2.0)
    with pytest.raises(ti.LaunchError, match="`RATE` has changed"):
        g()


def test_what_the_run_uses_has_changed():
    p = program()
    n = 3
    step = p.measure

    def run():
        for _ in range(n):
            step()

    g = ti.graph(run)
    n = 4
    with pytest.raises(ti.LaunchError, match="`n` has changed"):
        g()
    n = 3
    g()
    step = p.scaled
    with pytest.raises(ti.LaunchError, match="`step` has changed"):
        g()


def test_other_settings():
    p = program()
    g = ti.graph(p.measure)
    ti.init(default_fp=ti.f32)
    with pytest.raises(ti.LaunchError, match=r"(?s)has changed the settings|dropped by"):
        g()


def test_fields_that_are_gone():
    p = program()
    g = ti.graph(p.measure)
    ti.reset()
    ti.init(default_fp=ti.f64)
    with pytest.raises(ti.LaunchError, match="was dropped by `reset"):
        g()


def test_a_run_that_fails_leaves_no_context_open():
    p = program()

    def run():
        p.measure()
        raise ValueError("here")

    with pytest.raises(ValueError, match="here"):
        ti.graph(run)
    p.y[None] = 0.0
    with ti.ad.Tape(p.y):
        p.measure()


def test_graphs_are_not_copied():
    import pickle

    with pytest.raises(TypeError, match="a graph"):
        pickle.dumps(ti.graph(program().measure))
