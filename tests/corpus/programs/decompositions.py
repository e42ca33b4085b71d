"""Decompositions of small matrices and linear equations."""

import numpy as np

import dsim as ds
from tests.corpus.program import program


def _spread(make, count, n):
    """Matrices whose singular values and eigenvalues are well apart, so that differences see no kink."""
    return np.diag(np.arange(1.0, n + 1))[::-1] + make.rng.uniform(-0.4, 0.4, (count, n, n))


@program
def singular_values_and_vectors_of_two(make):
    a, u, s, v = make.input(3, entry=(2, 2), start=_spread(make, 3, 2)), *_three(make, 3, 2)

    @ds.kernel
    def run():
        for i in a:
            U, S, V = ds.svd(a[i])
            u[i] = U
            s[i] = S
            v[i] = V

    return run


@program
def singular_values_and_vectors_of_three(make):
    a, u, s, v = make.input(2, entry=(3, 3), start=_spread(make, 2, 3)), *_three(make, 2, 3)

    @ds.kernel
    def run():
        for i in a:
            U, S, V = ds.svd(a[i])
            u[i] = U
            s[i] = S
            v[i] = V

    return run


def _three(make, count, n):
    return [make.output(count, entry=(n, n)) for _ in range(3)]


@program
def stress_by_singular_values(make):
    a, y = make.input(2, entry=(3, 3), start=_spread(make, 2, 3)), make.output(2, entry=(3, 3))

    @ds.kernel
    def run():
        for i in a:
            U, S, V = ds.svd(a[i])
            J = 1.0
            for d in ds.static(range(3)):
                J *= S[d, d]
            y[i] = 2.0 * (a[i] - U @ V.transpose()) @ a[i].transpose() + J * (J - 1.0)

    return run


@program
def stress_at_rest(make):
    """All singular values are 1."""
    turned = np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
    a, y = make.input(2, entry=(3, 3), start=[np.eye(3), turned]), make.output(2, entry=(3, 3))

    @ds.kernel
    def run():
        for i in a:
            R, S = ds.polar_decompose(a[i])
            y[i] = 2.0 * (a[i] - R) @ a[i].transpose() + S.trace() * R

    return run


@program
def polar_decomposition_of_two(make):
    start = np.array([np.eye(2), [[1.0, 2.0], [-1.0, 1.0]], [[1.0, 2.0], [3.0, 1.0]]])
    a, r, s = (
        make.input(3, entry=(2, 2), start=start),
        make.output(3, entry=(2, 2)),
        make.output(3, entry=(2, 2)),
    )

    @ds.kernel
    def run():
        for i in a:
            R, S = ds.polar_decompose(a[i])
            r[i] = R
            s[i] = S

    return run


@program
def polar_decomposition_of_three(make):
    a, r = make.input(3, entry=(3, 3), start=_spread(make, 3, 3)), make.output(3, entry=(3, 3))
    s = make.output(3, entry=(3, 3))

    @ds.kernel
    def run():
        for i in a:
            R, S = ds.polar_decompose(a[i])
            r[i] = R
            s[i] = S

    return run


@program
def eigenvalues_and_eigenvectors_of_symmetric_matrices(make):
    a, b = (
        make.input(3, entry=(2, 2), start=_spread(make, 3, 2)),
        make.input(2, entry=(3, 3), start=_spread(make, 2, 3)),
    )
    v, w = make.output(3, entry=(2, 2)), make.output(2, entry=(3, 3))
    x, y = make.output(3, entry=(2,)), make.output(2, entry=(3,))

    @ds.kernel
    def run():
        for i in a:
            values, vectors = ds.sym_eig(a[i])
            x[i] = values
            v[i] = vectors
        for i in b:
            values, vectors = ds.sym_eig(b[i])
            y[i] = values
            w[i] = vectors

    return run


@program
def complex_and_real_eigenvalues(make):
    start = np.array([[[1.0, 2.0], [3.0, 4.0]], [[4.0, 2.0], [-1.5, 5.0]], [[1.0, -2.0], [2.5, 0.5]]])
    a, x, v = (
        make.input(3, entry=(2, 2), start=start),
        make.output(3, entry=(2, 2)),
        make.output(3, entry=(4, 2)),
    )

    @ds.kernel
    def run():
        for i in a:
            values, vectors = ds.eig(a[i])
            x[i] = values
            v[i] = vectors

    return run


@program
def linear_equations(make):
    a, b = make.input(2, entry=(2, 2)), make.input(2, entry=(2,))
    c, d = make.input(2, entry=(3, 3)), make.input(2, entry=(3,))
    x, y = make.output(2, entry=(2,)), make.output(2, entry=(3,))

    @ds.kernel
    def run():
        for i in a:
            x[i] = ds.solve(a[i] + ds.Matrix([[0.0, 3.0], [3.0, 0.0]]), b[i])
        for i in c:
            y[i] = ds.solve(c[i] + ds.Matrix([[0.0, 4.0, 0.0], [0.0, 0.0, 4.0], [4.0, 0.0, 0.0]]), d[i])

    return run


@program
def inverse_of_four(make):
    a, y = make.input(2, entry=(4, 4), low=-0.6, high=0.6), make.output(2, entry=(4, 4))

    @ds.kernel
    def run():
        for i in a:
            y[i] = (a[i] + 2.0 * ds.Matrix.identity(make.real, 4)).inverse()

    return run
