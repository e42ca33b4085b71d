"""What watched kernels show: values and adjoints of what their lines assign, against closed forms."""

from dataclasses import replace

import numpy as np
import pytest

import dsim as ds
from dsim.runtime.kernels.kernel import Kernel
from dsim.runtime.kernels.watching import watch
from dsim.runtime.state import settings


@pytest.fixture(params=["cpu", "reference"], autouse=True)
def backend(request, monkeypatch):
    ds.init(default_fp=ds.f64)
    settings.change(replace(settings.current(), backend=request.param))


def shown(watching):
    return {w.slot.name: w for w in watching.results()}


def line_of(kernel: Kernel, text: str) -> int:
    import inspect

    lines, first = inspect.getsourcelines(kernel.function)
    (n,) = [n for n, line in enumerate(lines) if text in line]
    return first + n


def energy_of_pairs(n=5):
    x = ds.Vector.field(2, ds.f64, shape=n, needs_grad=True)
    loss = ds.field(ds.f64, shape=(), needs_grad=True)
    x.from_numpy(np.random.default_rng(1).normal(size=(n, 2)))

    @ds.func
    def weight(i, j):
        w = 1.0 + i * j
        return w  # noqa: RET504 (the line above is looked at)

    @ds.kernel
    def energy():
        for i, j in ds.ndrange(n, n):
            if i < j:
                r = x[i] - x[j]
                e = weight(i, j) * r.norm_sqr()
                loss[None] += e

    return x, loss, energy


def test_values_and_adjoints_at_the_probed_iteration():
    x, loss, energy = energy_of_pairs()
    watching = watch(energy)
    watching.probe = (1, 3)
    with ds.Tape(loss):
        watching()
    got, at = shown(watching), x.to_numpy()
    r = at[1] - at[3]
    np.testing.assert_allclose(got["r"].value, r)
    np.testing.assert_allclose(got["r"].gradient, 2 * 4 * r)
    np.testing.assert_allclose(got["w"].value, 4.0)
    np.testing.assert_allclose(got["w"].gradient, r @ r)
    np.testing.assert_allclose(got["e"].value, 4 * r @ r)
    assert got["e"].gradient == 1.0
    assert got["loss[None]"].gradient == 1.0
    assert got["r"].where == (1, 3)
    assert [w.times for w in got.values()] == [10] * 4
    assert [w.hits for w in got.values()] == [1] * 4
    assert watching.loops == [("i", 0, 5), ("j", 0, 5)]


def test_the_root_mean_square_is_over_all_iterations():
    x, loss, energy = energy_of_pairs()
    watching = watch(energy)
    with ds.Tape(loss):
        watching()
    at = x.to_numpy()
    pairs = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    squares = [np.sum((2 * (1 + i * j) * (at[i] - at[j])) ** 2) for i, j in pairs]
    got = shown(watching)
    assert got["r"].rms == pytest.approx(np.sqrt(np.mean(squares)))
    assert got["e"].rms == 1.0


def test_places_are_those_of_the_lines():
    _, loss, energy = energy_of_pairs()
    watching = watch(energy)
    with ds.Tape(loss):
        watching()
    got = shown(watching)
    assert got["r"].slot.span.line == line_of(energy, "r = x[i] - x[j]")
    assert got["loss[None]"].slot.span.text == "loss[None]"


def test_an_iteration_that_misses_a_line_shows_none_of_it():
    _, loss, energy = energy_of_pairs()
    watching = watch(energy)
    watching.probe = (3, 1)
    with ds.Tape(loss):
        watching()
    r = shown(watching)["r"]
    assert r.value is None
    assert r.gradient is None
    assert (r.hits, r.times) == (0, 10)
    assert watching.probe == (3, 1)


def test_without_a_probe_each_line_shows_its_last_time():
    x, loss, energy = energy_of_pairs()
    watching = watch(energy)
    with ds.Tape(loss):
        watching()
    at = x.to_numpy()
    r = shown(watching)["r"]
    np.testing.assert_allclose(r.value, at[3] - at[4])
    np.testing.assert_allclose(r.gradient, 2 * 13 * (at[3] - at[4]))
    assert r.where == watching.telling() == (3, 4)


def test_watching_changes_no_gradient():
    x, loss, energy = energy_of_pairs()
    with ds.Tape(loss):
        energy()
    right = x.grad.to_numpy()
    with ds.Tape(loss):
        watch(energy)()
    np.testing.assert_allclose(x.grad.to_numpy(), right, rtol=1e-13)


