"""Whole simulations in place: no step keeps its state, and the gradient by the initial state is right.

Both modes against differences along one random direction. Two of the programs ask a tape for forces in each
of their steps: what is differentiated here holds first derivatives.
"""

import numpy as np
import pytest

import dsim as ti


def assert_both_modes(run, field, state, entries, *, step=1e-6, rel=1e-6):
    """Derivatives of the sum of squares of what is in `entries` after `run`, by `field`.

    `state` is what `run` overwrites besides.
    """
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def measure(x: ti.template()):
        for I in ti.grouped(x):
            loss[None] += x[I].norm_sqr()

    start, others = field.to_numpy(), [f.to_numpy() for f in state]
    direction = np.random.default_rng(0).standard_normal(start.shape)

    def set_up(h):
        for f, values in zip((field, *state), (start + h * direction, *others), strict=True):
            f.from_numpy(values)
        loss[None] = 0

    def go():
        run()
        for x in entries:
            measure(x)

    ends = []
    for h in (step, -step):
        set_up(h)
        go()
        ends.append(loss[None])
    right = (ends[0] - ends[1]) / (2 * step)
    set_up(0)
    with ti.ad.Tape(loss):
        go()
    reverse = (field.grad.to_numpy() * direction).sum()
    set_up(0)
    with ti.ad.FwdMode(loss=loss, param=field, seed=direction):
        go()
    assert reverse == pytest.approx(loss.dual[None], rel=1e-9)
    assert reverse == pytest.approx(right, rel=rel)


def times(step, count):
    def run():
        for _ in range(count):
            step()

    return run


def test_snow_that_hits_the_ground(program):
    mpm = program("mpm128", real=ti.f64)
    mpm.place(0)
    times(mpm.substep, 60)()
    assert_both_modes(times(mpm.substep, 3), mpm.v, [mpm.x, mpm.C, mpm.F, mpm.Jp], [mpm.x, mpm.v])


def test_streams_of_electrons(program):
    plasma = program("two_streams", real=ti.f64)
    times(plasma.substep, 3)()
    assert_both_modes(times(plasma.substep, 3), plasma.v, [plasma.x], [plasma.v], step=1e-5)


def test_a_sheet_on_a_ball(program):
    sheet = program("fem99", real=ti.f64)
    sheet.run(150)
    assert_both_modes(
        lambda: sheet.run(3), sheet.vel, [sheet.pos], [sheet.pos, sheet.vel], step=1e-7, rel=1e-5
    )


def test_a_mesh_on_material_points(program):
    strip = program("lagrangian_forces", real=ti.f64)
    times(strip.substep, 120)()
    assert_both_modes(times(strip.substep, 3), strip.v, [strip.x, strip.C], [strip.x, strip.v], step=1e-5)


@pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")  # ghost cells beside their neighbours
def test_a_gas_whose_limiters_are_at_no_kink(program):
    """At rest slopes tie, and a central difference means nothing there: the start is disturbed."""
    gas = program("euler", real=ti.f64)
    gas.run(2)
    Q = gas.Q.to_numpy()
    Q += np.random.default_rng(1).standard_normal(Q.shape) * 5e-3 * (1 + np.abs(Q))
    gas.Q.from_numpy(Q)
    assert_both_modes(times(lambda: gas.run(1), 1), gas.Q, [], [gas.Q], step=1e-7)
