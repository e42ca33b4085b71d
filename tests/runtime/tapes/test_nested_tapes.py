"""A tape around a tape: the final gradient is that of the outer one, even where it is 0."""

import pytest

import dsim as ti


@pytest.mark.parametrize(("power", "second"), [(1, 0.0), (2, 2.0), (3, 12.0)])
def test_the_outer_result_takes_the_place_of_the_inner_one(power, second):
    x = ti.field(ti.f64, shape=(), needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)
    slope = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def measure():
        loss[None] += x[None] ** power

    @ti.kernel
    def take():
        slope[None] += x.grad[None]

    x[None] = 2.0
    with ti.Tape(slope):
        with ti.Tape(loss):
            measure()
        take()
    assert slope[None] == power * 2.0 ** (power - 1)
    assert x.grad[None] == second
