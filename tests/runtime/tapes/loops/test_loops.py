"""Loops with checkpoints have the gradients of loops without: bit for bit, in bounded memory."""

import gc

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single

pytestmark = pytest.mark.filterwarnings("ignore:warning.unreached:dsim.GradientWarning")
quiet = pytest.mark.filterwarnings("ignore:warning.cut:dsim.GradientWarning")

SLOTS = (1, 2, 3, 7, 100)


@pytest.fixture(autouse=True)
def deterministic():
    ti.init(default_fp=ti.f64, deterministic=True)


class Program:
    """Fields, a step, what comes after the loop, and how the fields begin."""

    def __init__(self, loss, fields, step, end, start):
        self.loss, self.fields, self.step, self.end, self.start = loss, fields, step, end, start

    def state(self):
        floats = [f for f in self.fields if f.dtype in (ti.f32, ti.f64)]
        return [f.to_numpy().tobytes() for f in self.fields] + [f.grad.to_numpy().tobytes() for f in floats]

    def plain(self, steps):
        self.start()
        with ti.Tape(self.loss):
            for t in range(steps):
                self.step(t)
            self.end()
        return self.state()

    def stepped(self, items, **options):
        self.start()
        with ti.Tape(self.loss) as tape:
            for t in tape.steps(items, **options):
                self.step(t)
            self.end()
        return tape, self.state()


def squares(x, loss):
    """A kernel that adds the squares of `x` to the loss."""

    @ti.kernel
    def end():
        for i in x:
            loss[None] += x[i] ** 2

    return end


def oscillator(real=ti.f64, n=3):
    """State in place, with a number of Python's that changes from step to step."""
    q, p = (ti.field(real, shape=n, needs_grad=True, name=name) for name in "qp")
    loss = ti.field(real, shape=(), needs_grad=True, name="loss")

    @ti.kernel
    def swing(dt: float):
        for i in q:
            p[i] -= dt * ti.sin(q[i])
            q[i] += dt * p[i]

    @ti.kernel
    def end():
        for i in q:
            loss[None] += q[i] ** 3

    def start():
        q.from_numpy(np.linspace(0.5, 2.5, n, dtype=np.float32).astype(q.to_numpy().dtype))
        p.fill(0.25)

    return Program(loss, (q, p, loss), lambda t: swing(0.1 * (1 + t % 3)), end, start)


def temporary(real=ti.f64, n=4):
    """A field between two kernels, which every step overwrites; a counter; random numbers; an index."""
    x, f, w = (ti.field(real, shape=n, needs_grad=True, name=name) for name in "xfw")
    count = ti.field(ti.i32, shape=(), name="count")
    loss = ti.field(real, shape=(), needs_grad=True, name="loss")

    @ti.kernel
    def forces():
        for i in x:
            f[i] = ti.sin(x[i]) * w[i] + 0.1 * ti.random(real)

    @ti.kernel
    def move():
        count[None] += 1
        for i in x:
            x[i] += 0.1 * f[i] * f[(i + count[None]) % n]

    @ti.kernel
    def end():
        for i in x:
            loss[None] += x[i] * f[i] * count[None]

    def start():
        ti.init(default_fp=ti.f64, deterministic=True, random_seed=7)
        x.from_numpy(np.linspace(0.5, 2.5, n).astype(x.to_numpy().dtype))
        w.fill(0.7)
        count[None] = 2

    def step(t):
        forces()
        move()

    return Program(loss, (x, f, w, count, loss), step, end, start)


def vectors():
    """Matrices and vectors in place."""
    x = ti.Vector.field(2, ti.f64, shape=3, needs_grad=True, name="x")
    m = ti.Matrix.field(2, 2, ti.f64, shape=3, needs_grad=True, name="m")
    loss = single("loss")

    @ti.kernel
    def turn():
        for i in x:
            x[i] = m[i] @ x[i] + ti.sin(x[i])
            m[i] *= 0.99

    @ti.kernel
    def end():
        for i in x:
            loss[None] += x[i].dot(x[i])

    def start():
        x.from_numpy(np.linspace(0.1, 0.6, 6).reshape(3, 2))
        m.from_numpy(np.linspace(-0.5, 0.6, 12).reshape(3, 2, 2))

    return Program(loss, (x, m, loss), lambda t: turn(), end, start)


def trajectory(n=3, most=40):
    """A row for each step: nothing of it is overwritten."""
    x = ti.field(ti.f64, shape=(most + 1, n), needs_grad=True, name="x")
    loss = single("loss")

    @ti.kernel
    def ahead(t: int):
        for i in range(n):
            x[t + 1, i] = x[t, i] + 0.1 * ti.sin(x[t, (i + 1) % n])

    @ti.kernel
    def end():
        for t, i in x:
            loss[None] += x[t, i] ** 2 * (t + 1)

    def start():
        x.from_numpy(np.outer(np.arange(most + 1) == 0, np.linspace(0.5, 2.5, n)))

    return Program(loss, (x, loss), ahead, end, start)


