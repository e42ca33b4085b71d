"""Collisions of balls and bodies with each other and the ground, and growth of gradients."""

import math

import numpy as np
import pytest

import dsim as ti
from tests.programs.comparing import assert_slope


def test_a_stroke_that_brings_the_last_ball_to_its_goal(program):
    """The losses are those of Taichi 1.7.4 for the same program."""
    losses = program("billiards", real=ti.f64).optimize(62)
    assert losses[:40:10] == pytest.approx([0.0454158525, 0.0137189023, 0.0056322484, 0.0023982107], abs=1e-9)
    assert min(losses) < 2e-4


@pytest.mark.parametrize("alpha", [0, 1, 3, 10])
def test_the_gradient_by_the_push_in_closed_form(program, alpha):
    explosion = program("gradient_explosion", real=ti.f64)
    d, dt = math.exp(-explosion.dt * alpha), explosion.dt
    for n in (2, 50, 400):
        right = dt * sum(sum(d**k for k in range(t)) for t in range(1, n))
        assert explosion.gradient(alpha, n) == pytest.approx(right, rel=1e-12)


def test_the_time_of_impact_turns_the_gradient(program):
    """A ball that starts higher ends lower: it has less time after the bounce."""
    ball = program("rigid_body_toi", real=ti.f64)
    losses, grads = ball.heights(toi=True, count=5)
    assert grads == pytest.approx([-1.0] * 5)
    assert np.diff(losses) == pytest.approx([-0.02] * 4)
    assert ball.heights(toi=False, count=5)[1] == pytest.approx([1.0] * 5)


def test_strokes_against_differences(program):
    table = program("billiards", real=ti.f64, steps=500)

    def run():
        table.clear()
        table.forward()

    table.init_v[None] = [0.5, 0.02]
    assert assert_slope(run, table.loss, [table.init_x, table.init_v], rel=1e-5) != 0
