"""`bit_cast` stops the gradient: both modes report it. `stop_grad` from Python stops that of whole fields."""

import warnings

import numpy as np
import pytest

import dsim as ti
from tests.refused import refused
from tests.runtime.taping import single, taped


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def _inverse_root():
    """x, y and a kernel ``y ≈ 1 / sqrt(x)`` from a guess by bits; and one with the guess stopped."""
    x, y = single("x"), single("y")
    x[None] = 2.0

    @ti.func
    def refined(v, guess):
        return guess * (1.5 - 0.5 * v * guess * guess)

    @ti.kernel
    def quick():
        bits = ti.bit_cast(ti.cast(x[None], ti.f32), ti.i32)
        guess = ti.cast(ti.bit_cast(0x5F3759DF - (bits >> 1), ti.f32), ti.f64)
        y[None] = refined(x[None], guess)

    @ti.kernel
    def stopped():
        bits = ti.bit_cast(ti.cast(ti.stop_grad(x[None]), ti.f32), ti.i32)
        guess = ti.cast(ti.bit_cast(0x5F3759DF - (bits >> 1), ti.f32), ti.f64)
        y[None] = refined(x[None], guess)

    return x, y, quick, stopped


def test_a_tape_says_that_bits_are_taken():
    _, y, quick, _ = _inverse_root()
    with pytest.warns(ti.GradientWarning) as said:
        taped(y, quick)
    (one,) = said
    message = str(one.message)
    assert message.startswith("warning[cut]: `bit_cast` of a number that has a gradient: the bits have none")
    assert "bits = ti.bit_cast(ti.cast(x[None], ti.f32), ti.i32)\n" in message
    assert "^^^ its derivative ends here" in message
    assert message.endswith("help: compute with the number itself, or write `stop_grad` around it")
    assert y[None] == pytest.approx(2**-0.5, rel=2e-3)


def test_forward_mode_says_so_too():
    x, y, quick, _ = _inverse_root()

    def run():
        with ti.ad.FwdMode(loss=y, param=x):
            quick()
            quick()

    with pytest.warns(ti.GradientWarning, match="`bit_cast` of a number that has a tangent") as said:
        run()
    assert len(said) == 1


def test_nothing_is_said_of_bits_of_what_is_stopped():
    x, y, _, stopped = _inverse_root()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        taped(y, stopped)
    guess = 2**-0.5  # nearly
    assert x.grad[None] == pytest.approx(-0.5 * guess**3, rel=0.1)


def test_the_shape_of_an_entry_is_no_reading(recwarn):
    v = ti.Vector.field(2, ti.f64, shape=2, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def measure():
        loss[None] += v[1].x ** 2

    v[1] = [2.0, 0.0]
    with ti.Tape(loss):
        assert (v[1].n, v[1].m, v[1].ndim, v[1].shape, len(v[1])) == (2, 1, 1, (2,), 2)
        v[1].y = 3.0
        measure()
    assert v.grad[1].to_list() == [4.0, 0.0]
    assert not recwarn.list


STOPPED = {
    "a component of a field": lambda v: v.get_scalar_field(0),
    "list": lambda v: [v],
    "tuple": lambda v: (v, v),
    "dict": lambda v: {"v": v},
    "a NumPy array": lambda v: v.to_numpy(),
}


@pytest.mark.parametrize("stop", [ti.stop_grad, ti.ad.stop_grad])
@pytest.mark.parametrize("kind", STOPPED)
@pytest.mark.filterwarnings("ignore::dsim.GradientWarning")  # the array is read into Python
def test_what_stop_grad_cannot_stop_is_refused(kind, stop):
    v, loss = ti.Vector.field(2, ti.f64, shape=3, needs_grad=True), single("loss")
    for block in (lambda: ti.Tape(loss), lambda: ti.FwdMode(loss, v, seed=np.ones((3, 2)))):

        def act(block=block):
            with block():
                stop(STOPPED[kind](v))

        refused(act, f"`stop_grad` applies to a whole field, got {kind}\n", __file__)


def test_stop_grad_of_numbers_does_nothing():
    x, loss = single("x"), single("loss")
    for value in (1.0, True, np.float32(2.0), None):
        assert ti.stop_grad(value) is value
    assert ti.stop_grad([x]) == [x]
    with ti.FwdMode(loss, x):
        for value in (1.0, np.float32(2.0), ti.Vector([1.0, 2.0])):
            assert ti.stop_grad(value) is value