def powers():
    x = ds.field(ds.f64, shape=3, needs_grad=True)
    loss = ds.field(ds.f64, shape=(), needs_grad=True)
    x.from_numpy(np.array([0.5, 1.5, 2.0]))

    @ds.kernel
    def powers():
        for i in x:
            a = x[i] + 1.0
            p = 1.0
            for _ in range(4):
                p = p * a
            loss[None] += p

    return x, loss, powers


@pytest.mark.parametrize("trip", [0, 1, 2, 3])
def test_trips_of_an_inner_loop(trip):
    _, loss, kernel = powers()
    watching = watch(kernel)
    watching.probe, watching.trip = (2,), trip
    with ds.Tape(loss):
        watching()
    results = [w for w in watching.results() if w.slot.name == "p"]
    first, inner = results
    assert inner.hits == 4
    assert inner.value == 3.0 ** (trip + 1)
    assert inner.gradient == 3.0 ** (3 - trip)
    assert (first.value, first.gradient) == (1.0, 81.0)  # it runs once: the trip is not meant for it
    assert shown(watching)["a"].gradient == 4 * 3.0**3


def test_the_last_trip_unless_another_one_is_asked_for():
    _, loss, kernel = powers()
    watching = watch(kernel)
    watching.probe = (0,)
    with ds.Tape(loss):
        watching()
    inner = [w for w in watching.results() if w.slot.name == "p"][1]
    assert (inner.value, inner.gradient) == (1.5**4, 1.0)


def test_trips_of_a_while_loop():
    x = ds.field(ds.f64, shape=(), needs_grad=True)
    loss = ds.field(ds.f64, shape=(), needs_grad=True)
    x[None] = 2.0

    @ds.kernel
    def squares():
        p = x[None]
        while p < 100.0:
            p = p * p
        loss[None] = p

    watching = watch(squares)
    watching.trip = 1
    with ds.Tape(loss):
        watching()
    inner = [w for w in watching.results() if w.slot.name == "p"][1]
    assert (inner.value, inner.gradient, inner.hits) == (16.0, 32.0, 3)


def test_one_assignment_has_its_own_adjoint():
    """Not that of everything that is equal to it."""
    x = ds.field(ds.f64, shape=(), needs_grad=True)
    loss = ds.field(ds.f64, shape=(), needs_grad=True)
    x[None] = 3.0

    @ds.kernel
    def product():
        a = x[None]
        b = x[None]
        c = a
        loss[None] = a * a * b + 5.0 * c

    watching = watch(product)
    with ds.Tape(loss):
        watching()
    got = shown(watching)
    assert got["b"].gradient == 9.0
    assert got["c"].gradient == 5.0
    assert got["a"].gradient == 2 * 9.0 + 5.0
    assert x.grad[None] == 32.0


def test_integers_truth_values_and_large_numbers():
    out = ds.field(ds.u64, shape=())

    @ds.kernel
    def numbers():
        small = -7
        yes = small < 0  # noqa: F841
        large = ds.u64(2) ** 63 + ds.u64(5)
        out[None] = large

    watching = watch(numbers)
    watching()
    got = shown(watching)
    assert got["small"].value == -7
    assert got["yes"].value == 1
    assert int(got["large"].value) == int(got["out[None]"].value) == 2**63 + 5
    assert all(w.gradient is None for w in got.values())


def test_vectors_matrices_structs_and_their_parts():
    x = ds.field(ds.f64, shape=2, needs_grad=True)
    loss = ds.field(ds.f64, shape=(), needs_grad=True)
    x.from_numpy(np.array([2.0, 3.0]))
    Ball = ds.types.struct(mass=ds.f64, at=ds.types.vector(2, ds.f64))

    @ds.kernel
    def parts():
        for _ in range(1):
            m = ds.Matrix([[x[0], 1.0], [0.0, x[1]]])
            ball = Ball(mass=x[0], at=ds.Vector([x[1], 1.0]))
            ball.mass = ball.mass * 3.0
            v = ds.Vector([0.0, 0.0, 0.0])
            for k in range(3):
                v[k] = ball.mass * k
            loss[None] += m.determinant() + v[2] + ball.at.dot(ds.Vector([5.0, 7.0]))

    watching = watch(parts)
    with ds.Tape(loss):
        watching()
    results = watching.results()
    got = shown(watching)
    np.testing.assert_allclose(got["m"].gradient, [[3.0, 0.0], [-1.0, 2.0]])
    np.testing.assert_allclose(got["ball.at"].gradient, [5.0, 7.0])
    masses = [w for w in results if w.slot.name == "ball.mass"]
    assert [float(w.value) for w in masses] == [2.0, 6.0]
    assert [float(w.gradient) for w in masses] == [6.0, 2.0]
    assert (got["v[k]"].value, got["v[k]"].gradient, got["v[k]"].hits) == (12.0, 1.0, 3)


