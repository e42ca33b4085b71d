"""Kernels and funcs with several results."""

from dataclasses import replace
from typing import Tuple  # noqa: UP035 (programs write it so)

import numpy as np
import pytest

import dsim as ti
from dsim.runtime.state import settings

vec2, mat2 = ti.math.vec2, ti.math.mat2
Pair = ti.types.struct(a=ti.f32, b=ti.types.vector(2, ti.i32))


def test_the_spellings():
    @ti.kernel
    def plain(a: float) -> (ti.f32, ti.i32):
        return a * 2, 3.75 * a

    @ti.kernel
    def typed(a: float) -> Tuple[ti.f32, ti.i32]:  # noqa: UP006
        return [a * 2, 3]

    @ti.kernel
    def builtin(a: float) -> tuple[float, int]:
        return a * 2, 3

    with pytest.warns(ti.DsimWarning, match="a float becomes an integer here"):
        assert plain(1.5) == (3.0, 5)
    assert typed(1.5) == builtin(1.5) == (3.0, 3)
    assert [type(v) for v in typed(1.5)] == [float, int]


def test_vectors_matrices_and_structs_among_them():
    @ti.kernel
    def run(a: float) -> tuple[vec2, ti.f32, mat2, Pair, ti.u1]:
        return [a, 2.0], a, ti.Matrix([[1.0, a], [a, 2.0]]), Pair(a, [1, 2]), a > 1.0

    v, x, m, p, t = run(1.5)
    assert v.to_list() == [1.5, 2.0]
    assert x == 1.5
    np.testing.assert_array_equal(m.to_numpy(), [[1.0, 1.5], [1.5, 2.0]])
    assert (p.a, p.b.to_list()) == (1.5, [1, 2])
    assert t is True


def test_early_returns_and_loops():
    x = ti.field(ti.f32, shape=5)
    x.from_numpy(np.array([1.0, 3.0, 2.0, 7.0, 5.0], np.float32))

    @ti.kernel
    def first_above(limit: float) -> (int, float):
        for _ in range(1):
            for i in range(5):
                if x[i] > limit:
                    return i, x[i]
        return -1, 0.0

    with pytest.warns(ti.DsimWarning, match="this loop runs serially"):
        assert [first_above(v) for v in (2.5, 6.0, 9.0)] == [(1, 3.0), (3, 7.0), (-1, 0.0)]


def test_in_funcs_they_are_held_to_their_types():
    @ti.func
    def split(a: float) -> (ti.i32, ti.f32):
        n = ti.floor(a, int)
        return n, a - n

    @ti.kernel
    def run(a: float) -> float:
        n, rest = split(a)
        return n / 2 + rest

    assert run(3.5) == 2.0


def test_the_reference_gives_the_same():
    @ti.kernel
    def run(a: float) -> (vec2, ti.f32):
        return [a, 2.0], a + 1.0

    v, x = run(1.5)
    settings.change(replace(settings.current(), backend="reference"))
    w, y = run(1.5)
    assert (v.to_list(), x) == (w.to_list(), y)


def test_what_does_not_fit():
    @ti.kernel
    def fewer(a: float) -> (ti.f32, ti.i32):
        return a

    @ti.kernel
    def other(a: float) -> (ti.f32, ti.i32):
        return a, ti.Vector([1, 2])

    @ti.kernel
    def nothing(a: float) -> (ti.f32, ti.i32):
        if a > 0.0:
            return a, 1

    @ti.kernel
    def odd(a: float) -> (ti.f32, "text"):  # noqa: F821
        return a, 1

    for kernel, message in [
        (fewer, "this returns an f32, but `fewer` declares 2 values: an f32, an i32"),
        (other, "this returns a vector of 2, but `other` declares an i32"),
        (nothing, "`nothing` declares a result, but lacks one on some path"),
        (odd, "a kernel returns scalars, vectors, matrices and structs"),
    ]:
        with pytest.raises(ti.TaichiCompilationError, match=message):
            kernel(1.0)
