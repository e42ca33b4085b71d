"""Newton's method by sparse Hessians and Jacobians."""

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

import dsim as ti
from tests.runtime.transforms.sparse.sparse_programs import grid, sheet


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def orders(errors):
    """The exponents p of e' = C eᵖ, from each error to the next."""
    logs = np.log(errors)
    return np.diff(logs[1:]) / np.diff(logs[:-1])


@pytest.mark.slow
def test_a_hanging_sheet_converges_quadratically():
    p = sheet(8, 4)
    p.x.from_numpy(p.rest)
    f = ti.value_and_grad(p.run, wrt=p.x, out=p.U)
    free = np.flatnonzero(~p.held)
    pattern, states = "auto", []
    for _ in range(12):
        gradient = f()[1].ravel()[free]
        states.append(p.x.to_numpy().ravel())
        if np.abs(gradient).max() < 1e-13:
            break
        pattern = H = ti.hessian(p.run, wrt=p.x, out=p.U, sparse=pattern)
        step = np.zeros(H.shape[0])
        step[free] = spsolve(H[free][:, free].tocsc(), gradient)
        p.x.from_numpy((states[-1] - step).reshape(p.rest.shape))
    errors = np.array([np.abs(s - states[-1]).max() for s in states[:-1]])
    assert np.abs(f()[1].ravel()[free]).max() < 1e-12
    assert errors[0] > 0.1
    known = errors[errors > 1e-12]
    assert len(known) >= 4
    assert np.all(orders(known)[-2:] > 1.7)


@pytest.mark.slow
def test_equations_on_a_grid_converge_quadratically():
    p = grid((9, 9))
    pattern, states = "auto", []
    p.x.fill(1.0)
    for _ in range(12):
        states.append(p.x.to_numpy().ravel())
        J = ti.linearize(p.run, wrt=p.x, out=p.y)
        pattern = J.sparse(pattern)
        step = spsolve(pattern.tocsc(), J.value.ravel() - 5.0)
        p.x.from_numpy((states[-1] - step).reshape(9, 9))
    assert np.abs(J.value - 5.0).max() < 1e-12
    errors = np.array([np.abs(s - states[-1]).max() for s in states])
    known = errors[errors > 1e-10]
    assert np.all(orders(known)[-2:] > 1.7)
