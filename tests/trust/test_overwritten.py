"""State that changes in place: the backward pass uses the values before the overwrites."""

import math

import numpy as np
import pytest

import dsim as ti
from tests.trust.making import Program, both_types, check, fill, gradient, integers, numbers

pytestmark = pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")


@both_types
def test_a_value_read_and_then_overwritten_in_one_kernel(real):
    x, b, loss = numbers(2, start=1.0, real=real), numbers(start=10.0, real=real), numbers(real=real)

    @ti.kernel
    def run():
        loss[None] = x[1] * b[None]
        b[None] += 100

    assert gradient(loss, run, x) == [0.0, 10.0]
    assert b[None] == 110.0


@both_types
def test_a_value_read_and_then_overwritten_by_the_next_kernel(real):
    x, b, loss = numbers(2, start=1.0, real=real), numbers(start=10.0, real=real), numbers(real=real)

    @ti.kernel
    def read():
        loss[None] = x[1] * b[None]

    @ti.kernel
    def change():
        b[None] += 100

    def run():
        read()
        change()

    assert gradient(loss, run, x) == [0.0, 10.0]
    assert b[None] == 110.0


@both_types
def test_a_value_read_and_then_overwritten_by_python(real):
    x, b, loss = numbers(2, start=1.0, real=real), numbers(start=10.0, real=real), numbers(real=real)

    @ti.kernel
    def read():
        loss[None] = x[1] * b[None]

    def run():
        read()
        b[None] = 110.0

    assert gradient(loss, run, x) == [0.0, 10.0]
    assert b[None] == 110.0


def test_validation_sees_writes_from_python():
    x, b, loss = numbers(2, start=1.0), numbers(start=10.0), numbers()

    @ti.kernel
    def read():
        loss[None] = x[1] * b[None]

    def run():
        with ti.ad.Tape(loss, validation=True):
            read()
            b[None] = 110.0

    with pytest.raises(ti.AccessRuleError, match=r"b\[None\] = 110.0"):
        run()


@both_types
def test_a_sum_that_is_then_multiplied(real):
    x, start, loss = (
        numbers(3, start=[0.0, 1.0, 2.0], real=real),
        numbers(start=2.0, real=real),
        numbers(real=real),
    )

    @ti.kernel
    def run():
        loss[None] += start[None]
        loss[None] += x[1] ** 2
        loss[None] *= x[2]

    assert gradient(loss, run, x) == [0.0, 4.0, 3.0]


@both_types
def test_sine_in_place_three_launches(real):
    x, loss = numbers(3, start=[1.0, 2.0, -0.5], real=real), numbers(real=real)

    @ti.kernel
    def step():
        for i in x:
            x[i] = ti.sin(x[i])

    @ti.kernel
    def add_up():
        for i in x:
            loss[None] += x[i]

    def run():
        for _ in range(3):
            step()
        add_up()

    def slope(v):
        inner, middle = math.sin(v), math.sin(math.sin(v))
        return math.cos(v) * math.cos(inner) * math.cos(middle)

    found = gradient(loss, run, x)
    assert found == pytest.approx([slope(1.0), slope(2.0), slope(-0.5)], rel=1e-5)
    assert found[0] == pytest.approx(0.2645, abs=1e-4)


@both_types
def test_squared_twice_in_place(real):
    x, loss = numbers(2, start=2.0, real=real), numbers(real=real)

    @ti.kernel
    def square():
        for i in x:
            x[i] = x[i] * x[i]

    @ti.kernel
    def add_up():
        for i in x:
            loss[None] += x[i]

    def run():
        square()
        square()
        add_up()

    assert gradient(loss, run, x) == [32.0, 32.0]


@both_types
def test_squared_twice_in_one_kernel(real):
    x, loss = numbers(2, start=2.0, real=real), numbers(real=real)

    @ti.kernel
    def run():
        for i in x:
            x[i] = x[i] * x[i]
            x[i] = x[i] * x[i]
        for i in x:
            loss[None] += x[i]

    assert gradient(loss, run, x) == [32.0, 32.0]


def _symplectic(real):
    q = numbers(4, start=[0.3, -0.7, 1.1, 2.0], real=real)
    p, loss = numbers(4, start=[0.1, 0.0, -0.4, 0.2], real=real), numbers(real=real)

    @ti.kernel
    def kick():
        for i in q:
            p[i] -= 0.1 * ti.sin(q[i])

    @ti.kernel
    def drift():
        for i in q:
            q[i] += 0.1 * p[i]

    @ti.kernel
    def energy():
        for i in q:
            loss[None] += 0.5 * p[i] ** 2 - ti.cos(q[i])

    def run():
        for _ in range(20):
            kick()
            drift()
        energy()

    return Program(run, q, loss, [p])


@pytest.mark.slow
@both_types
def test_symplectic_steps_in_place(real):
    check(_symplectic, real)


