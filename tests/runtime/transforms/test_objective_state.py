"""Objectives and the state around them: what they put back, and what they must not remember."""

import copy
import functools
import pickle
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def weighted():
    """A cubic with a weight in a field, and one in an array."""
    x, y, c = ti.field(ti.f64, shape=2), ti.field(ti.f64, shape=()), ti.field(ti.f64, shape=())
    array = np.ones(1)

    @ti.kernel
    def cubic(a: ti.types.ndarray()):
        y[None] = a[0] * c[None] * x[0] ** 3 * x[1]

    @ti.kernel
    def count(a: ti.types.ndarray()):
        a[0] += 1.0

    x.from_numpy([1.0, 2.0])
    c[None] = 1.0
    return x, y, c, array, lambda: cubic(array), lambda: count(array)


@pytest.mark.slow
def test_products_follow_the_state():
    x, y, c, array, run, _ = weighted()
    f = ti.objective(run, wrt=x, loss=y)
    g = ti.residuals(run, wrt=x, out=y)
    direction = [1.0, 0.0]
    for factor in (1.0, 2.0, 6.0):
        np.testing.assert_allclose(f.hessp(f.x0, direction), factor * np.array([12.0, 3.0]))
        np.testing.assert_allclose(g.jac(f.x0).rmatvec([1.0]), factor * np.array([6.0, 1.0]))
        np.testing.assert_allclose(g(f.x0), factor * 2.0)
        if factor == 1.0:
            c[None] = 2.0
        else:
            array[0] = 3.0


def powers():
    """x to the power of 2ⁿ, where n is how often the function `square` of the result is called."""
    x, y = ti.field(ti.f64, shape=()), ti.field(ti.f64, shape=())
    x[None] = 1.1

    @ti.kernel
    def square():
        x[None] = x[None] * x[None]

    @ti.kernel
    def finish():
        y[None] += x[None]

    def times(n):
        for _ in range(n):
            square()
        finish()

    return x, y, times


def steps_in_a_field():
    steps = ti.field(ti.i32, shape=3)
    return lambda: steps[1], lambda n: steps.__setitem__(1, n)


def steps_in_a_vector():
    steps = ti.Vector.field(2, ti.i32, shape=2)
    return lambda: steps[0][1], lambda n: steps.__setitem__(0, [5, n])


def steps_in_an_array_of_a_field():
    steps = ti.field(ti.f64, shape=2)
    return lambda: int(steps.to_numpy()[0]), steps.fill


def steps_of_a_function():
    def read():
        return read.steps

    return read, lambda n: setattr(read, "steps", n)


@pytest.mark.parametrize(
    "made", [steps_in_a_field, steps_in_a_vector, steps_in_an_array_of_a_field, steps_of_a_function]
)
def test_products_follow_what_python_reads(made):
    x, y, times = powers()
    read, write = made()
    f = ti.objective(lambda: times(read()), wrt=x, loss=y)
    g = ti.residuals(lambda: times(read()), wrt=x, out=y)
    for n in (2, 3, 1):
        write(n)
        p = 2.0**n
        np.testing.assert_allclose(f.hessp([1.1], [1.0]), p * (p - 1) * 1.1 ** (p - 2))
        np.testing.assert_allclose(g.jac([1.1]).matvec([1.0]), p * 1.1 ** (p - 1))


def test_products_follow_random_numbers():
    x, y = ti.field(ti.f64, shape=3), ti.field(ti.f64, shape=())
    x.from_numpy([0.3, 0.5, 0.7])

    @ti.kernel
    def cubes():
        for i in x:
            y[None] += (0.5 + ti.random()) * x[i] ** 3

    @ti.kernel
    def draw():
        y[None] += ti.random()

    f = ti.objective(cubes, wrt=x, loss=y)
    for _ in range(3):
        gradient = f.gradient(f.x0)  # of cubes: 2 gradient / x is the second derivative
        np.testing.assert_allclose(f.hessp(f.x0, np.ones(3)), 2 * gradient / f.x0)
        draw()


def test_products_share_a_run_that_reads_what_it_writes():
    x, y, times = powers()
    count, seen = ti.field(ti.i32, shape=()), []

    @ti.kernel
    def one_more():
        count[None] += 1

    def run():
        one_more()
        times(2 * count[None])
        seen.append(0)

    f = ti.objective(run, wrt=x, loss=y)
    for _ in range(3):
        np.testing.assert_allclose(f.hessp([1.1], [1.0]), 12 * 1.1**2)
    assert len(seen) == 1