def from_python(n=3):
    """Python writes elements, whole fields and arrays in each step, and fills."""
    x, force = (ti.field(ti.f64, shape=n, needs_grad=True, name=name) for name in ("x", "force"))
    loss = single("loss")

    @ti.kernel
    def push():
        for i in x:
            x[i] += 0.1 * force[i] * ti.cos(x[i])

    @ti.kernel
    def end():
        for i in x:
            loss[None] += x[i] ** 2 + force[i] * x[i]

    def start():
        x.from_numpy(np.linspace(0.5, 2.5, n))
        force.fill(0.1)

    def step(t):
        force.from_numpy(np.sin(np.arange(n) + t))
        push()
        if t % 3 == 1:
            x[1] = 0.3 * t
        if t % 4 == 2:
            force.fill(0.5)
            push()
        force.copy_from(x)
        push()

    return Program(loss, (x, force, loss), step, end, start)


def arrays(n=3):
    """NumPy arrays, which Python changes between the steps and kernels write to."""
    x = ti.field(ti.f64, shape=n, needs_grad=True, name="x")
    loss = single("loss")
    wind, trace = np.zeros(n), np.zeros(n)

    @ti.kernel
    def push(wind: ti.types.ndarray(), trace: ti.types.ndarray()):
        for i in x:
            trace[i] += x[i]
            x[i] += 0.1 * wind[i] * ti.cos(x[i]) + 0.01 * trace[i]

    def start():
        x.from_numpy(np.linspace(0.5, 2.5, n))
        trace[:] = 0.25

    def step(t):
        wind[:] = np.cos(np.arange(n) * t)
        if t % 3 == 0:
            trace[0] = t
        push(wind, trace)

    return Program(loss, (x, loss), step, squares(x, loss), start)


def replaced(n=3):
    """A function with a gradient of its own in each step."""
    x, y = (ti.field(ti.f64, shape=n, needs_grad=True, name=name) for name in "xy")
    loss = single("loss")

    @ti.kernel
    def sines():
        for i in x:
            y[i] = ti.sin(x[i])

    @ti.kernel
    def half_cosines(t: int):
        for i in x:
            x.grad[i] += 0.5 * (1 + t % 2) * ti.cos(x[i]) * y.grad[i]
            y.grad[i] = 0.0

    @ti.kernel
    def move():
        for i in x:
            x[i] += 0.3 * y[i] * x[i]

    @ti.ad.grad_replaced
    def ahead(t):
        sines()

    @ti.ad.grad_for(ahead)
    def back(t):
        half_cosines(t)

    def step(t):
        ahead(t)
        move()

    return Program(loss, (x, y, loss), step, squares(x, loss), lambda: x.from_numpy(np.linspace(0.5, 1.1, n)))


PROGRAMS = {
    "oscillator": oscillator,
    "f32": lambda: oscillator(ti.f32),
    "temporary": temporary,
    "temporary f32": lambda: temporary(ti.f32),
    "vectors": vectors,
    "trajectory": trajectory,
    "from Python": from_python,
    "arrays": arrays,
    "grad_replaced": replaced,
}


@pytest.mark.slow
@quiet
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("steps", [1, 2, 5, 17])
def test_the_gradient_is_that_of_the_loop(name, steps):
    program = PROGRAMS[name]()
    plain = program.plain(steps)
    for slots in SLOTS:
        tape, found = program.stepped(range(steps), slots=slots)
        assert found == plain
        if name != "arrays" and name != "grad_replaced":
            tape.backward(1.0)
            assert program.state() == plain
        assert program.stepped(iter(range(steps)), slots=slots)[1] == plain


@pytest.mark.parametrize("name", ["oscillator", "temporary", "trajectory", "grad_replaced"])
def test_on_disk(name, tmp_path):
    program = PROGRAMS[name]()
    plain = program.plain(17)
    tape, found = program.stepped(range(17), slots=3, directory=tmp_path)
    assert found == plain
    assert len(list(tmp_path.iterdir())) == 1
    del tape
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_a_budget_in_bytes():
    program = oscillator(n=1000)
    plain = program.plain(60)
    for budget in ("100kB", 100_000, "0.2 MiB"):
        tape, found = program.stepped(range(60), budget=budget)
        assert found == plain
        assert tape.saved_bytes <= (100_000 if budget != "0.2 MiB" else 209_715)
        assert program.stepped(iter(range(60)), budget=budget)[1] == plain
