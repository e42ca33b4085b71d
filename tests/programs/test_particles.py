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


def test_fluid_jelly_and_snow(program):
    """Sums of positions and speeds are those of Taichi 1.7.4, whose singular values are not as exact."""
    mpm = program("mpm128", real=ti.f64)
    mpm.place(0)
    gui = mpm.run(frames=5, substeps=20)
    assert gui.frame == 3  # then Escape is pressed
    assert mpm.x.to_numpy().sum() == pytest.approx(88.68609, rel=1e-6)
    assert (mpm.v.to_numpy() ** 2).sum() == pytest.approx(1833.85, rel=1e-5)
    assert mpm.grid_m.to_numpy().sum() == pytest.approx(mpm.n_particles * mpm.p_mass, rel=1e-12)


def test_the_first_places_of_the_points(program):
    mpm = program("mpm128", real=ti.f64)
    group = mpm.material.to_numpy()
    assert np.bincount(group).tolist() == [32, 32, 32]
    inside = mpm.x.to_numpy() - [0.3, 0.2] - np.outer(group, [0.1, 0.22])
    assert inside.min() >= 0
    assert inside.max() <= 0.2
    assert inside.std() == pytest.approx(0.2 / 12**0.5, rel=0.15)


@pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")  # places in cells by atomic_add
def test_a_fluid_of_positions(program):
    """Sums of positions and of neighbours are those of Taichi 1.7.4, but for what is drawn at the walls."""
    fluid = program("pbf2d", real=ti.f64)
    fluid.run(8)
    positions, counts = fluid.positions.to_numpy(), fluid.particle_num_neighbors.to_numpy()
    assert positions.sum(0) == pytest.approx([544.52083, 124.6968], abs=1e-3)
    assert counts.sum() == 390
    right, top = fluid.board_states[None][0], fluid.boundary[1]
    assert (positions >= fluid.particle_radius).all()
    assert (positions <= np.array([right, top]) - fluid.particle_radius).all()
    fluid.run(1, iterations=0)  # the lists of neighbours against all pairs
    at = fluid.positions.to_numpy()
    near = np.linalg.norm(at[:, None] - at[None], axis=-1) < fluid.neighbor_radius
    assert fluid.particle_num_neighbors.to_numpy().tolist() == (near.sum(1) - 1).tolist()


def test_a_sheet_that_falls_on_a_ball(program):
    sheet = program("fem99", real=ti.f64)
    sheet.run(200)
    away = np.linalg.norm(sheet.pos.to_numpy() - [0.5, 0.0], axis=1)
    assert away.min() > sheet.ball_radius - 1e-3
    assert sheet.vel.to_numpy()[:, 1].max() > -1  # it would fall with -40 t, were there no ball
    assert_slope(sheet.update_U, sheet.U, [sheet.pos], step=1e-7)
    with ti.ad.Tape(sheet.U):
        sheet.update_U()
    forces = sheet.pos.grad.to_numpy()
    scale = np.abs(forces).max()
    assert forces.sum(0) == pytest.approx(0, abs=1e-10 * scale)
    at = sheet.pos.to_numpy()
    torque = (at[:, 0] * forces[:, 1] - at[:, 1] * forces[:, 0]).sum()
    assert torque == pytest.approx(0, abs=1e-10 * scale)
    gui = ti.GUI("sheet", res=64)
    sheet.draw(gui)
    assert gui.get_image()[..., :3].max() > 0


def test_forces_of_a_mesh_on_material_points(program):
    strip = program("lagrangian_forces", real=ti.f64)
    for _ in range(150):
        strip.substep()
    assert strip.total_energy[None] > 1  # it has fallen on the ball
    with ti.ad.Tape(strip.total_energy):
        strip.compute_total_energy()
    strip.forces_by_hand()
    forces = strip.x.grad.to_numpy()
    np.testing.assert_allclose(forces, strip.by_hand.to_numpy(), rtol=1e-10, atol=1e-10)
    assert forces.sum(0) == pytest.approx(0, abs=1e-9)
    assert strip.grid_m.to_numpy().sum() == pytest.approx(strip.n_particles, rel=1e-12)
    assert strip.x.to_numpy()[:, 1].min() > strip.bound / strip.n_grid - 0.05