def _symplectic_at_once(real):
    q = numbers(4, start=[0.3, -0.7, 1.1, 2.0], real=real)
    p, loss = numbers(4, start=[0.1, 0.0, -0.4, 0.2], real=real), numbers(real=real)

    @ti.kernel
    def step():
        for i in q:
            p[i] -= 0.1 * ti.sin(q[i])
            q[i] += 0.1 * p[i]

    @ti.kernel
    def energy():
        for i in q:
            loss[None] += 0.5 * p[i] ** 2 - ti.cos(q[i])

    def run():
        for _ in range(20):
            step()
        energy()

    return Program(run, q, loss, [p])


@both_types
def test_symplectic_steps_in_place_by_one_kernel(real):
    check(_symplectic_at_once, real)


@both_types
def test_moving_average_with_a_cursor_that_moves_between_launches(real):
    data, mean = numbers(2, start=[1.0, 2.0], real=real), numbers(2, real=real)
    loss, cursor = numbers(real=real), integers()

    @ti.kernel
    def average():
        at = cursor[None]
        if at == 0:
            mean[at] = data[at]
        else:
            mean[at] = mean[at - 1] * 0.5 + data[at] * 0.5

    @ti.kernel
    def advance():
        cursor[None] += 1

    @ti.kernel
    def last_squared():
        loss[None] += mean[1] ** 2

    def run():
        for _ in range(2):
            average()
            advance()
        last_squared()

    assert gradient(loss, run, data) == [1.5, 1.5]
    assert (loss[None], cursor[None]) == (2.25, 2)


@both_types
def test_moving_average_with_a_cursor_that_moves_in_the_kernel(real):
    data, mean = numbers(1, 2, start=[[1.0, 2.0]], real=real), numbers(1, 2, real=real)
    loss, cursor = numbers(real=real), integers(1)

    @ti.kernel
    def average():
        for row in range(1):
            for _ in range(2):
                at = cursor[row]
                if at == 0:
                    mean[row, at] = data[row, at]
                else:
                    mean[row, at] = mean[row, at - 1] * 0.5 + data[row, at] * 0.5
                cursor[row] += 1

    @ti.kernel
    def last_squared():
        loss[None] += mean[0, 1] ** 2

    def run():
        average()
        last_squared()

    assert gradient(loss, run, data) == [[1.5, 1.5]]
    assert (loss[None], cursor[0]) == (2.25, 2)


@both_types
def test_a_flag_read_in_a_branch_and_overwritten_later(real):
    x, loss, flag = numbers(start=2.0, real=real), numbers(real=real), integers(start=1)

    @ti.kernel
    def run():
        if flag[None] == 1:
            loss[None] += 3.0 * x[None]
        else:
            loss[None] += 5.0 * x[None]
        flag[None] = 0

    assert gradient(loss, run, x) == 3.0
    assert (loss[None], flag[None]) == (6.0, 0)


@both_types
def test_a_loop_bound_that_is_overwritten_later(real):
    x, loss, n = numbers(start=2.0, real=real), numbers(real=real), integers(start=3)

    @ti.kernel
    def read():
        for _ in range(n[None]):
            loss[None] += x[None]

    @ti.kernel
    def change():
        n[None] = 5

    def run():
        read()
        change()

    assert gradient(loss, run, x) == 3.0
    assert (loss[None], n[None]) == (6.0, 5)


def _time_on_the_outside(real):
    x, loss = numbers(8, start=[0.4, *[0.0] * 7], real=real), numbers(real=real)

    @ti.kernel
    def run():
        for t in range(7):
            x[t + 1] = ti.sin(x[t]) + 0.1 * x[t] ** 2
        loss[None] = x[7]

    return Program(run, x, loss)


@both_types
def test_a_serial_loop_over_time_on_the_outside(real):
    check(_time_on_the_outside, real)


@both_types
def test_values_given_by_python_inside_the_tape(real):
    x, w, loss = numbers(3, start=1.0, real=real), numbers(3, real=real), numbers(real=real)

    @ti.kernel
    def run():
        for i in x:
            loss[None] += x[i] * w[i]

    def with_weights():
        fill(w, [1.0, 2.0, 3.0])
        run()

    assert gradient(loss, with_weights, x) == [1.0, 2.0, 3.0]

    def with_x_filled():
        x.fill(5.0)
        run()

    with pytest.warns(ti.GradientWarning, match="overwrite `x` before they read it"):
        assert gradient(loss, with_x_filled, x) == [0.0, 0.0, 0.0]  # what x was on entry does not matter
    assert w.grad.to_numpy().tolist() == [5.0, 5.0, 5.0]


@both_types
def test_a_field_filled_by_python_between_two_uses(real):
    x, w, loss = (
        numbers(3, start=[1.0, 2.0, 3.0], real=real),
        numbers(3, start=2.0, real=real),
        numbers(real=real),
    )

    @ti.kernel
    def use():
        for i in x:
            loss[None] += x[i] ** 2 * w[i]

    def run():
        use()
        w.fill(0.5)
        use()

    assert gradient(loss, run, x) == [5.0, 10.0, 15.0]
    assert w.grad.to_numpy().tolist() == [1.0, 4.0, 9.0]  # by what w was on entry
    assert np.all(w.to_numpy() == 0.5)
