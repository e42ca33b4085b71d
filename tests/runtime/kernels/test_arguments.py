"""Numbers, vectors and matrices as arguments of kernels: what is taken, and what is refused."""

import math

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init()


def test_arguments_are_checked():
    @ti.kernel
    def k(n: ti.i32, s: ti.f32, flag: bool) -> ti.f32:
        r = 0.0
        if flag:
            r = n * s
        return r

    assert k(2, 1.5, True) == 3.0
    assert k(np.int64(2), 1, True) == 2.0
    assert k(True, np.float32(0.5), False) == 0.0
    assert k(s=2.0, flag=True, n=3) == 6.0
    with pytest.raises(TypeError, match=r"`k` takes 3 arguments \(n, s, flag\), got 1"):
        k(1)
    with pytest.raises(TypeError, match="got 4"):
        k(1, 2, 3, 4)
    with pytest.raises(TypeError, match="`k` has no argument `m`"):
        k(1, 2.0, m=3)
    with pytest.raises(TypeError, match="`k` got `n` twice"):
        k(1, 2.0, n=3)
    with pytest.raises(ti.LaunchTypeError) as error:
        k(1.5, 2.0, True)
    assert "argument `n` of `k` is an i32: got the float 1.5" in str(error.value)
    with pytest.raises(TypeError, match=r"argument `n` of `k` is an i32: 4294967296 is outside"):
        k(1 << 32, 2.0, True)
    with pytest.raises(TypeError, match="argument `s` of `k` is an f32: got str"):
        k(1, "2.0", True)
    with pytest.raises(TypeError, match=r"got an array of shape \(2,\)"):
        k(1, np.zeros(2), True)


@pytest.mark.parametrize(("dtype", "largest"), [(ti.f16, 65504.0), (ti.f32, 3.4028234663852886e38)], ids=str)
def test_floats_beyond_the_largest_of_their_type_are_refused(dtype, largest):
    @ti.kernel
    def same(a: dtype) -> ti.f64:
        return a

    for value in (largest, -largest, math.inf, -math.inf):
        assert same(value) == value
    assert math.isnan(same(math.nan))
    for value in (2 * largest, -2 * largest, int(4 * largest)):
        with pytest.raises(ti.LaunchTypeError, match=f"is beyond the largest {dtype}"):
            same(value)


def test_arguments_that_are_vectors():
    @ti.kernel
    def along(v: ti.math.vec2, w: ti.types.vector(2, ti.f32)) -> ti.f32:
        return v.dot(w)

    assert along([1.0, 2.0], ti.Vector([3.0, 4.0])) == 11.0
    with pytest.raises(TypeError, match=r"is a vector of 2 f\d\d: got shape \(3,\)"):
        along([1.0, 2.0, 3.0], [1.0, 2.0])


def test_vectors_and_matrices_that_do_not_fit():
    @ti.kernel
    def k(v: ti.math.vec3, m: ti.math.mat2) -> float:
        return v.x + m[0, 0]

    good = [[1.0, 2.0], [3.0, 4.0]]
    for v, m, what in (
        (1.0, good, "argument `v` of `k` is a vector of 3 f32: got float"),
        ([1.0, 2.0], good, r"argument `v` of `k` is a vector of 3 f32: got shape \(2,\)"),
        ([1, 2, 3], [1, 2, 3, 4], r"argument `m` of `k` is a matrix of 2 by 2 f32: got shape \(4,\)"),
        (
            [1, 2, 3],
            [[1, 2], [3]],
            "argument `m` of `k` is a matrix of 2 by 2 f32: got rows of different len",
        ),
    ):
        with pytest.raises(TypeError, match=what):
            k(v, m)
    assert k((1, 2, 3), np.ones((2, 2))) == 2.0


def test_default_arguments():
    @ti.kernel
    def k(n: ti.i32, m: ti.i32 = 5) -> ti.i32:
        return n * m

    assert k(2) == 10
    assert k(2, m=3) == 6


def test_numbers_of_numpys_as_arguments():
    @ti.kernel
    def real(a: ti.f64) -> ti.f64:
        return 2 * a

    @ti.kernel
    def whole(a: ti.i32) -> ti.i32:
        return 2 * a

    for three in (np.array(3.0), np.float32(3), np.float16(3), np.array(3), np.uint8(3)):
        assert real(three) == 6.0
    for one in (np.bool_(True), np.array(True), np.array(1), np.int64(1)):
        assert (whole(one), real(one)) == (2, 2.0)
    for three in (np.array(3.0), np.float32(3)):
        with pytest.raises(ti.LaunchTypeError, match=r"`a` of `whole` is an i32: got the float 3\.0"):
            whole(three)
