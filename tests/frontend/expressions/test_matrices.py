"""Local vectors and matrices: construction, arithmetic, indexing, methods, private buffers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.frontend.dialect import close, f, lowered, refused, run, text, ti

RNG = np.random.default_rng(0)


def test_arithmetic_goes_entry_by_entry() -> None:
    x, y = f(3, entry=(2,), values=RNG.random((3, 2))), f(3, entry=(2,))

    def k(a: float):
        for i in x:
            v = x[i] * 2 - [1.0, 0.5]
            w = a / (v + 3)
            y[i] = -w * v + (1, 2)

    run(k, 0.7)
    v = x.values * 2 - [1.0, 0.5]
    close(y, -(0.7 / (v + 3)) * v + [1, 2])


def test_products_of_matrices() -> None:
    a, b = RNG.random((2, 3)), RNG.random((3, 2))
    A, B, v = f(entry=(2, 3), values=a), f(entry=(3, 2), values=b), f(entry=(3,), values=[1.0, 2.0, 3.0])
    C, w = f(entry=(2, 2)), f(entry=(2,))
    s = f(2)

    def k():
        C[None] = A[None] @ B[None]
        w[None] = A[None] @ v[None]
        s[0] = v[None] @ v[None]
        s[1] = (w[None] @ C[None])[1]

    run(k)
    close(C, a @ b)
    close(w, a @ [1.0, 2.0, 3.0])
    close(s, [14.0, (a @ [1.0, 2.0, 3.0] @ (a @ b))[1]])


def test_makers() -> None:
    M = f(10, entry=(2, 2))
    V = f(8, entry=(3,))

    def k(a: float):
        M[0] = ti.Matrix([[1.0, a], [2, 3]])
        M[1] = ti.Matrix.identity(ti.f32, 2) * a
        M[2] = ti.Matrix.zero(ti.f64, 2, 2) + 1
        M[3] = ti.Matrix.one(float, 2, 2)
        M[4] = ti.Matrix.diag(2, a)
        M[5] = ti.Matrix.rows([ti.Vector([1.0, 2.0]), [3.0, a]])
        M[6] = ti.Matrix.cols([ti.Vector([1.0, 2.0]), [3.0, a]])
        M[7] = ti.math.mat2(1, 2, 3, a)
        M[8] = [[1, 2], [3, 4]]
        M[9] = ti.Matrix([[i * 2.0 + j for j in range(2)] for i in range(2)])
        V[0] = ti.Vector([a, 1, 2])
        V[1] = ti.Vector.unit(3, 1)
        V[2] = ti.Vector.zero(float, 3)
        V[3] = ti.Vector.one(float, 3) * a
        V[4] = ti.math.vec3(a, 0, 1)
        V[5] = ti.math.vec3(ti.math.vec2(1, 2), a)
        V[6] = ti.math.vec3(a)
        V[7] = ti.Vector([1.0, 2.0, 3.0], dt=ti.i32) / 2

    run(k, 0.5)
    eye = np.eye(2)
    close(
        M,
        [
            [[1, 0.5], [2, 3]], eye * 0.5, eye * 0 + 1, eye * 0 + 1, eye * 0.5, [[1, 2], [3, 0.5]],
            [[1, 3], [2, 0.5]], [[1, 2], [3, 0.5]], [[1, 2], [3, 4]], [[0, 1], [2, 3]],
        ],
    )  # fmt: skip
    close(
        V, [[0.5, 1, 2], [0, 1, 0], [0, 0, 0], [0.5] * 3, [0.5, 0, 1], [1, 2, 0.5], [0.5] * 3, [0.5, 1, 1.5]]
    )


def test_methods() -> None:
    a, b = RNG.random(3), RNG.random(3)
    m = RNG.random((3, 3)) + np.eye(3)
    x, M, s, y = f(2, entry=(3,), values=[a, b]), f(entry=(3, 3), values=m), f(14), f(4, entry=(3,))
    N = f(3, entry=(3, 3))

    def k():
        u, w = x[0], x[1]
        s[0] = u.norm()
        s[1] = u.norm(1e-2)
        s[2] = u.norm_sqr()
        s[3] = u.dot(w)
        s[4] = u.sum() + u.max() * 10 + u.min() * 100
        s[5] = M[None].trace()
        s[6] = M[None].determinant()
        s[7] = 1.0 if (u > 0).all() and not (u > 2).any() else 0.0
        s[8] = u.norm_inv()
        s[9] = ti.math.length(u) + ti.math.distance(u, w) + ti.math.dot(u, w)
        s[10] = len(u) + M[None].n + M[None].m
        s[11] = max(u) + sum(u)
        y[0] = u.normalized()
        y[1] = u.cross(w)
        y[2] = u.cast(ti.i32)
        y[3] = ti.math.normalize(w)
        N[0] = u.outer_product(w)
        N[1] = M[None].transpose()
        N[2] = M[None].inverse()

    run(k)
    norm = np.linalg.norm
    wanted = [
        norm(a), np.sqrt(a @ a + 1e-2), a @ a, a @ b, a.sum() + a.max() * 10 + a.min() * 100, np.trace(m),
        np.linalg.det(m), 1.0, 1 / norm(a), norm(a) + norm(a - b) + a @ b, 9, a.max() + a.sum(), 0, 0,
    ]  # fmt: skip
    close(s, wanted)
    close(y, [a / norm(a), np.cross(a, b), np.zeros(3), b / norm(b)])
    close(N, [np.outer(a, b), m.T, np.linalg.inv(m)])


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_inverse_and_determinant_up_to_4(n: int) -> None:
    m = RNG.random((n, n)) + np.eye(n)
    M, I, d = f(entry=(n, n), values=m), f(entry=(n, n)), f()

    def k():
        I[None] = M[None].inverse()
        d[None] = M[None].determinant()

    run(k)
    close(I, np.linalg.inv(m))
    close(d, np.linalg.det(m))


def test_the_norm_of_zero_has_a_safe_derivative() -> None:
    x, s = f(1, entry=(2,)), f(2)

    def k():
        s[0] = x[0].norm()
        s[1] = x[0].normalized().x

    assert "sqrt0" in text(k)
    run(k)
    close(s, [0.0, 0.0])


def test_lists_of_vectors() -> None:
    s, x = f(2), f(entry=(2,), values=[0.5, 0.25])

    def k():
        fx = x[None]
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
        for i in ti.static(range(3)):
            for j in ti.static(range(3)):
                s[0] += w[i][0] * w[j][1]
        s[1] = w[2][1]

    run(k)
    close(s, [1.0, 0.5 * 0.25**2])


def test_lists_repeat_and_join_as_in_python() -> None:
    y = f(3, entry=(4,))

    def k(a: float):
        y[0] = [a] * 4
        y[1] = [1.0] + [a] * 3
        y[2] = ti.Vector([1.0] * 4) * 2 + [1, 2, 3, 4]

    run(k, 0.5)
    close(y, [[0.5] * 4, [1, 0.5, 0.5, 0.5], [3, 4, 5, 6]])


def test_arrays_are_refused() -> None:
    y, a = f(2), np.array([1.0, 2.0])

    def arithmetic():
        y[0] = (a * 2)[0]

    def indexed(i: ti.i32):
        y[0] = a[i]

    def at_compile_time():
        y[0] = a[1]

    assert "keep the array in a field" in refused(arithmetic)
    assert "the NumPy array `a` from outside can only be indexed at compile time" in refused(indexed)
    run(at_compile_time)
    assert y.values[0] == 2.0


def test_host_matrices_are_constants() -> None:
    class Host:
        __dsim_matrix__ = True

        def __init__(self, values) -> None:
            self.values = np.asarray(values)

        def __array__(self, dtype=None, copy=None):
            return self.values

    gravity, frame = Host([0.0, -9.8]), Host([[1.0, 2.0], [3.0, 4.0]])
    y = f(entry=(2,))

    def k():
        y[None] = frame @ gravity + frame[0, 1]

    run(k)
    close(y, [-19.6 + 2, -39.2 + 2])
    captures = {c.name: c for c in lowered(k).captures}
    assert captures["gravity"].value == (0.0, -9.8)
    gravity.values = np.array([0.0, -1.0])
    assert captures["gravity"].read() == (0.0, -1.0)


def test_errors_of_shapes() -> None:
    x, M, s = f(2, entry=(3,)), f(entry=(2, 2)), f(1)

    def sum_():
        s[0] = (x[0] + ti.Vector([1.0, 2.0]))[0]

    def product():
        s[0] = (M[None] @ x[0])[0]

    def stored():
        x[0] = ti.Vector([1.0, 2.0])

    def rows():
        M[None] = [[1.0, 2.0], [3.0]]

    def outside():
        s[0] = x[0][3]

    def many():
        s[0] = x[0][1, 2]

    def no_w():
        s[0] = x[0].w

    def no_method():
        s[0] = x[0].normalised()[0]

    def not_square():
        s[0] = ti.Matrix([[1.0, 2.0]]).trace()

    def too_large():
        s[0] = ti.Matrix.identity(float, 5).determinant()

    def reshaped():
        v = x[0]
        v = M[None][0]

    def condition():
        if x[0] > 0:
            s[0] = 1.0

    def assigned_scalar():
        s[0] = x[0]

    def part_of_part():
        m = M[None]
        m[0:2][1] = ti.Vector([1.0, 2.0])

    def unknown_length(n: ti.i32):
        s[0] = ti.Vector.zero(float, n)[0]

    def wrong_arguments():
        s[0] = x[0].dot()

    def no_list(): s[0] = ti.Vector(1.0)[0]  # fmt: skip

    assert refused(sum_).startswith("shape: `+` needs equal shapes, got a vector of 3 and a vector of 2")
    assert "shape: `@` of a matrix of 2 by 2 and a vector of 3: the inner lengths differ" in refused(product)
    assert "the left side is a vector of 3, the right side a vector of 2" in refused(stored)
    assert "the rows of a matrix have different lengths: 2, 1" in refused(rows)
    assert "index: a part of a part cannot be assigned" in refused(part_of_part)
    assert "index: index 3 is outside an element of `x`, a vector of 3" in refused(outside)
    assert "index: an element of `x` is a vector of 3, got 2 indices" in refused(many)
    assert "index: a vector of 3 has no `w`\nhelp: its last component is `z`" in refused(no_w)
    assert "has no method `normalised`\nhelp: did you mean `normalized`?" in refused(no_method)
    assert "`trace` needs a square matrix, got a matrix of 1 by 2" in refused(not_square)
    assert "limit: `determinant` goes up to 4 by 4, got a matrix of 5 by 5" in refused(too_large)
    assert "`v` is a vector of 3, and a local keeps its type; the right side is a vector of 2" in refused(
        reshaped
    )
    assert "a vector of 3 is not a truth value" in refused(condition)
    assert "the left side is a scalar, the right side a vector of 3" in refused(assigned_scalar)
    assert "the shape of a local vector or matrix must be known at compile time" in refused(unknown_length)
    assert "wrong arguments for `dot`: missing a required argument: 'other'" in refused(wrong_arguments)
    assert "a vector is made of a list of its entries, got a float" in refused(no_list)


def test_the_type_of_the_entries() -> None:
    A, y = f(entry=(2, 2), values=np.eye(2)), f(3)

    def k(a: float):
        m = ti.Matrix([[a, 0.0], [0.0, a]])
        y[0] = ti.cast(0.1, A[None].dtype) + m.trace()
        y[1] = ti.Vector.one(m.dtype, 2).sum()
        v = ti.Vector([1, 2])
        if ti.static(v.dtype == ti.i32 and m.dtype != ti.i32):
            y[2] = 1.0

    run(k, 2.0)
    close(y, [4.1, 2.0, 1.0])
