"""Material points: liquids and solids in space, elastic blocks, checkpointing by hand."""

import numpy as np
import pytest

import dsim as ti
from tests.programs.comparing import assert_slope


def test_a_liquid_on_a_solid_with_muscles(program):
    """Its backward pass by hand, which makes the grid of each step again, against differences."""
    liquid = program("liquid", real=ti.f64)
    gradients = liquid.gradient()
    x, v = liquid.x.to_numpy()[-1], liquid.v.to_numpy()[-1]
    kinds = liquid.particle_type.to_numpy()
    assert liquid.loss[None] == pytest.approx(-x[kinds == 1, 0].mean(), rel=1e-12)
    mass = np.where(kinds == 1, 1.0, 4.0)[:, None]
    momentum = (mass * v).sum(0) / mass.sum()
    assert momentum[::2] == pytest.approx(0, abs=1e-5)
    free_fall = -liquid.gravity * liquid.dt * (liquid.steps - 1)
    assert momentum[1] == pytest.approx(free_fall, rel=0.02)
    for field, gradient in zip((liquid.weights, liquid.bias), gradients, strict=True):
        start, direction = field.to_numpy(), np.random.default_rng(0).standard_normal(gradient.shape)
        ends = []
        for h in (1e-3, -1e-3):
            field.from_numpy(start + h * direction)
            ends.append(liquid.forward())
        field.from_numpy(start)
        assert (gradient * direction).sum() == pytest.approx((ends[0] - ends[1]) / 2e-3, rel=1e-5)


def test_checkpointing_by_an_adjoint_of_ones_own(program):
    """`grad_replaced` and what the tape saves give one gradient, that of differences."""
    mpm = program("diffmpm_checkpointing", real=ti.f64)
    gradients = []
    for step in (mpm.substep, mpm.recorded_substep):
        with ti.ad.Tape(mpm.loss):
            mpm.run(step)
        gradients.append(mpm.init_v.grad.to_numpy())
    np.testing.assert_allclose(*gradients, rtol=1e-12)
    assert_slope(lambda: mpm.run(mpm.substep), mpm.loss, [mpm.init_v])


def test_throwing_at_a_target(program):
    """The losses are those of Taichi 1.7.4 for the same program."""
    mpm = program("diffmpm_checkpointing", real=ti.f64)
    losses = mpm.optimize(5, mpm.substep)
    assert losses == pytest.approx(
        [0.0284448771, 0.0283670541, 0.0282894439, 0.0282120461, 0.0281348600], abs=1e-9
    )
