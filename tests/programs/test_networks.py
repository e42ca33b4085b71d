"""Layers as classes."""

import numpy as np
import pytest

import dsim as ti
from tests.programs.comparing import assert_slope


def test_layers_that_learn(program):
    """The losses are those of Taichi 1.7.4 for the same program."""
    net = program("layers", real=ti.f64)
    net.set_weights(0)
    assert net.train(20)[::5] == pytest.approx(
        [19.4342832996, 13.0676396826, 12.6805164356, 12.2945830488], abs=1e-9
    )


def test_layers_against_numpy(program):
    net = program("layers", real=ti.f64)
    for layer in net.layers:
        layer.weights_init()
        assert np.abs(layer.weights1.to_numpy()).max() <= np.sqrt(6 / layer.n_input)
    net.fc1.bias1.from_numpy(np.random.default_rng(0).standard_normal(net.fc1.bias1.shape))
    net.loss[None] = 0
    net.run()
    (w1, b1), (w2, b2) = ([w.to_numpy()[0] for w in layer.parameters()] for layer in net.layers)
    right = np.tanh(net.input_states.to_numpy()[0] @ w1.T + b1) @ w2.T + b2
    np.testing.assert_allclose(net.fc2.output.to_numpy()[0], right, rtol=1e-12)
    assert_slope(net.run, net.loss, [*net.parameters, net.input_states])
