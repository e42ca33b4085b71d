"""Images of densities and of water, and the gradients through them."""

import numpy as np
import pytest

import dsim as ti
from tests.programs.comparing import assert_slope


def test_a_density_from_its_images(program):
    """The losses are those of Taichi 1.7.4 for the same program."""
    renderer = program("volume_renderer", real=ti.f64)
    renderer.clear_density()
    losses = renderer.optimize(21)
    right = [0.25, 0.02847047991, 0.01330122260, 0.00921582525, 0.00709921268]
    assert losses[::5] == pytest.approx(right, abs=1e-10)
    renderer.clear_images()
    with ti.ad.Tape(renderer.loss):
        renderer.forward()
    residual = 2 / renderer.res**2 * (renderer.images.to_numpy() - renderer.target_images.to_numpy())
    back = (renderer.density.to_numpy() * renderer.density.grad.to_numpy()).sum()
    assert back == pytest.approx((residual * renderer.images.to_numpy()).sum(), rel=1e-9)  # images are linear


def test_densities_against_differences(program):
    renderer = program("volume_renderer", real=ti.f64)

    def run():
        renderer.clear_images()
        renderer.forward()

    renderer.density.from_numpy(np.random.default_rng(0).uniform(0, 0.1, renderer.density.shape))
    assert_slope(run, renderer.loss, [renderer.density])


def test_what_is_seen_through_water(program):
    """The losses are those of Taichi 1.7.4 for the same program."""
    water = program("water_renderer", real=ti.f64)
    right = [5.4092380883e-4, 4.4402364081e-4, 3.6615632934e-4, 3.0623295035e-4]
    assert water.optimize(4) == pytest.approx(right, rel=1e-9)
    water.render_reflect()
    slopes = water.height_gradient.to_numpy()
    np.testing.assert_allclose(water.rendered.to_numpy(), 1 / np.sqrt(1 + (slopes**2).sum(-1)), rtol=1e-12)


def test_waves_against_differences_of_what_is_seen(program):
    water = program("water_renderer", real=ti.f64)
    water.initial.from_numpy(np.random.default_rng(0).uniform(-0.02, 0.02, water.initial.shape))
    assert_slope(water.forward, water.loss, [water.initial], step=1e-7, rel=1e-5)


def test_rays_that_end_by_themselves(program):
    """The loss is that of Taichi 1.7.4, which cannot differentiate these loops; here they are right."""
    tracer = program("smoke_tracer", real=ti.f64)
    tracer.forward()
    assert tracer.loss[None] == pytest.approx(506.788222605, rel=1e-10)
    to_ball, through_cloud = tracer.trips.to_numpy().reshape(-1, 2).T
    assert len(set(to_ball.tolist())) > 4
    assert len(set(through_cloud.tolist())) > 4
    assert_slope(tracer.forward, tracer.loss, [tracer.ball], rel=1e-5)
    assert_slope(tracer.forward, tracer.loss, [tracer.camera], rel=1e-5)
    tracer.density.from_numpy(tracer.density.to_numpy() + 1)  # away from 0, where a sample is passed over
    assert_slope(tracer.forward, tracer.loss, [tracer.density], rel=1e-5)
