"""Graphs in tapes: the second tape adds what the first one recorded, when it is the same."""

import threading

import numpy as np
import pytest

import dsim as ti
from dsim.runtime.launching.forms import Form
from tests.runtime.graphs.programs import in_place, in_time, put


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64, deterministic=True)


@pytest.fixture
def launched(monkeypatch):
    """The kernels that Python launches, by name."""
    names = []
    run = Form.run

    def noted(self, args):
        names.append(self.kernel.name)
        return run(self, args)

    monkeypatch.setattr(Form, "run", noted)
    return names


def scalars(*names, shape=()):
    return [ti.field(ti.f64, shape=shape, name=name, needs_grad=True) for name in names]


def gradients(run, program, **options):
    with ti.ad.Tape(program.loss, **options):
        run()
    return [f.grad.to_numpy().tobytes() for f in (*program.wrt, program.loss)]


def test_python_launches_nothing_from_the_second_tape_on(launched):
    program = in_time()
    put(program, 0)
    g = ti.graph(program.run)
    gradients(g, program)
    launched.clear()
    gradients(g, program)  # its sweep builds the table of adjoints
    assert not launched
    put(program, 1)
    launched.clear()
    found = gradients(g, program)
    assert not launched
    assert found == gradients(program.run, program)


def test_in_place_state_is_saved_each_time(launched):
    program = in_place()
    put(program, 0)
    g = ti.graph(program.run)
    for seed in (1, 2, 3):
        put(program, seed)
        expected = gradients(program.run, program)
        put(program, seed)
        launched.clear()
        assert gradients(g, program) == expected
        assert launched


def chain():
    """y is the product of x[0] and k, by way of x[1] to x[9]."""
    (x,) = scalars("x", shape=10)
    k, y = scalars("k", "y")

    @ti.kernel
    def step(t: ti.i32):
        x[t + 1] = k[None] * x[t]

    @ti.kernel
    def end():
        y[None] += x[9]

    g = ti.graph(lambda: [step(t) for t in range(9)])
    x[0], k[None] = 2.0, 1.5
    return x, k, y, g, end


def test_calls_before_that_read_what_it_writes():
    x, _, y, g, end = chain()

    @ti.kernel
    def square():
        y[None] += x[4] ** 2

    for before in (1.0, 2.0, 3.0):
        x[4] = before
        with ti.ad.Tape(y):
            square()  # reads what the graph overwrites
            g()
            end()
        assert x.grad[4] == 2 * before
        assert np.isclose(x.grad[0], 1.5**9)


def test_calls_behind_it_that_overwrite_what_it_reads():
    x, k, y, g, end = chain()

    @ti.kernel
    def clear():
        for i in x:
            x[i] = 0.0

    for _ in range(3):
        x[0] = 2.0
        with ti.ad.Tape(y) as tape:
            g()
            end()
            clear()
        assert np.isclose(k.grad[None], 2.0 * 9 * 1.5**8)
        assert tape.saved_bytes > 0


def test_twice_in_one_tape():
    x, k, y, g, end = chain()
    for _ in range(3):
        x[0] = 2.0
        with ti.ad.Tape(y):
            g()
            end()
            x[0] = 3.0
            g()
            end()
        assert np.isclose(k.grad[None], 5.0 * 9 * 1.5**8)


def test_another_choice_of_what_varies():
    x = ti.field(ti.f64, shape=10, name="x")
    k = ti.field(ti.f64, shape=(), name="k")
    (y,) = scalars("y")

    @ti.kernel
    def step(t: ti.i32):
        x[t + 1] = k[None] * x[t]

    @ti.kernel
    def end():
        y[None] = x[9] * x[0]

    g = ti.graph(lambda: [[step(t) for t in range(9)], end()])
    x[0], k[None] = 2.0, 1.5
    for wrt, expected in [(k, 9 * 4 * 1.5**8), (x, [4 * 1.5**9, *[0.0] * 9]), (k, 9 * 4 * 1.5**8)] * 2:
        assert np.allclose(ti.grad(g, wrt=wrt, out=y)(), expected)


def test_a_failed_launch_leaves_the_tape_without_gradient():
    x, y = scalars("x", "y")

    @ti.kernel
    def insist(t: ti.i32):
        assert x[None] > t
        y[None] += x[None]

    x[None] = 10.0
    g = ti.graph(lambda: [insist(t) for t in range(9)])
    for _ in range(2):
        with ti.ad.Tape(y):
            g()
        assert x.grad[None] == 9.0
    x[None] = 5.0
    with pytest.raises(ti.KernelAssertionError, match="an assertion failed"), ti.ad.Tape(y):
        g()
    with (
        pytest.raises(ti.GradientError, match="half of it has"),
        ti.ad.Tape(y),
        pytest.raises(ti.KernelAssertionError),
    ):
        g()
    x[None] = 10.0
    with ti.ad.Tape(y):
        g()
    assert x.grad[None] == 9.0


def test_overwrites_are_refused_under_validation():
    x, _, y, g, end = chain()

    @ti.kernel
    def square():
        y[None] += x[4] ** 2

    for _ in range(2):
        with ti.ad.Tape(y, validation=True):
            g()
            end()

    def overwritten():
        with ti.ad.Tape(y, validation=True):
            square()
            g()

    with pytest.raises(ti.AccessRuleError, match="x"):
        overwritten()


def test_the_calls_of_the_tape_are_those_of_the_run():
    program = in_time()
    put(program, 0)
    g = ti.graph(program.run)
    texts = []
    for run in (program.run, g, g, g):
        with ti.ad.Tape(program.loss) as tape:
            run()
        texts.append((repr(tape), [c.kernel for c in tape.calls], tape.gradient(program.wrt[1]).tobytes()))
    assert texts[0] == texts[1] == texts[2] == texts[3]


def test_two_threads_with_one_graph_do_not_mix():
    _, k, y, g, end = chain()
    with ti.ad.Tape(y):
        g()
        end()
    found = []

    def other():
        try:
            with ti.ad.Tape(y):
                g()
        except ti.GradientError as e:
            found.append(str(e))

    with ti.ad.Tape(y):
        g()
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        end()
    assert len(found) == 1
    assert "another thread" in found[0]
    assert np.isclose(k.grad[None], 2.0 * 9 * 1.5**8)
