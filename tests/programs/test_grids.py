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


def test_flow_around_a_cylinder(program):
    """Sums are those of Taichi 1.7.4 for the same program."""
    flow = program("lattice_boltzmann", real=ti.f64).channel()
    flow.solve(30)
    velocity = flow.vel.to_numpy()
    assert velocity.sum((0, 1)) == pytest.approx([13.5436642, 0], abs=1e-6)
    assert flow.rho.to_numpy().sum() == pytest.approx(332.43699127, rel=1e-10)
    assert (velocity[flow.mask.to_numpy() == 1] == 0).all()
    np.testing.assert_allclose(
        flow.f_old.to_numpy().sum(-1)[1:-1, 1:-1], flow.rho.to_numpy()[1:-1, 1:-1], rtol=1e-12
    )


def test_a_fluid_of_swapped_fields(program):
    """Sums are those of Taichi 1.7.4 for the same program."""
    fluid = program("stable_fluid", real=ti.f64)
    before, after = fluid.run(5)
    assert after < 0.4 * before
    assert fluid.velocities_pair.cur.to_numpy().sum() == pytest.approx(1748.795863053, rel=1e-10)
    assert fluid.dyes_pair.cur.to_numpy().sum() == pytest.approx(16.887000989924, rel=1e-10)
    fluid.reset()
    assert (fluid.dyes_pair.cur.to_numpy() == 0).all()


@pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")  # red and black cells of one field
def test_poissons_equation_by_multigrid(program):
    poisson = program("poisson", real=ti.f64).Example()
    poisson.init()
    right = poisson.r[0].to_numpy()
    assert poisson.solve(60) < 40
    x = np.pad(poisson.x.to_numpy(), 1)
    found = 4 * x[1:-1, 1:-1] - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1, 2:]
    np.testing.assert_allclose(found, right, atol=1e-8 * np.abs(right).max())
    poisson.paint()
    np.testing.assert_allclose(poisson.pixels.to_numpy(), x[9:25, 9:25] / 32)


@pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")  # ghost cells beside their neighbours
def test_a_gas_in_a_box(program):
    """The sum of squares is that of Taichi 1.7.4; mass and energy stay, and the four corners are alike."""
    gas = program("euler", real=ti.f64)
    before = gas.Q.to_numpy()[1:-1, 1:-1].sum((0, 1))
    gas.run(12)
    Q = gas.Q.to_numpy()
    after = Q[1:-1, 1:-1].sum((0, 1))
    assert after[[0, 3]] == pytest.approx(before[[0, 3]], rel=1e-12)
    assert after[[1, 2]] == pytest.approx(0, abs=1e-9)
    assert (Q**2).sum() == pytest.approx(7441.416766914, rel=1e-9)
    rho, u, v, _ = Q[1:-1, 1:-1].transpose(2, 0, 1)
    np.testing.assert_allclose(rho, rho[::-1], rtol=1e-9)
    np.testing.assert_allclose(u, v.T, rtol=1e-9, atol=1e-9)
    gas.paint()
    image = gas.img.to_numpy()
    assert (image.min(), image.max()) == (0, 1)