def test_products_at_one_point_share_a_run():
    x, y, _, _, run, _ = weighted()
    runs = []
    f = ti.objective(lambda: [runs.append(0), run()], wrt=x, loss=y)
    for direction in np.eye(2):
        f.hessp(f.x0, direction)
    assert len(runs) == 1
    f(f.x0)
    for direction in np.eye(2):
        f.hessp(f.x0, direction)
    assert len(runs) == 3  # after a value, products are of a new run


@pytest.mark.parametrize("kind", ["field", "array"])
@pytest.mark.parametrize("left", [5.0, np.nan])
def test_what_the_loss_held_before_is_no_part_of_it(kind, left):
    x, y, array = ti.field(ti.f64, shape=2), ti.field(ti.f64, shape=()), np.zeros(())

    @ti.kernel
    def into_field():
        for i in x:
            y[None] += (x[i] - 1.0) ** 2

    @ti.kernel
    def into_array(a: ti.types.ndarray()):
        for i in x:
            a[()] += (x[i] - 1.0) ** 2

    runs = []
    loss, add = (y, into_field) if kind == "field" else (array, lambda: into_array(array))
    loss.fill(left)
    f = ti.objective(lambda: [runs.append(0), add()], wrt=x, loss=loss)
    for _ in range(2):
        value, gradient = f(np.zeros(2))
        assert (value, gradient.tolist()) == (2.0, [-2.0, -2.0])
        assert f.hessp(np.zeros(2), [1.0, 0.0]).tolist() == [2.0, 0.0]
    assert len(runs) == 4
    np.testing.assert_array_equal(loss if kind == "array" else loss.to_numpy(), left)


@pytest.mark.parametrize("fails", [False, True])
def test_arrays_that_reset_writes_are_put_back(fails):
    x, y, _, array, run, count = weighted()

    def reset():
        count()
        if fails:
            raise ValueError("no")

    f = ti.objective(run, wrt=x, loss=y, reset=reset)
    for _ in range(2):
        if fails:
            with pytest.raises(ValueError, match="no"):
                f(f.x0)
        else:
            assert f(f.x0)[0] == 4.0
            np.testing.assert_allclose(f.hessp(f.x0, [1.0, 0.0]), [24.0, 6.0])
        assert array[0] == 1.0
    g = ti.objective(lambda: [count(), run()], wrt=array, loss=y, reset=count)
    assert g([5.0])[0] == 12.0
    assert array[0] == 1.0


def test_products_with_complex_vectors():
    x, y, _, _, run, _ = weighted()
    J = ti.linearize(run, wrt=x, out=y)
    v = np.array([1.0 + 2.0j, 3.0j])
    row = np.array([[6.0, 1.0]])
    np.testing.assert_allclose(J @ v, row @ v)
    np.testing.assert_allclose(J @ np.stack([v, 2 * v], 1), row @ np.stack([v, 2 * v], 1))
    np.testing.assert_allclose(J.rmatvec([1.0 + 2.0j]), row.T @ [1.0 + 2.0j])


FACTOR = 1.0


def scaled():
    """``y = a x³``, where a comes from Python."""
    x, y = ti.field(ti.f64, shape=1), ti.field(ti.f64, shape=())

    @ti.kernel
    def cubic(a: ti.f64):
        y[None] = a * x[0] ** 3

    x[0] = 1.0
    return x, y, cubic


class Flight:
    """A run that reads an attribute."""

    def __init__(self, cubic):
        self.factor, self.cubic = 1.0, cubic

    def run(self):
        self.cubic(self.factor)

    def __call__(self):
        self.cubic(self.factor)


def inputs_of_runs(cubic):
    """Runs that read a factor of Python's, each with the function that changes it."""
    factor, held, known, array = 1.0, SimpleNamespace(a=1.0), {"a": 1.0}, np.ones(1)
    flight, called = Flight(cubic), Flight(cubic)

    def change(value):
        nonlocal factor
        factor = value

    def inner():
        cubic(factor)

    def change_global(value):
        globals()["FACTOR"] = value

    yield inner, change
    yield lambda: inner(), change  # noqa: PLW0108 (a function that calls another one)
    yield lambda: cubic(FACTOR), change_global
    yield lambda: cubic(held.a), lambda value: setattr(held, "a", value)
    yield lambda: cubic(known["a"]), lambda value: known.update(a=value)
    yield lambda: cubic(float(array[0])), array.fill
    yield flight.run, lambda value: setattr(flight, "factor", value)
    yield called, lambda value: setattr(called, "factor", value)
    yield functools.partial(Flight.run, flight), lambda value: setattr(flight, "factor", value)


