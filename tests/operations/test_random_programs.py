"""Random sequences of operations and kernels, in place too: both modes, and second derivatives."""

import numpy as np
import pytest

import dsim as ds
from tests.operations.programs import made, room
from tests.second_orders import assert_second_orders

N = 4
pytestmark = pytest.mark.slow


@ds.ad.operation
def mixed(a, b, c):
    return np.sin(a) * b + c * a, np.exp(-(b * b)) + c


@mixed.jvp
def _(a, b, c, /, *, out, tangents):
    da, db, dc = tangents
    return np.cos(a) * b * da + np.sin(a) * db + dc * a + c * da, (out[1] - c) * (-2.0 * b) * db + dc


@mixed.vjp
def _(a, b, c, /, *, out, adjoint):
    g, h = adjoint
    return g * (np.cos(a) * b + c), g * np.sin(a) - h * (out[1] - c) * 2.0 * b, g * a + h


class RandomProgram:
    """Steps on four vectors and a matrix, from copies of their parameters."""

    def __init__(self, seed):
        rng = self.rng = np.random.default_rng(seed)
        self.params = [
            made(rng.normal(size=(N, N)) + 5 * np.eye(N)),
            *(made(rng.normal(size=N)) for _ in range(4)),
        ]
        self.A, *self.v = (room(*p.shape) for p in self.params)
        self.w, self.q, self.z, self.loss = room(N), room(N, N), room(N // 2 + 1, 2), room()
        kinds = [self.solve, self.mix, self.transform, self.kernel, self.copy, self.eigenvalues]
        self.steps = [
            kinds[rng.integers(len(kinds))](*rng.permutation(4)[:3]) for _ in range(rng.integers(2, 6))
        ]
        self.end = self._end(made(rng.normal(size=(4, N)), needs_grad=False))

    def solve(self, k, n, m):
        target = self.v[k] if self.rng.random() < 0.3 else self.v[n]
        return lambda: ds.operations.solve(self.A, self.v[k], out=target)

    def mix(self, k, n, m):
        return lambda: mixed(self.v[m], self.v[k], self.v[n], out=(self.v[k], self.v[n]))

    def transform(self, k, n, m):
        def there_and_back():
            ds.operations.rfft(self.v[k], out=self.z)
            ds.operations.irfft(self.z, n=N, out=self.v[n])

        return there_and_back

    def kernel(self, k, n, m):
        a, b = self.v[k], self.v[n]

        @ds.kernel
        def bump():
            for i in a:
                a[i] = 0.5 * a[i] + 0.3 * ds.sin(b[i])

        return bump

    def copy(self, k, n, m):
        return lambda: self.v[k].copy_from(self.v[n])

    def eigenvalues(self, k, n, m):
        def of_the_matrix():
            ds.operations.eigh(self.A, out=(self.w, self.q))
            self.v[k].copy_from(self.w)

        return of_the_matrix

    def _end(self, weights):
        a, b, c, d = self.v
        e, f, g, h = self.params[1:]
        loss, A = self.loss, self.A

        @ds.kernel
        def end():
            for i in a:
                loss[None] += weights[0, i] * a[i] + weights[1, i] * b[i] ** 2 + weights[2, i] * ds.sin(c[i])
                loss[None] += weights[3, i] * d[i] ** 3 + A[i, i] ** 2
                loss[None] += e[i] ** 3 + f[i] ** 3 + g[i] ** 3 + h[i] ** 3  # each matters

        return end

    def run(self):
        for working, param in zip((self.A, *self.v), self.params, strict=True):
            working.copy_from(param)
        for step in self.steps:
            step()
        self.end()


@pytest.mark.parametrize("seed", range(8))
def test_a_random_program(seed):
    ds.init(default_fp=ds.f64)
    program = RandomProgram(seed)
    param = program.params[seed % 2 * (1 + seed // 2 % 4)]
    found = ds.check_grad(program.run, wrt=program.params, loss=program.loss)
    assert found, found
    assert_second_orders(program.run, param, program.loss, program.rng)
