"""A run that gives another loss when it is resumed: the best parameters are those of the run then."""

import numpy as np
import pytest

import dsim as ds
from dsim.optimization.told import numbers
from tests.optimization.programs import Steps, until


def moved(method, steps=200, **given):
    """Half the square of the distance to `goal`, 1 at first, plus a half; it is held in the second step."""
    x, y, goal = (ds.field(ds.f64, shape=(), name=n) for n in ("x", "y", "goal"))
    x[None], goal[None] = 3.0, 1.0

    @ds.kernel
    def run():
        y[None] = (x[None] - goal[None]) ** 4 + (x[None] - goal[None]) ** 2 + 0.5

    made = ds.optimize(run, x, y, method=method, steps=steps, progress=False, background=True, **given)
    return x, goal, made


@pytest.mark.parametrize("method", ["Adam", "descent", "L-BFGS-B", "trust-constr"])
@pytest.mark.parametrize("how", ["pause", "stop"])
def test_the_best_parameters_are_evaluated_again(method, how):
    held = Steps(2)
    rate = {"Adam": {"rate": 0.2}, "descent": {"rate": 0.01}}.get(method, {})
    x, goal, made = moved(method, callback=held, **rate)
    assert held.there.wait(60)
    made.stop(wait=False) if how == "stop" else made.pause()
    held.go_on.set()
    until(lambda: made.status in ("paused", "stopped"))
    goal[None] = 5.0
    made.resume()
    made.wait()
    assert made.status == "finished"
    np.testing.assert_allclose(x[None], 5.0, rtol=0.02)
    np.testing.assert_allclose(made.best.loss, 0.5, rtol=0.01)
    assert made.best.parameters == x[None]
    assert "evaluated again" in repr(made)
    assert f"best {made.best.loss:.6g}, gradient" in numbers(made, made.history)


def test_a_converged_method_begins_anew():
    x, goal, made = moved("L-BFGS-B")
    made.wait()
    goal[None] = -4.0
    made.resume(steps=100)
    made.wait()
    np.testing.assert_allclose((x[None], made.best.loss), (-4.0, 0.5), rtol=1e-4)


def test_what_is_as_it_was_is_not_said():
    _, _, made = moved("Adam", steps=3, rate=0.1)
    made.wait()
    made.resume(steps=2)
    made.wait()
    assert made.changed == ""
    assert "again" not in repr(made)
    assert list(made.history["step"]) == list(range(6))
