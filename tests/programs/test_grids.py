"""Waves and smoke on grids."""

import numpy as np
import pytest

import dsim as ti
from tests.programs.comparing import assert_slope


def test_a_wave_that_arrives_at_a_disc(program):
    """The losses are those of Taichi 1.7.4 for the same program."""
    wave = program("wave", real=ti.f64)
    losses = wave.optimize(61)
    assert losses[::10] == pytest.approx(
        [0.2042608, 0.0887641, 0.0578053, 0.0444112, 0.0376006, 0.0335971, 0.0309291], abs=1e-7
    )
    shown = wave.forward(picture_every=16)
    np.testing.assert_allclose(shown[-1], wave.p.to_numpy()[-1] + 0.5, rtol=1e-6)


def test_initial_states_of_the_wave_against_differences(program):
    wave = program("wave", real=ti.f64)
    assert_slope(wave.forward, wave.loss, [wave.initial])


def test_the_wave_and_its_adjoint_are_one_bilinear_form(program):
    """``⟨A u, A w⟩ = ⟨AᵀA u, w⟩``: the run is linear, and the loss is the square of its result."""
    wave = program("wave", real=ti.f64)
    rng = np.random.default_rng(1)
    wave.target.fill(0)
    u, w = rng.standard_normal((2, wave.n_grid, wave.n_grid))

    def image(values):
        wave.initial.from_numpy(values)
        with ti.ad.Tape(wave.loss):
            wave.forward()
        return wave.p.to_numpy()[-1], wave.initial.grad.to_numpy() / (2 * wave.dx**2)

    (Au, AtAu), (Aw, _) = image(u), image(w)
    assert np.vdot(Au, Aw) == pytest.approx(np.vdot(AtAu, w), rel=1e-12)


def test_smoke_that_is_carried_to_a_disc(program):
    """The losses are those of Taichi 1.7.4 for the same program."""
    smoke = program("smoke", real=ti.f64)
    assert smoke.optimize(41)[::10] == pytest.approx(
        [0.48828125, 0.09127515, 0.07228397, 0.05682210, 0.04525480], abs=1e-8
    )
    last = smoke.smoke.to_numpy()[-1]
    assert last.min() >= 0
    assert last.max() <= 1


def test_velocities_of_the_smoke_against_differences(program):
    smoke = program("smoke", real=ti.f64)
    smoke.optimize(1)  # away from the velocity 0, where the smoke lies on the edges of cells
    assert_slope(smoke.forward, smoke.loss, [smoke.v])
