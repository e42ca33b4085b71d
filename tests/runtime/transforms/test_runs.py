"""What is no run: functions that launch nothing when they are called, and those that need arguments."""

import asyncio
import copy
import functools
import pickle

import pytest

import dsim as ti
from dsim.diagnostics import GradientError


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@pytest.fixture
def program():
    """x, y, and a kernel with a factor."""
    x, y = (ti.field(ti.f64, shape=(), name=name, needs_grad=True) for name in "xy")

    @ti.kernel
    def scale(factor: ti.f64):
        y[None] = factor * x[None] ** 2

    x[None] = 3.0
    return x, y, scale


TRANSFORMS = [
    lambda run, x, y: ti.linearize(run, wrt=x, out=y),
    lambda run, x, y: ti.vjp(run, wrt=x, out=y),
    lambda run, x, y: ti.jvp(run, wrt=x, out=y, tangents=1.0),
    lambda run, x, y: ti.grad(run, wrt=x, out=y)(),
    lambda run, x, y: ti.jacobian(run, wrt=x, out=y),
    lambda run, x, y: ti.hessian(run, wrt=x, out=y),
    lambda run, x, y: ti.hvp(run, wrt=x, out=y, tangents=1.0),
    lambda run, x, y: ti.objective(run, wrt=x, loss=y)([3.0]),
    lambda run, x, y: ti.objective(lambda: None, wrt=x, loss=y, reset=run)([3.0]),
    lambda run, x, y: ti.residuals(run, wrt=x, out=y)([3.0]),
    lambda run, x, y: ti.check_grad(run, wrt=x, loss=y),
]


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_what_runs_later_is_no_run(program, transform):
    x, y, scale = program

    async def fly():
        scale(2.0)

    def steps():
        yield scale(2.0)

    async def ticks():
        yield scale(2.0)

    for run, what in (
        (fly, "`fly` returned a coroutine: what an `async def` launches"),
        (steps, "`steps` returned a generator: what a function with `yield` launches"),
        (ticks, "`ticks` returned an asynchronous generator"),
        (functools.partial(fly), "the run returned a coroutine"),
        (lambda: [fly()][0], "the run returned a coroutine"),
    ):
        with pytest.raises(GradientError, match=what) as error:
            transform(run, x, y)
        assert "help: make it a plain function" in str(error.value)
    assert (x[None], y[None]) == (3.0, 0.0)


def test_a_task_is_no_result_of_a_run(program):
    x, y, scale = program

    async def fly():
        scale(2.0)

    async def cell():
        with pytest.raises(GradientError, match="the run returned an awaitable: what a task launches"):
            ti.linearize(lambda: asyncio.ensure_future(fly()), wrt=x, out=y)

    asyncio.run(cell())


def test_a_run_may_use_up_a_generator_itself(program):
    x, y, scale = program

    def steps():
        for n in range(3):
            yield scale(float(n))

    assert ti.grad(lambda: list(steps()), wrt=x, out=y)() == 12.0


def test_decorated_functions_run_when_they_are_called(program):
    x, y, scale = program

    async def later():
        scale(2.0)

    r = ti.field(ti.f64, shape=())

    @ti.kernel
    def equation():
        r[None] = y[None] - x[None]

    replaced = ti.ad.grad_replaced(later)
    ti.ad.grad_for(replaced)(lambda: None)
    solve = ti.implicit(residual=(equation, r), unknown=y, wrt=x)(later)
    for function in (replaced, ti.no_grad(later), solve):
        with pytest.raises(GradientError, match="`later` returned a coroutine"), ti.Tape(y):
            function()
    unsolved = ti.implicit(residual=(later, r), unknown=y, wrt=x)(lambda: scale(2.0))
    with pytest.raises(GradientError, match="`later` returned a coroutine"), ti.Tape(y):
        unsolved()


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_what_cannot_be_called_is_no_run(program, transform):
    x, y, _ = program
    with pytest.raises(GradientError, match="a run is a kernel or a function without parameters, got int"):
        transform(3, x, y)


def test_the_result_of_a_run_is_no_run(program):
    x, y, scale = program
    with pytest.raises(GradientError, match="help: pass the function itself: `run`, not `run\\(\\)`"):
        ti.linearize(scale(2.0), wrt=x, out=y)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_run_has_no_parameters(program, transform):
    x, y, scale = program

    def fly(dt, steps, fast=False):
        scale(dt)

    with pytest.raises(GradientError, match="`fly` needs arguments, `dt`, `steps`, and a run") as error:
        transform(fly, x, y)
    assert "help: give values: `lambda: fly(dt, steps)`" in str(error.value)
    with pytest.raises(GradientError, match="the run needs an argument, `dt`"):
        transform(lambda dt: scale(2 * dt), x, y)
    with pytest.raises(TypeError, match="`scale` takes 1 argument"):
        transform(scale, x, y)


def test_it_is_said_where_the_transform_is_made(program):
    x, y, _ = program
    with pytest.raises(GradientError) as error:
        ti.grad(lambda dt: None, wrt=x, out=y)
    assert "ti.grad(lambda dt: None, wrt=x, out=y)" in str(error.value)


def test_all_that_can_be_called_without_arguments_is_a_run(program):
    x, y, scale = program

    def fly(factor=2.0, *more, **named):
        scale(factor)

    @functools.wraps(scale.function)
    def wrapped():
        scale(2.0)

    class Flight:
        def __call__(self):
            scale(2.0)

        def method(self):
            scale(2.0)

    for run in (fly, wrapped, Flight(), Flight().method, functools.partial(scale, 2.0)):
        assert ti.grad(run, wrt=x, out=y)() == 12.0


def test_an_error_inside_a_run_is_its_own(program):
    x, y, _ = program

    def inner(dt):
        return dt

    def fly():
        inner()

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'dt'") as error:
        ti.linearize(fly, wrt=x, out=y)
    assert not isinstance(error.value, GradientError)
    assert [frame.name for frame in error.traceback][-1] == "fly"


def test_the_residual_is_a_run(program):
    x, y, scale = program
    with pytest.raises(GradientError, match="the run needs an argument, `factor`"):
        ti.implicit(residual=(lambda factor: scale(2 * factor), y), unknown=x, wrt=[])


def test_a_solving_function_needs_no_argument_as_a_run(program):
    x, y, _ = program
    r = ti.field(ti.f64, shape=())

    @ti.kernel
    def equation():
        r[None] = y[None] - x[None]

    @ti.implicit(residual=(equation, r), unknown=y, wrt=x)
    def solve(steps):
        y[None] = x[None]

    with pytest.raises(GradientError, match="`solve` needs an argument, `steps`"):
        ti.grad(solve, wrt=x, out=y)
    assert ti.grad(lambda: solve(3), wrt=x, out=y)() == 1.0


def test_a_solving_function_is_copied_like_a_function(program):
    x, y, _ = program
    r = ti.field(ti.f64, shape=())
    solve = ti.implicit(residual=(lambda: None, r), unknown=y, wrt=x)(lambda: None)
    assert copy.copy(solve) is solve
    assert copy.deepcopy(solve) is solve
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(solve)
