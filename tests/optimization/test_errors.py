"""Runs that fail, and losses that are not finite."""

import traceback

import numpy as np
import pytest

import dsim as ds
from dsim.diagnostics import GradientError, NonFiniteError
from tests.optimization.programs import endless, quadratic
from tests.stopping import ctrl_c, watched


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)
    with watched():
        yield


def logarithm():
    x, y = ds.field(ds.f64, shape=(), name="x"), ds.field(ds.f64, shape=(), name="y")
    x[None] = 1.0

    @ds.kernel
    def run():
        y[None] = ds.log(x[None])

    return x, y, run


def started(made):
    made.start()
    made.wait()


@pytest.mark.parametrize("background", [False, True])
def test_a_loss_that_is_not_finite(background, capsys):
    x, y, run = logarithm()
    made = ds.optimize(
        run, x, y, method="descent", rate=0.75, progress=False, start=False, background=background
    )
    with pytest.raises(
        NonFiniteError, match=r"(?s)the loss is nan in step 2\n.*made.start\(\).*help: a smaller"
    ):
        started(made)
    assert made.status == "failed"
    assert (x[None], made.best.parameters[()], made.done) == (0.25, 0.25, 1)
    assert y[None] == 0
    with pytest.raises(NonFiniteError, match="in step 2"):
        made.wait()


def test_a_gradient_that_is_not_finite_at_the_start():
    x, y = ds.field(ds.f64, shape=2, name="x"), ds.field(ds.f64, shape=(), name="y")

    @ds.kernel
    def run():
        for i in x:
            y[None] += ds.sqrt(x[i])

    with pytest.raises(NonFiniteError, match="2 of 2 numbers of the gradient are not finite at the start"):
        ds.optimize(run, x, y, progress=False)


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("method", ["L-BFGS-B", "TNC", "Adam", "trust-krylov"])
def test_an_error_of_the_run(background, method, capsys):
    x, y, run = quadratic()
    calls = []

    def failing():
        calls.append(None)
        run()
        if len(calls) == 4:
            raise ZeroDivisionError("of a person")

    made = ds.optimize(failing, x, y, method=method, progress=False, start=False, background=background)
    with pytest.raises(ZeroDivisionError, match="of a person") as caught:
        started(made)
    assert caught.traceback[-1].name == "failing"
    assert not [entry for entry in caught.traceback if "dsim/optimization" in str(entry.path)]
    assert (made.status, made.message) == ("failed", "ZeroDivisionError: of a person")
    np.testing.assert_array_equal(x.to_numpy(), made.best.parameters)
    if background:
        assert "raised in   " in capsys.readouterr().err
    made.resume()
    made.wait()
    assert made.status == "finished"


def test_an_error_of_a_callback():
    x, y, run = quadratic()
    with pytest.raises(ValueError, match="mine"):
        ds.optimize(run, x, y, progress=False, callback=lambda o: int("mine"))


def test_ctrl_c_ends_it_and_leaves_the_best():
    x, y, run = endless()
    made = ds.optimize(run, x, y, method="descent", rate=0.3, progress=False, start=False)
    with ctrl_c(), pytest.raises(KeyboardInterrupt):
        made.start()
    assert (made.status, made.done, x[None]) == ("stopped", 0, 1.0)
    assert made.best.loss == 1.0


def test_ctrl_c_while_one_waits_stops_the_thread():
    x, y, run = endless()
    made = ds.optimize(run, x, y, method="descent", rate=0.3, progress=False, background=True)
    made._ended.wait = interrupted(made._ended.wait)
    with pytest.raises(KeyboardInterrupt, match="descent: stopped, 0 of 100 steps") as found:
        made.wait()
    assert made.status == "stopped"
    assert "threading.py" not in "".join(traceback.format_exception(found.value))
    assert "threading.py" not in "\n".join(found.value._render_traceback_())


def interrupted(wait):
    calls = []

    def first(timeout=None):
        calls.append(None)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return wait(timeout)

    return first


@pytest.mark.parametrize("background", [False, True])
def test_a_field_that_the_loss_does_not_depend_on(background):
    x, y, run = quadratic()
    z = ds.field(ds.f64, shape=2, name="z")
    with pytest.warns(ds.GradientWarning, match="the gradient of `z` is 0: no call inside the run reads `z`"):
        ds.optimize(run, [x, z], y, progress=False, background=background).wait()
    ds.optimize(run, [x, z], y, free={z: False}, progress=False)


def test_a_loss_that_the_run_does_not_write():
    x, _, run = quadratic()
    z = ds.field(ds.f64, shape=(), name="z")
    warned = pytest.warns(ds.GradientWarning, match="the run does not write `z`: its derivative is 0")
    refused = pytest.raises(GradientError, match="the run does not write `z`")
    with warned as heard, refused as error:
        ds.optimize(run, x, z, progress=False)
    assert not [w for w in heard if "no call" in str(w.message)]
    assert all("name in `loss=` what" in str(said) for said in (error.value, heard[0].message))
