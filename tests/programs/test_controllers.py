"""Controller networks: a charge among eight others, boxes with muscles and joints."""

import pytest

import dsim as ti
from tests.programs.comparing import assert_slope


@pytest.mark.filterwarnings("ignore:warning.cut:dsim.GradientWarning")  # drawing reads
def test_a_charge_learns_to_follow_a_path(program):
    electric = program("electric", real=ti.f64)
    losses = electric.optimize(6)
    assert losses[1:] == sorted(losses[1:], reverse=True)
    assert len(electric.gui.frames) == 6 * 4


def test_weights_of_the_charge_against_differences(program):
    """The network sees what the last run left at a step, before that step is computed: state in place."""
    electric = program("electric", real=ti.f64)
    left = [electric.x.to_numpy(), electric.v.to_numpy()]

    def run():
        electric.x.from_numpy(left[0])
        electric.v.from_numpy(left[1])
        electric.forward()

    run()
    left = [electric.x.to_numpy() + 0.1, electric.v.to_numpy()]
    assert_slope(run, electric.loss, [electric.weight1, electric.bias1, electric.weight2, electric.bias2])


def test_boxes_learn_to_walk(program):
    """The losses are those of Taichi 1.7.4 for the same program."""
    body = program("rigid_body", real=ti.f64)
    losses = body.optimize(4) + body.optimize(2, toi=False)
    right = [0.6081645384, 0.6078603359, 0.6075500040, 0.6072382868, 0.6066271138, 0.6063630019]
    assert losses == pytest.approx(right, abs=1e-9)
    assert body.x.to_numpy()[-1, :, 1].min() > body.ground_height


@pytest.mark.parametrize("toi", [True, False])
def test_weights_of_the_boxes_against_differences(program, toi):
    body = program("rigid_body", real=ti.f64, max_steps=80)
    assert_slope(lambda: body.run(toi), body.loss, body.weights, step=1e-5)
