"""Masses on springs: rest lengths for an area, a robot that learns to walk."""

import numpy as np
import pytest

import dsim as ti
from tests.programs.comparing import assert_slope


def test_rest_lengths_for_an_area(program):
    triangle = program("mass_spring_simple")
    losses = triangle.optimize(25)
    assert losses[0] == pytest.approx(9.0264e-3, rel=1e-4)
    assert losses[-1] == pytest.approx(4.907e-5, rel=1e-3)
    assert losses == sorted(losses, reverse=True)


def test_rest_lengths_against_differences(program):
    triangle = program("mass_spring_simple", real=ti.f64)
    triangle.rest.from_numpy(np.array([0.6, 0.6, 0.529]))

    def run():
        triangle.force.fill(0)
        triangle.forward()

    assert_slope(run, triangle.loss, [triangle.rest])


@pytest.mark.parametrize("real", [ti.f32, ti.f64], ids=str)
def test_the_robot_begins_to_learn(program, real):
    """From the tenth iteration on, rounding decides where it goes: its steps are chaotic."""
    losses = program("mass_spring_robot", real=real).optimize(steps=682, iterations=9)
    wanted = [-0.2153, -0.2253, -0.2227, -0.2273, -0.2310, -0.2308, -0.2320, -0.2313, -0.2330]
    assert losses == pytest.approx(wanted, abs=2e-4)


def test_the_robot_learns_to_walk(program):
    """In 64 bits, whose rounding takes longer to matter."""
    losses = program("mass_spring_robot", real=ti.f64).optimize(steps=682, iterations=40)
    assert min(losses) <= -0.38


def test_weights_of_the_robot_against_differences(program):
    robot = program("mass_spring_robot", real=ti.f64)

    def run():
        robot.clear_states()
        robot.forward(40)

    assert_slope(run, robot.loss, robot.weights)
