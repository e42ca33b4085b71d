"""A zero tangent without a path from the parameter to the loss is explained."""

import pytest

import dsim as ti
from tests.runtime.recording.unreached import Fields, told


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def forward(f, *calls, param=None):
    with ti.ad.FwdMode(loss=f.loss, param=param or f.x):
        for call in calls:
            call()


def test_a_tangent_that_no_call_leads_to():
    f = Fields()
    forward(f, f.double, f.use)
    message = told(lambda: f.loss.dual[None])
    assert "the tangent of `loss` along `x` is 0: no call inside the forward mode reads `x`" in message
    forward(f)
    message = told(lambda: f.loss.dual[None])
    assert "the tangent of `loss` along `x` is 0: no call inside the forward mode writes it" in message


def test_a_tangent_that_is_zero_by_its_value():
    f = Fields()
    f.x[None] = 0.0
    forward(f, f.square)
    assert f.loss.dual[None] == 0.0


@pytest.mark.filterwarnings("error")
def test_a_value_read_into_python_in_forward_mode():
    f = Fields()
    x, y = f.x, f.y

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    with pytest.warns(
        ti.GradientWarning, match="`y` is read into Python inside the forward mode: its tangent"
    ):
        forward(f, cube, lambda: f.use_value(y[None]))
    assert "`y`, which depends on `x`, was read into Python" in told(lambda: f.loss.dual[None])


@pytest.mark.filterwarnings("error")
def test_a_value_returned_in_forward_mode():
    f = Fields()
    x, loss = f.x, f.loss

    @ti.kernel
    def cube() -> float:
        return x[None] ** 3

    def run():
        loss[None] = cube()

    with pytest.warns(ti.GradientWarning, match="`cube` returns a value that depends on fields: its tangent"):
        forward(f, run)
    assert "`cube` returns a value that depends on `x` to Python" in told(lambda: loss.dual[None])
