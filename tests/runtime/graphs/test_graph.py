"""Graphs repeat runs bit for bit: values, and derivatives in every mode, on numbers of any moment."""

import os
import threading

import numpy as np
import pytest

import dsim as ti
from tests.bench.cases.structures import springs
from tests.runtime.graphs.programs import PROGRAMS, put


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64, deterministic=True)


def numbers(program):
    return [f.to_numpy().tobytes() for f in program.fields]


def taped(run, program, **options):
    with ti.ad.Tape(program.loss, **options):
        run()
    return numbers(program), [f.grad.to_numpy().tobytes() for f in program.wrt]


@pytest.mark.parametrize("make", PROGRAMS)
def test_it_does_what_the_run_does(make):
    program = make()
    put(program, 0)
    g = ti.graph(program.run)
    for seed in (1, 2):
        put(program, seed)
        program.run()
        expected = numbers(program)
        put(program, seed)
        g()
        assert numbers(program) == expected


@pytest.mark.parametrize("make", PROGRAMS)
@pytest.mark.parametrize("options", [{}, {"clear_gradients": False}, {"find_nan": True}, {"profile": True}])
def test_gradients_are_those_of_the_run(make, options):
    program = make()
    put(program, 0)
    g = ti.graph(program.run)
    for seed in (1, 2, 3):
        found = []
        for run in (program.run, g):
            for f in program.wrt:
                f.grad.fill(0.25)
            put(program, seed)
            found.append(taped(run, program, **options))
        assert found[0] == found[1]


@pytest.mark.parametrize("make", PROGRAMS)
def test_tangents_are_those_of_the_run(make):
    program = make()
    put(program, 0)
    g = ti.graph(program.run)
    found = []
    for run in (program.run, g):
        put(program, 1)
        x = program.wrt[0]
        with ti.ad.FwdMode(loss=program.loss, param=x, seed=np.linspace(1, 2, x.to_numpy().size)):
            run()
        found.append((numbers(program), program.loss.dual.to_numpy().tobytes()))
    assert found[0] == found[1]


@pytest.mark.parametrize("make", PROGRAMS)
def test_second_derivatives_are_those_of_the_run(make):
    program = make()
    put(program, 1)
    g = ti.graph(program.run)
    x = program.wrt[0]
    direction = np.linspace(1, 2, x.to_numpy().size).reshape(x.to_numpy().shape)
    found = []
    for run in (program.run, g):
        put(program, 2)
        found.append(ti.hvp(run, wrt=x, out=program.loss, tangents=direction).tobytes())
    assert found[0] == found[1]


def test_it_is_used_by_transforms_and_in_steps():
    program = PROGRAMS[0]()
    put(program, 1)
    g = ti.graph(program.run)
    x = program.wrt[0]
    put(program, 2)
    J, K = (ti.jacobian(run, wrt=x, out=program.loss) for run in (program.run, g))
    assert J.tobytes() == K.tobytes()
    found = []
    for run in (program.run, g):
        put(program, 3)
        with ti.ad.Tape(program.loss) as tape:
            for _ in tape.steps(range(7), slots=2):
                run()
        found.append([f.grad.to_numpy().tobytes() for f in program.wrt])
    assert found[0] == found[1]


def test_a_tape_lists_the_launches():
    program = PROGRAMS[0]()
    g = ti.graph(program.run)
    found = []
    for run in (program.run, g):
        put(program, 1)
        with ti.ad.Tape(program.loss) as tape:
            run()
        x = program.wrt[0]
        found.append(([c.kernel for c in tape.calls], str(tape), tape.gradient(x, after=3).tobytes()))
    assert found[0] == found[1]


def test_springs():
    run, loss, length = springs(side=6, steps=40)
    g = ti.graph(run)
    found = []
    for f in (run, g):
        with ti.ad.Tape(loss):
            f()
        found.append((loss[None], length.grad.to_numpy().tobytes()))
    assert found[0] == found[1]
    assert found[0][0] > 0


def test_graphs_in_graphs_see_what_has_changed():
    x = ti.field(ti.f64, shape=())
    count = 2

    @ti.kernel
    def add():
        x[None] += 1.0

    def run():
        for _ in range(count):
            add()

    inner = ti.graph(run)
    outer = ti.graph(lambda: (inner(), inner()))
    x[None] = 0.0
    outer()
    assert x[None] == 4.0
    assert outer.launches == 4
    count = 3
    with pytest.raises(ti.LaunchError, match=r"`count` has changed since the graph was recorded"):
        outer()
    assert x[None] == 4.0


def test_threads_run_one_graph_at_once():
    x = ti.field(ti.i64, shape=64)

    @ti.kernel
    def add(k: ti.i32):
        for _ in range(1):
            x[k] += k

    def run():
        for _ in range(50):
            for k in range(64):
                add(k)

    g = ti.graph(run)
    graphs = [ti.graph(lambda k=k: [add(k) for _ in range(500)]) for k in range(4)]
    x.fill(0)
    threads = [threading.Thread(target=lambda f=f: [f() for _ in range(20)]) for f in graphs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert x.to_numpy()[:5].tolist() == [0, 10_000, 20_000, 30_000, 0]
    x.fill(0)
    together = ti.graph(lambda: add(1))
    threads = [threading.Thread(target=together) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert x[1] > 0
    g()
    assert x[63] == 50 * 63


def test_a_tape_of_another_thread_sees_nothing_of_it():
    x, y, z = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(3))

    @ti.kernel
    def square():
        y[None] += x[None] ** 2

    @ti.kernel
    def other():
        z[None] += 1.0

    g = ti.graph(other)
    x[None] = 3.0
    with ti.ad.Tape(y) as tape:
        thread = threading.Thread(target=g)
        thread.start()
        thread.join()
        square()
    assert z[None] == 2.0
    assert x.grad[None] == 6.0
    assert [c.kernel for c in tape.calls] == ["square"]


def test_a_forked_child_runs_it():
    x = ti.field(ti.f64, shape=1000)

    @ti.kernel
    def add(k: ti.f64):
        for i in x:
            x[i] += k

    g = ti.graph(lambda: [add(k) for k in range(20)])
    g()
    expected = x.to_numpy() + 190
    child = os.fork()
    if child == 0:
        code = 1
        try:
            g()
            code = 0 if (x.to_numpy() == expected).all() else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    g()
    assert (x.to_numpy() == expected).all()


def test_the_reference_backend(monkeypatch):
    from dsim.runtime.state import settings

    settings.change(settings.Settings(default_fp=ti.f64, backend="reference"))
    program = PROGRAMS[0]()
    put(program, 1)
    g = ti.graph(program.run)
    found = []
    for run in (program.run, g):
        put(program, 2)
        found.append(taped(run, program))
    assert found[0] == found[1]


def test_prints_and_fills_keep_their_places(capfd):
    x = ti.field(ti.i32, shape=())

    @ti.kernel
    def show():
        print("x is", x[None])

    @ti.kernel
    def double():
        x[None] *= 2

    def run():
        double()
        show()
        x[None] = 5
        double()
        double()
        show()

    g = ti.graph(run)
    x[None] = 3
    capfd.readouterr()
    g()
    assert capfd.readouterr().out == "x is 6\nx is 20\n"


def test_an_empty_run():
    g = ti.graph(lambda: None)
    g()
    assert repr(g).endswith("0 launches of no kernels>")