def test_forward_mode_shows_tangents():
    x, loss, kernel = powers()
    watching = watch(kernel)
    watching.probe, watching.trip = (1,), 1
    with ds.ad.FwdMode(loss=loss, param=x, seed=[1.0, 10.0, 100.0]):
        watching()
    first, inner = (w for w in watching.results() if w.slot.name == "p")
    assert (inner.value, inner.gradient) == (2.5**2, 2 * 2.5 * 10.0)
    assert first.gradient in (None, 0.0)


def test_what_is_not_finite_is_counted():
    x = ds.field(ds.f64, shape=4, needs_grad=True)
    loss = ds.field(ds.f64, shape=(), needs_grad=True)
    x.from_numpy(np.array([0.0, 1.0, -1.0, 4.0]))

    @ds.kernel
    def roots():
        for i in x:
            r = ds.sqrt(x[i])
            q = 1.0 / r
            loss[None] += q

    watching = watch(roots)
    with ds.Tape(loss):
        watching()
    got = shown(watching)
    assert got["r"].nonfinite == (1, 2)  # √-1; its adjoint 1 / r² of 0 and of NaN
    assert got["q"].nonfinite == (2, 0)


def test_several_launches_add_up_and_clear_begins_anew():
    _, loss, kernel = powers()
    watching = watch(kernel)
    with ds.Tape(loss):
        watching()
        watching()
    assert shown(watching)["a"].times == 6
    watching.clear()
    assert shown(watching)["a"].times == 0
    assert shown(watching)["a"].value is None
    watching()
    assert shown(watching)["a"].times == 3
    assert shown(watching)["a"].gradient is None


def test_in_place_state_is_put_back_as_ever():
    x = ds.field(ds.f64, shape=2, needs_grad=True)
    loss = ds.field(ds.f64, shape=(), needs_grad=True)

    @ds.kernel
    def sine():
        for i in x:
            y = ds.sin(x[i])
            x[i] = y

    @ds.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    watching = watch(sine)
    x.from_numpy(np.array([0.3, 1.0]))
    with ds.Tape(loss):
        watching()
        watching()
        total()
    np.testing.assert_allclose(x.grad[1], np.cos(1.0) * np.cos(np.sin(1.0)))
    y = shown(watching)["y"]
    assert y.times == 4
    np.testing.assert_allclose(y.value, np.sin(np.sin(1.0)))
    assert y.gradient == 1.0


def test_arrays_and_templates():
    loss = ds.field(ds.f64, shape=(), needs_grad=True)
    x = ds.field(ds.f64, shape=2, needs_grad=True)
    x.from_numpy(np.array([2.0, 3.0]))

    @ds.kernel
    def weighed(w: ds.types.ndarray(), f: ds.template(), c: float):
        for i in f:
            y = f[i] * w[i] * c
            loss[None] += y

    watching = watch(weighed)
    watching.probe = (1,)
    with ds.Tape(loss):
        watching(np.array([4.0, 5.0]), x, 0.5)
    assert shown(watching)["y"].value == 7.5
    np.testing.assert_allclose(x.grad.to_numpy(), [2.0, 2.5])


def test_settings_may_change():
    _, _, kernel = powers()
    watching = watch(kernel)
    watching()
    ds.init(default_fp=ds.f64)
    watching.probe = (1,)
    watching()
    assert shown(watching)["a"].value == 2.5
    assert shown(watching)["a"].times == 3


def test_an_iteration_has_no_more_indices_than_a_field():
    _, _, kernel = powers()
    with pytest.raises(ValueError, match="an iteration has at most 8 indices, not 9"):
        watch(kernel).probe = (0,) * 9


def test_iterations_are_named_by_the_persons_indices():
    x = ds.field(ds.f64, shape=10, needs_grad=True)
    loss = ds.field(ds.f64, shape=(), needs_grad=True)
    x.from_numpy(np.arange(10.0))

    @ds.kernel
    def every(step: int):
        for i in range(1, 10, step):
            y = x[i] * x[i]
            loss[None] += y

    watching = watch(every)
    watching.probe = (7,)
    with ds.Tape(loss):
        watching(3)
    y = shown(watching)["y"]
    assert (y.value, y.gradient, y.where, y.times) == (49.0, 1.0, (7,), 3)
    assert watching.loops == [("i", 1, 8)]
