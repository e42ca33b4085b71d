"""`rfft` and `irfft`."""

import numpy as np
import pytest

import dsim as ds
from tests.operations.programs import assert_differentiates, made, room


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_there_and_back(rng, n):
    x, z, again = made(rng.normal(size=(2, n))), room(2, n // 2 + 1, 2), room(2, n)
    ds.operations.rfft(x, out=z)
    np.testing.assert_allclose(
        z.to_numpy()[..., 0] + 1j * z.to_numpy()[..., 1], np.fft.rfft(x.to_numpy()), atol=1e-14
    )
    ds.operations.irfft(z, n=n, out=again)
    np.testing.assert_allclose(again.to_numpy(), x.to_numpy(), atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 6])
def test_transform(rng, n):
    x, z = made(rng.normal(size=(2, n))), room(2, n // 2 + 1, 2)
    assert_differentiates(lambda: ds.operations.rfft(x, out=z), [x], [z], rng)


@pytest.mark.slow
def test_transform_along_another_axis(rng):
    x, z = made(rng.normal(size=(6, 2))), room(4, 2, 2)
    assert_differentiates(lambda: ds.operations.rfft(x, axis=0, out=z), [x], [z], rng)


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 6])
def test_inverse(rng, n):
    z, x = made(rng.normal(size=(2, n // 2 + 1, 2))), room(2, n)
    assert_differentiates(lambda: ds.operations.irfft(z, n=n, out=x), [z], [x], rng)


@pytest.mark.slow
def test_inverse_along_another_axis(rng):
    z, x = made(rng.normal(size=(3, 2, 2))), room(5, 2)
    assert_differentiates(lambda: ds.operations.irfft(z, n=5, axis=0, out=x), [z], [x], rng)


@pytest.mark.slow
def test_coefficients_in_a_field_of_vectors(rng):
    x = made(rng.normal(size=6))
    z = ds.Vector.field(2, ds.f64, shape=4, needs_grad=True)
    loss = room()

    @ds.kernel
    def power():
        for k in z:
            loss[None] += z[k].norm_sqr() ** 2

    def run():
        ds.operations.rfft(x, out=z)
        power()

    assert ds.check_grad(run, wrt=x, loss=loss, order=2)
