"""Runs with checkpoints under transforms: the same derivatives, in bounded memory."""

import tracemalloc

import numpy as np
import pytest

import dsim as ti

pytestmark = pytest.mark.slow

N, STEPS = 3, 23


@pytest.fixture(autouse=True)
def deterministic():
    ti.init(default_fp=ti.f64, deterministic=True)


class Pendulums:
    """A state in place, with a parameter, random numbers and a number from Python."""

    def __init__(self, n=N, steps=STEPS):
        self.q, self.p, self.k = (ti.field(ti.f64, shape=n, name=name) for name in "qpk")
        self.loss = ti.field(ti.f64, shape=(), name="loss")
        q, p, k, loss = self.q, self.p, self.k, self.loss

        @ti.kernel
        def swing(dt: float):
            for i in q:
                p[i] -= dt * k[i] * ti.sin(q[i]) + 0.01 * ti.random(ti.f64)
                q[i] += dt * p[i]

        @ti.kernel
        def end():
            loss[None] = 0.0
            for i in q:
                loss[None] += q[i] ** 3 + p[i]

        def run(loop):
            def called():
                loop(lambda t: swing(0.1 * (1 + t % 3)), steps)
                end()

            return called

        self.run = run
        q.from_numpy(np.linspace(0.5, 2.5, n))
        p.fill(0.25)
        k.from_numpy(np.linspace(1.0, 2.0, n))


def plain(step, n):
    for t in range(n):
        step(t)


def kept(step, n):
    ti.ad.checkpoint(step, n, slots=2)


def derivatives(program, loop):
    """All that transforms give, as arrays."""
    q, p, k, loss = program.q, program.p, program.k, program.loss
    run = program.run(loop)
    operator = ti.linearize(run, wrt=[q, k], out=[q, p])
    pull = ti.vjp(run, wrt=k, out=q)[1]
    f = ti.objective(run, wrt=[q, k], loss=loss)
    value, gradient = f(f.x0)
    found = [
        operator.rmatvec(np.arange(2.0 * N)),
        operator.matvec(np.arange(2.0 * N)),
        operator.rmatvec(np.ones(2 * N)),
        pull(np.ones(N)),
        pull(np.arange(1.0, N + 1)),
        ti.grad(run, wrt=k, out=loss)(),
        ti.jacobian(run, wrt=k, out=q),
        ti.hvp(run, wrt=q, out=loss, tangents=np.ones(N)),
        ti.hessian(run, wrt=q, out=loss),
        np.array(value),
        gradient,
        f.hessp(f.x0, np.ones(2 * N)),
    ]
    q.fill(1.5)  # later values do not matter
    found.append(operator.rmatvec(np.ones(2 * N)))
    q.from_numpy(np.linspace(0.5, 2.5, N))
    return found


def test_a_step_that_is_a_generator_is_refused():
    def step(t):
        yield t

    with pytest.raises(ti.GradientError, match="`step` returned a generator: what a function with `yield`"):
        ti.ad.checkpoint(step, 3)


def test_derivatives_are_those_without_checkpoints():
    program = Pendulums()
    before = [f.to_numpy() for f in (program.q, program.p, program.k, program.loss)]
    for found, want in zip(derivatives(program, kept), derivatives(program, plain), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-13)
    after = [f.to_numpy() for f in (program.q, program.p, program.k, program.loss)]
    for left, right in zip(before, after, strict=True):
        np.testing.assert_array_equal(left, right)


def peak(function):
    """The most bytes that were held at a time."""
    function()  # compiles
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("transform", ["grad", "linearize", "objective", "vjp"])
def test_memory_is_bounded(transform):
    program = Pendulums(20_000, 60)
    q, k, loss = program.q, program.k, program.loss

    def differentiate(loop):
        run = program.run(loop)
        if transform == "grad":
            ti.grad(run, wrt=k, out=loss)()
        elif transform == "objective":
            f = ti.objective(run, wrt=k, loss=loss)
            f(f.x0)
        elif transform == "linearize":
            ti.linearize(run, wrt=k, out=q).rmatvec(np.ones(20_000))
        else:
            ti.vjp(run, wrt=k, out=q)[1](np.ones(20_000))

    state = 2 * 8 * 20_000
    without = peak(lambda: differentiate(plain))
    found = peak(lambda: differentiate(kept))
    assert without > 28 * state  # the residuals of a step are half a state
    assert found < without - 20 * state


def test_steps_that_fail_leave_everything_as_it_was():
    program = Pendulums()
    before = program.q.to_numpy()

    def fails(step, n):
        def failing(t):
            step(t)
            if t == 7:
                raise KeyError("mine")

        ti.ad.checkpoint(failing, n, slots=2)

    with pytest.raises(KeyError, match="mine"):
        ti.linearize(program.run(fails), wrt=program.k, out=program.q)
    np.testing.assert_array_equal(program.q.to_numpy(), before)

    def caught(step, n):
        try:
            fails(step, n)
        except KeyError:
            step(0)

    def shorter(step, n):
        for t in (*range(8), 0):
            step(t)

    seed = np.ones(N)
    found, want = (
        ti.vjp(program.run(loop), wrt=program.k, out=program.q)[1](seed) for loop in (caught, shorter)
    )
    np.testing.assert_allclose(found, want, rtol=1e-13)
