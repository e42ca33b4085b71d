"""Equations that are solved again: where their Jacobian has entries is looked for once, unless it changes."""

from __future__ import annotations

import numpy as np
import pytest

import dsim as ds
from dsim.runtime.transforms.sparse import compression

pytestmark = pytest.mark.slow

N = 40


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The shapes of the matrices whose pattern was looked for."""
    found, search = [], compression.found_pattern

    def counted(products, *given):
        found.append(products.shape)
        return search(products, *given)

    monkeypatch.setattr(compression, "found_pattern", counted)
    return found


def chain(far):
    """A chain whose element i is held by its neighbour, and by element ``far[i]``."""
    u, k, r, total = (ds.field(ds.f64, shape=s, needs_grad=True) for s in (N, N, N, ()))
    held = ds.field(ds.i32, shape=N)
    held.from_numpy(far.astype(np.int32))
    k.from_numpy(1 + np.arange(N) / N)

    @ds.kernel
    def residual():
        for i in u:
            r[i] = (3 + k[i]) * u[i] - u[ds.max(i - 1, 0)] - 0.5 * u[held[i]] - 1

    @ds.kernel
    def sweep():
        for i in u:
            u[i] -= r[i] / (3 + k[i])

    @ds.implicit(residual=(residual, r), unknown=u, wrt=[k], solver="sparse")
    def solve():
        for _ in range(100):
            residual()
            sweep()

    @ds.kernel
    def measure():
        for i in u:
            total[None] += u[i] ** 2

    return solve, measure, k, total, held


def matrix(k, far):
    A = np.diag(3 + k)
    np.add.at(A, (np.arange(N), np.maximum(np.arange(N) - 1, 0)), -1.0)
    np.add.at(A, (np.arange(N), far), -0.5)
    return A


def expected(k, far):
    A = matrix(k, far)
    u = np.linalg.solve(A, np.ones(N))
    return -np.linalg.solve(A.T, 2 * u) * u


def test_equal_equations_are_searched_once(searches):
    far = (np.arange(N) * 7 + 3) % N
    solve, measure, k, total, _ = chain(far)
    for _ in range(3):
        with ds.ad.Tape(total):
            solve()
            measure()
        assert k.grad.to_numpy() == pytest.approx(expected(k.to_numpy(), far), rel=1e-7)
        k.from_numpy(k.to_numpy() + 0.1)
    assert searches == [(N, N)]


def test_a_pattern_that_changes_is_found_again(searches):
    far = (np.arange(N) * 7 + 3) % N
    solve, measure, k, total, held = chain(far)
    for step in range(3):
        now = (far + 5 * step) % N
        held.from_numpy(now.astype(np.int32))
        with ds.ad.Tape(total):
            solve()
            measure()
        assert k.grad.to_numpy() == pytest.approx(expected(k.to_numpy(), now), rel=1e-7)
    assert searches == [(N, N)] * 3


@pytest.mark.parametrize("solver", ["direct", "sparse"])
def test_a_singular_jacobian_is_refused(solver):
    u, k, r, total = (ds.field(ds.f64, shape=s, needs_grad=True) for s in (3, 3, 3, ()))

    @ds.kernel
    def residual():
        for i in u:
            r[i] = k[i] * u[i]

    @ds.implicit(residual=(residual, r), unknown=u, wrt=[k], solver=solver)
    def solve():
        u.fill(0.0)

    @ds.kernel
    def measure():
        for i in u:
            total[None] += u[i]

    def gradient():
        with ds.ad.Tape(total):
            solve()
            measure()

    with pytest.raises(ds.GradientError, match="were not solved by"):
        gradient()
