"""Masses on springs: rest lengths for an area, a robot that learns to walk."""

import pytest

import dsim as ti
from tests.programs.comparing import assert_slope


def test_the_robot_learns_to_walk(program):
    losses = program("mass_spring_robot").optimize(steps=682, iterations=20)
    assert losses[0] == pytest.approx(-0.2153, abs=1e-4)
    assert min(losses) <= -0.24


def test_weights_of_the_robot_against_differences(program):
    robot = program("mass_spring_robot", real=ti.f64)

    def run():
        robot.clear_states()
        robot.forward(40)

    assert_slope(run, robot.loss, robot.weights)
