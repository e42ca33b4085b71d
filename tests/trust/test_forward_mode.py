"""Forward mode: alone, with local vectors, with a tape around it or inside it."""

import numpy as np
import pytest

import dsim as ti
from tests.trust.making import both_types, numbers

pytestmark = pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")


@both_types
def test_the_same_store_twice(real):
    x, y = numbers(start=1.0, real=real), numbers(real=real)

    @ti.kernel
    def triple():
        y[None] = 3.0 * x[None]

    with ti.ad.FwdMode(loss=y, param=x):
        triple()
        triple()
    assert y.dual[None] == 3.0


@both_types
def test_local_vectors_and_matrices(real):
    x, y = ti.Vector.field(2, real, shape=()), numbers(real=real)
    x[None] = [1.0, 2.0]

    @ti.kernel
    def run():
        m = ti.Matrix([[x[None][0], 2.0], [1.0, x[None][1]]])
        v = m @ (m @ x[None])
        y[None] = v.dot(v) + m.determinant()

    def by_hand(a, b):
        m = np.array([[a, 2.0], [1.0, b]])
        v = m @ m @ [a, b]
        return v @ v + a * b - 2.0

    with ti.ad.FwdMode(loss=y, param=x, seed=[0.5, -1.0]):
        run()
    h = 1e-6
    slope = (by_hand(1 + 0.5 * h, 2 - h) - by_hand(1 - 0.5 * h, 2 + h)) / (2 * h)
    assert y[None] == pytest.approx(by_hand(1.0, 2.0), rel=1e-6)
    assert y.dual[None] == pytest.approx(slope, rel=1e-5)


@both_types
def test_vectors_and_matrices_that_a_loop_carries(real):
    x, y, n = numbers(start=0.3, real=real), numbers(real=real), 5

    @ti.kernel
    def run():
        for _ in range(1):
            v, m = ti.Vector([x[None], 1.0]), ti.Matrix([[1.0, x[None]], [-x[None], 1.0]])
            for k in range(n):
                v = m @ v
                v[k % 2] *= x[None]
            y[None] = v.norm_sqr()

    def by_hand(a):
        v, m = np.array([a, 1.0]), np.array([[1.0, a], [-a, 1.0]])
        for k in range(n):
            v = m @ v
            v[k % 2] *= a
        return v @ v

    with ti.ad.FwdMode(loss=y, param=x):
        run()
    slope = (by_hand(0.3 + 1e-6) - by_hand(0.3 - 1e-6)) / 2e-6
    assert y.dual[None] == pytest.approx(slope, rel=1e-5)


@both_types
def test_a_tape_inside_forward_mode(real):
    x, y = numbers(start=2.0, real=real), numbers(real=real)

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    with ti.ad.FwdMode(loss=y, param=x), ti.ad.Tape(y):
        cube()
    assert x.grad.dual[None] == 12.0


@both_types
def test_forward_mode_inside_a_tape(real):
    x, y, slope = numbers(start=2.0, real=real), numbers(real=real), numbers(real=real)

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    @ti.kernel
    def take():
        slope[None] = y.dual[None]

    with ti.ad.Tape(slope):
        with ti.ad.FwdMode(loss=y, param=x):
            cube()
        take()
    assert slope[None] == 12.0
    assert x.grad[None] == 12.0


@both_types
def test_forward_mode_inside_forward_mode(real):
    x, y = numbers(start=2.0, real=real), numbers(real=real)

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    with ti.ad.FwdMode(loss=y, param=x), ti.ad.FwdMode(loss=y, param=x):
        cube()
    assert y.dual.dual[None] == 12.0
