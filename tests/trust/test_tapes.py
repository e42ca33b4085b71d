"""Uses of a tape: fields inside it, results of kernels, exceptions, nested tapes."""

import numpy as np
import pytest

import dsim as ti
from tests.trust.making import both_types, gradient, integers, numbers


@both_types
def test_a_field_in_between_without_a_gradient(real):
    x, middle, loss = numbers(start=3.0, real=real), numbers(real=real, needs_grad=False), numbers(real=real)

    @ti.kernel
    def first():
        middle[None] = 2.0 * x[None]

    @ti.kernel
    def second():
        loss[None] += middle[None]

    def run():
        first()
        second()

    assert gradient(loss, run, x) == 2.0


def test_a_result_of_a_kernel_as_the_loss_is_not_silent():
    x, loss = numbers(start=3.0), numbers()

    @ti.kernel
    def square() -> float:
        return x[None] ** 2

    def taped():
        with ti.ad.Tape(loss):
            loss[None] = square()

    with pytest.warns(ti.GradientWarning, match="`square` returns a value that depends on fields"):
        taped()


def test_a_value_read_into_python_is_not_silent():
    x, y, loss = numbers(start=3.0), numbers(), numbers()

    @ti.kernel
    def square():
        y[None] = x[None] ** 2

    @ti.kernel
    def use(v: float):
        loss[None] += v

    def taped():
        with ti.ad.Tape(loss):
            square()
            use(y[None])

    with pytest.warns(ti.GradientWarning, match="`y` is read into Python inside the tape"):
        taped()


@both_types
def test_an_exception_in_the_body(real):
    x, loss = numbers(start=3.0, real=real), numbers(real=real)
    x.grad[None] = 7.0

    @ti.kernel
    def run():
        loss[None] += x[None] ** 2

    def failing():
        with ti.ad.Tape(loss, clear_gradients=False):
            run()
            raise KeyError("a person's own")

    with pytest.raises(KeyError):
        failing()
    assert x.grad[None] == 7.0  # no backward pass
    assert gradient(loss, run, x) == 6.0  # and the next tape is as if there had been none


def test_a_read_out_of_bounds():
    x, y, loss, at = numbers(4, start=1.0), numbers(4), numbers(), integers(4, start=[0, 3, 7, 1])

    @ti.kernel
    def permute():
        for i in at:
            y[i] = x[at[i]] * 2.0

    @ti.kernel
    def add_up():
        for i in y:
            loss[None] += y[i]

    def taped():
        with ti.ad.Tape(loss):
            permute()
            add_up()

    with pytest.raises(ti.BoundsError) as error:
        taped()
    message = str(error.value)
    assert isinstance(error.value, IndexError)
    assert "index 7 is outside `x` of shape (4,)" in message
    assert "y[i] = x[at[i]] * 2.0" in message
    assert "test_tapes.py:" in message


def test_a_negative_index():
    x, loss = numbers(4, start=1.0), numbers()

    @ti.kernel
    def run():
        for i in x:
            loss[None] += x[i - 1]

    with pytest.raises(ti.BoundsError, match="index -1 is outside `x`"):
        gradient(loss, run, x)


@both_types
def test_outputs_of_any_shape_by_the_kernels_own_gradient(real):
    x, y = numbers(3, start=[1.0, 2.0, 3.0], real=real), numbers(3, 2, real=real)
    z = ti.Vector.field(2, real, shape=3, needs_grad=True)

    @ti.kernel
    def run():
        for i in x:
            y[i, 0] = x[i] ** 2
            y[i, 1] = x[i] * x[0]
            z[i] = ti.Vector([x[i], 2.0 * x[2]])

    y.grad.from_numpy(np.array([[1.0, 0.0], [0.5, 2.0], [0.0, 1.0]], y.dtype.numpy))
    z.grad.fill(1.0)
    run()
    run.grad()
    assert x.grad.to_numpy().tolist() == [2.0 + 2 * 2.0 + 3.0 + 1.0, 2.0 + 2.0 + 1.0, 1.0 + 1.0 + 6.0]


@both_types
def test_several_losses_of_one_kernel(real):
    x = numbers(4, start=[0.0, 1.0, 2.0, 3.0], real=real)
    loss, other = numbers(real=real), numbers(real=real)

    @ti.kernel
    def run():
        for i in x:
            loss[None] += x[i] ** 2
            other[None] += x[i]

    loss.grad[None] = 1.0
    other.grad[None] = 1.0
    run()
    run.grad()
    assert x.grad.to_numpy().tolist() == [1.0, 3.0, 5.0, 7.0]


@both_types
def test_a_tape_inside_a_tape(real):
    x, y, loss = numbers(start=2.0, real=real), numbers(real=real), numbers(real=real)

    @ti.kernel
    def cube():
        y[None] += x[None] ** 3

    @ti.kernel
    def slope_squared():
        loss[None] += x.grad[None] ** 2

    with ti.ad.Tape(loss):
        with ti.ad.Tape(y):
            cube()
        slope_squared()
    assert loss[None] == 144.0  # (3 x²)²
    assert x.grad[None] == 288.0  # 36 x³
    with ti.ad.Tape(y):
        cube()
    assert x.grad[None] == 12.0


@both_types
def test_a_kernel_that_prints_and_asserts_does_so_once(real, capfd):
    x, loss = numbers(start=3.0, real=real), numbers(real=real)

    @ti.kernel
    def run():
        print("x is", x[None])
        assert x[None] > 0
        loss[None] += x[None] ** 2

    assert gradient(loss, run, x) == 6.0
    assert capfd.readouterr().out.count("x is 3") == 1


def test_an_assertion_that_fails_stops_the_tape():
    x, loss = numbers(start=-3.0), numbers()

    @ti.kernel
    def run():
        assert x[None] > 0, "x must be positive"
        loss[None] += x[None] ** 2

    with pytest.raises(AssertionError, match="x must be positive"):
        gradient(loss, run, x)
    assert x.grad[None] == 0.0
