"""Bodies, life, electrons and light: programs without gradients, and short ones with."""

import numpy as np
import pytest

import dsim as ti
from tests.programs.comparing import assert_slope


def test_forces_of_gravity(program):
    gravity = program("gravity", real=ti.f64)
    gravity.compute_force()
    at = gravity.x.to_numpy()
    apart = at[:, None] - at[None]
    r = np.sqrt((apart**2).sum(-1) + 1e-3)
    gravity.substep()
    assert gravity.U[None] == pytest.approx(-(1 / r).sum(), rel=1e-12)
    right = -2 * (apart / r[..., None] ** 3).sum(1)
    np.testing.assert_allclose(-gravity.x.grad.to_numpy(), right, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(gravity.force.to_numpy(), right, rtol=1e-10, atol=1e-10)
    for _ in range(50):
        gravity.substep()
    assert gravity.v.to_numpy().sum(0) == pytest.approx(0, abs=1e-12)


def test_planets_on_circles(program):
    """Speeds are those of circles: the distance from the sun stays, and the energy."""
    solar = program("gravity", real=ti.f64).solar
    away = np.linalg.norm(solar.x.to_numpy() - 0.5, axis=1)
    for _ in range(200):
        solar.integrate()
    np.testing.assert_allclose(np.linalg.norm(solar.x.to_numpy() - 0.5, axis=1), away, rtol=5e-2)
    energy = (solar.v.to_numpy() ** 2).sum(1) / 2 - 1 / np.linalg.norm(solar.x.to_numpy() - 0.5, axis=1)
    np.testing.assert_allclose(energy, -0.5 / away, rtol=5e-2)
    gui = ti.GUI("solar", res=32)
    solar.render(gui)
    assert gui.get_image()[16, 16, 0] > 0.9


@pytest.mark.parametrize("use_tape", [True, False])
def test_a_polynomial_through_points(program, use_tape):
    """The last loss and the coefficients are those of Taichi 1.7.4 for the same program."""
    regression = program("regression", real=ti.f64)
    losses = regression.train(1100, use_tape)
    assert losses[999] == pytest.approx(20.737123377430, rel=1e-10)
    right = [3.16869919, -2.75152771, -0.78281724, 0.71618305]
    np.testing.assert_allclose(regression.coeffs.to_numpy(), right, atol=1e-8)
    assert_slope(regression.regress, regression.loss, [regression.coeffs, regression.x])


def test_a_function_with_branches(program):
    simple = program("simple_derivative")
    at = simple.x.to_numpy()
    right = np.where(at > 0.2, 4 / at, np.where(at < -0.2, 40.0, 0.0))
    np.testing.assert_allclose(simple.y.to_numpy(), right, rtol=1e-6)
    np.testing.assert_allclose(simple.x.grad.to_numpy(), np.where(at > 0.2, -4 / at**2, 0), rtol=1e-6)


def test_life(program):
    life = program("game_of_life")
    life.init()
    before = life.alive.to_numpy()
    padded = np.pad(before, 1)
    around = sum(
        padded[1 + a : 17 + a, 1 + b : 17 + b] for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)
    )
    life.run()
    right = ((around == 3) | ((before == 1) & (around == 2))).astype(int)
    assert life.count.to_numpy().tolist() == around.tolist()
    assert life.alive.to_numpy().tolist() == right.tolist()
    life.alive.fill(0)
    for cell in ((1, 2), (2, 3), (3, 1), (3, 2), (3, 3)):
        life.alive[cell] = 1
    glider = life.alive.to_numpy()
    gui = life.main()
    assert gui.frame == 3
    life.run()
    assert life.alive.to_numpy().tolist() == np.roll(glider, (1, 1), (0, 1)).tolist()
    assert gui.frames[0].max() == 255


@pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")  # indices that are halves of the loop's
def test_two_streams_of_electrons(program):
    """Sums are those of Taichi 1.7.4 for the same program."""
    plasma = program("two_streams", real=ti.f64)
    for _ in range(20):
        plasma.substep()
    plasma.vx_pos()
    found = [field.to_numpy().sum() for field in (plasma.x, plasma.v, plasma.v_x_pos2)]
    assert found == pytest.approx([3205.094810660, 0.552900248, 140.995835206], rel=1e-9)
    assert plasma.e.to_numpy().sum() == pytest.approx(0, abs=1e-12)


def test_light_in_a_room(program):
    """The mean colour is that of Taichi 1.7.4 within the noise of both."""
    tracer = program("ray_tracer", real=ti.f64)
    for _ in range(600):
        tracer.render()
    mean = tracer.color_buffer.to_numpy().mean((0, 1)) / 600
    np.testing.assert_allclose(mean, [0.0887, 0.0616, 0.0486], rtol=0.03)
    assert tracer.count_var[0] == 600 % 25
    assert tracer.depths.to_numpy().max() == tracer.max_ray_depth
    tracer.tonemap(600.0)
    right = np.sqrt(tracer.color_buffer.to_numpy() / 6.0)
    np.testing.assert_allclose(tracer.tonemapped_buffer.to_numpy(), right, rtol=1e-12)


def test_directions_and_refraction(program):
    """The cosine to the normal has the density 2 cos: its mean is 2/3; refraction is Snell's law."""
    tracer = program("ray_tracer", real=ti.f64)
    normal = np.array([0.0, 1.0, 0.0])
    tracer.sample_many(*normal)
    drawn = tracer.directions.to_numpy()
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 1, rtol=1e-12)
    assert (drawn @ normal).mean() == pytest.approx(2 / 3, abs=0.015)
    tracer.refract_one(0.5)
    first, second = tracer.refracted.to_numpy()
    s = np.sin(0.5) / tracer.refr_idx
    np.testing.assert_allclose(first, [s, -np.sqrt(1 - s * s), 0], rtol=1e-12, atol=1e-12)
    assert second.tolist() == [1, 0, 0]  # no way out: total reflection


@pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")  # a counter says where an edge is kept
def test_contours_of_noise(program):
    """The number of edges and the image are those of Taichi 1.7.4 for the same program."""
    contours = program("contours", real=ti.f64)
    count = contours.march_squares()
    assert count == contours.n_edges[None] == 105
    contours.at_ends()
    middle = contours.heights.to_numpy()
    assert np.abs(middle - contours.level).max() < 0.05  # linear between corners, as the edges are
    contours.render()
    assert contours.pixels.to_numpy().sum((0, 1)) == pytest.approx(
        [227.725773, 238.249241, 211.910830], rel=1e-8
    )
    contours.iTime[None] = 1.0
    assert contours.march_squares() != 105


@pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")  # a queue is serial
def test_points_that_keep_their_distance(program):
    disks = program("disks", real=ti.f64)
    count = disks.poisson_disk_sample(120)
    points = disks.samples.to_numpy()[:count]
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1) + 10 * np.eye(count)
    assert apart.min() >= disks.radius - 1e-6
    assert sorted(disks.grid.to_numpy().ravel().tolist())[-count:] == list(range(count))
    at = np.stack(np.meshgrid(*[np.arange(16) / 16] * 2, indexing="ij"), axis=-1)
    nearest = np.linalg.norm(at[:, :, None] - points, axis=-1).min(-1)
    assert nearest.max() < 2 * disks.radius  # no room for another point
    disks.compute_distance_field()
    found = disks.dfield.to_numpy()[..., 0] + disks.radius / 2
    near = nearest < 1.5 * disks.dx  # what the cells around see for certain
    assert near.mean() > 0.8
    np.testing.assert_allclose(found[near], nearest[near], rtol=1e-9)
    disks.shade()
    assert np.isfinite(disks.img.to_numpy()).all()
    disks.refresh_scene()
    assert disks.grid.to_numpy().max() == 0
