"""Tapes, reports and cells beside an optimisation in its thread: both are right, or one is refused."""

import numpy as np
import pytest

import dsim as ds
from dsim.diagnostics import GradientError
from tests.optimization.programs import Steps, until


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


def both():
    """Fields, a loss that is never below 1, and another kernel that adds 5 to the same one."""
    x, p = ds.field(ds.f64, 3, name="x", needs_grad=True), ds.field(ds.f64, 5, name="p", needs_grad=True)
    y = ds.field(ds.f64, shape=(), name="y", needs_grad=True)
    p.fill(1.0)

    @ds.kernel
    def run():
        for i in x:
            y[None] += (x[i] - 1) ** 2 + 1 / 3

    @ds.kernel
    def other():
        for i in p:
            y[None] += p[i] ** 2

    return x, y, run, other


def test_a_tape_between_two_evaluations_is_refused_and_the_optimisation_goes_on():
    x, y, run, other = both()
    held = Steps(2)
    made = ds.optimize(run, x, y, method="Adam", steps=50, callback=held, progress=False, background=True)
    assert held.there.wait(60)
    with pytest.raises(GradientError) as refused, ds.Tape(y):
        other()
    assert "an optimisation that is still running in another thread uses `y`" in str(refused.value)
    assert "test_beside_others.py" in str(refused.value)
    held.go_on.set()
    made.wait()
    assert made.status == "finished"
    with ds.Tape(y):
        other()
    assert y[None] == 5.0


def test_reports_take_turns_with_evaluations():
    x, y, run, other = both()
    made = ds.optimize(run, x, y, method="Adam", rate=1e-5, steps=10**7, progress=False, background=True)
    until(lambda: made.done > 3)
    for _ in range(40):
        assert ds.report(other, loss=y).loss == 5.0
        assert np.array_equal(ds.report(other, loss=y).gradients["p"], np.full(5, 2.0))
    assert made.status == "running"
    made.stop()
    best = ((made.best.parameters - 1) ** 2 + 1 / 3).sum()
    np.testing.assert_allclose(made.best.loss, best, rtol=1e-12)
    assert made.history["loss"].min() == made.best.loss


X = Y = None


@ds.kernel
def named():
    for i in X:
        Y[None] += (X[i] - 1) ** 2 + 1 / 3


def made_again(what):
    """As by a cell that is executed again, while an optimisation works on the fields of before."""
    held = Steps(3)
    globals().update(X=ds.field(ds.f64, 3, name="X"), Y=ds.field(ds.f64, shape=(), name="Y"))
    x, y = X, Y
    made = ds.optimize(named, x, y, method="Adam", steps=50, callback=held, progress=False, background=True)
    assert held.there.wait(60)
    shape = {"X": 3, "Y": ()}
    globals().update({name: ds.field(ds.f64, shape[name], name=name) for name in what})
    held.go_on.set()
    return x, made


@pytest.mark.parametrize(
    ("what", "message"),
    [("XY", "does not write `Y`"), ("Y", "does not write `Y`"), ("X", "does not use `X`")],
)
@pytest.mark.filterwarnings("ignore:warning.cut:dsim.GradientWarning")
def test_a_run_that_takes_other_fields_of_the_same_names(what, message):
    x, made = made_again(what)
    with pytest.raises(GradientError, match=f"the run {message} any longer") as error:
        made.wait()
    assert "help: a cell that made fields of these names again? then call `ds.optimize` again" in str(
        error.value
    )
    assert made.status == "failed"
    best = ((made.best.parameters - 1) ** 2 + 1 / 3).sum()
    assert made.best.loss == pytest.approx(best, rel=1e-12)
    assert x.to_numpy().tolist() == made.best.parameters.tolist()


def test_one_of_several_parameters_that_is_another_field_now():
    globals().update(X=ds.field(ds.f64, 3, name="X"), Y=ds.field(ds.f64, shape=(), name="Y"))
    k, x, y = ds.field(ds.f64, shape=(), name="k"), X, Y
    held = Steps(3)

    @ds.kernel
    def more():
        Y[None] += (k[None] - 2) ** 2

    def run():
        named()
        more()

    made = ds.optimize(
        run, [x, k], y, method="Adam", steps=20, callback=held, progress=False, background=True
    )
    assert held.there.wait(60)
    globals().update(X=ds.field(ds.f64, 3, name="X"))
    held.go_on.set()
    with pytest.warns(ds.GradientWarning, match="the run does not use `X` any longer: its gradient is 0"):
        made.wait()