@pytest.mark.parametrize("number", range(9))
def test_products_follow_numbers_of_python(number):
    x, y, cubic = scaled()
    run, change = list(inputs_of_runs(cubic))[number]
    change(1.0)
    f = ti.objective(run, wrt=x, loss=y)
    g = ti.residuals(run, wrt=x, out=y)
    for factor in (1.0, 2.0, 5.0, 1.0):
        change(factor)
        assert f(f.x0)[0] == factor
        np.testing.assert_array_equal(f.hessp(f.x0, [1.0]), [6 * factor])
        np.testing.assert_array_equal(g.jac(f.x0).matvec([1.0]), [3 * factor])
        np.testing.assert_array_equal(g(f.x0), [factor])


def test_products_follow_numbers_that_kernels_know():
    x, y, _ = scaled()
    factor = 1.0

    @ti.kernel
    def cubic():
        y[None] = factor * x[0] ** 3

    f = ti.objective(cubic, wrt=x, loss=y)
    for factor in (1.0, 2.0):
        assert f(f.x0)[0] == factor
        np.testing.assert_array_equal(f.hessp(f.x0, [1.0]), [6 * factor])


GAIN = 1.0


class Gained:
    """A model whose methods launch kernels that read a variable of their module."""

    def __init__(self, x, y):
        @ti.kernel
        def cubic():
            y[None] = GAIN * x[0] ** 3 * x[1]

        self.cubic, self.calls = cubic, []

    def method(self):
        self.calls.append(0)
        self.cubic()

    @property
    def launched(self):
        return self.cubic()

    def __call__(self):
        self.cubic()


@pytest.mark.parametrize("how", ["method", "property", "call", "item", "getattr"])
def test_products_follow_what_methods_read(how, monkeypatch):
    x, y, *_ = weighted()
    model = Gained(x, y)
    table = {"run": model.method}
    run = {
        "method": lambda: model.method(),  # noqa: PLW0108
        "property": lambda: model.launched,
        "call": lambda: model(),  # noqa: PLW0108
        "item": lambda: table["run"](),  # noqa: PLW0108
        "getattr": lambda: getattr(model, "method")(),  # noqa: B009, PLW0108
    }[how]
    f = ti.objective(run, wrt=x, loss=y)
    for factor in (1.0, 5.0, 2.0):
        monkeypatch.setattr("tests.runtime.transforms.test_objective_state.GAIN", factor)
        for _ in range(2):
            assert f.hessp(f.x0, [1.0, 0.0]).tolist() == [12 * factor, 3 * factor]
    assert how != "method" or len(model.calls) == 3  # twice at one point share a run


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_they_are_not_copied(copied):
    x, y, cubic = scaled()
    run = lambda: cubic(1.0)  # noqa: E731
    for made in (ti.objective(run, wrt=x, loss=y), ti.residuals(run, wrt=x, out=y)):
        with pytest.raises(TypeError, match="an objective, or residuals, cannot be copied or pickled"):
            copied(made)
    with pytest.raises(TypeError, match="the Jacobian of a run cannot be copied or pickled"):
        copied(ti.linearize(run, wrt=x, out=y))


def test_gradients_of_another_thread_are_put_back():
    x = ti.field(ti.f64, shape=3, name="x", needs_grad=True)
    y = ti.field(ti.f64, shape=(), name="y", needs_grad=True)

    @ti.kernel
    def cube():
        for i in x:
            y[None] += x[i] ** 3

    x.fill(2.0)
    with ti.Tape(y):
        cube()
    f = ti.objective(cube, wrt=x, loss=y)
    thread = threading.Thread(target=f, args=(np.ones(3),))
    thread.start()
    thread.join()
    assert x.grad.to_numpy().tolist() == [12.0, 12.0, 12.0]
    assert y.grad[None] == 1.0
    with ti.Tape(y):
        cube()
    assert x.grad.to_numpy().tolist() == [12.0, 12.0, 12.0]
