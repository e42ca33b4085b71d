"""Local vectors and matrices: making, computing, indexing, methods, private buffers."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.ir.nodes import Alloc, Assert
from dsim.ir.walk import statements
from tests.frontend.dialect import f, lowered, refused, run, text, ti

RNG = np.random.default_rng(0)


def close(field, wanted) -> None:
    np.testing.assert_allclose(field.values, wanted, rtol=1e-10, atol=1e-12)


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


def test_indices_swizzles_and_slices() -> None:
    M, s, y = f(entry=(3, 3), values=np.arange(9).reshape(3, 3)), f(10), f(entry=(2,))

    def k():
        m = M[None]
        v = m[1, :]
        s[0] = m[1, 2] * 100 + m[2][0]
        s[1] = v.x + v.y * 10 + v[2] * 100
        s[2] = m[:, 0].sum()
        s[3] = v.zyx.dot(ti.Vector([1.0, 10.0, 100.0]))
        s[4] = m[0:2, 1:3].sum()
        s[5] = M[None][2, 1]
        s[6] = v.rg.sum()
        s[7] = m[1].sum()
        y[None] = v[1:]

    run(k)
    close(s, [506, 3 + 40 + 500, 9, 5 + 40 + 300, 1 + 2 + 4 + 5, 7, 7, 12, 0, 0])
    close(y, [4, 5])


def test_one_entry_of_an_element_loads_only_it() -> None:
    x, s = f(4, entry=(3,), values=np.arange(12).reshape(4, 3)), f(4)

    def k():
        for i in x:
            s[i] = x[i][2] + x[i].y

    assert text(k).count("= x[") == 2
    run(k)
    close(s, [3, 9, 15, 21])


def test_assigning_entries() -> None:
    s, X = f(6), f(3, entry=(2, 2))

    def k():
        v = ti.Vector([1.0, 2.0, 3.0])
        v[0] -= 5.0
        v.y = 7.0
        v[2] *= v[0]
        v.xz = v.zx
        v.zx += [0.0, 0.0]
        v.xz = v.zx
        m = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
        m[1, 0] = 10.0
        m[0][1] += 1.0
        m[1] = ti.Vector([8.0, 9.0])
        m[:, 0] = ti.Vector([5.0, 6.0])
        a, b = v[0], v[1]
        a, b = b, a
        v.fill(2.0) if False else None
        s[0] = v[0]
        s[1] = v[1]
        s[2] = v[2]
        s[3] = a
        s[4] = b
        X[0] = m
        X[1][0, 1] = 3.0
        X[1][1, 1] += 4.0
        X[2].fill(6.0)

    run(k)
    close(s, [-4, 7, -12, 7, -4, 0])
    close(X, [[[5, 3], [6, 9]], [[0, 3], [0, 4]], [[6, 6], [6, 6]]])


def test_filling_locals() -> None:
    s = f(2)

    def k(a: float):
        v = ti.Vector([1.0, 2.0])
        w = ti.Vector.zero(float, 18)
        for i in range(3):
            v.fill(a + i)
            w.fill(w[i] + 1.0)
        s[0] = v.sum()
        s[1] = w.sum()

    run(k, 0.5)
    close(s, [5.0, 54.0])


def test_an_index_known_at_run_time_selects() -> None:
    s, n = f(3), f(6, dtype=ti.i32, values=[0, 1, 2, 2, 1, 0])

    def k():
        for i in range(3):
            v = ti.Vector([10.0, 20.0, 30.0])
            v[n[i]] += 1.0
            m = ti.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
            m[n[0], n[3 + i]] = 100.0
            s[i] = v[n[5 - i]] + m[n[1], i] + m[n[0], n[3]] * 0.001

    run(k)
    close(s, [11 + 4 + 0.1, 21 + 5 + 0.003, 31 + 6 + 0.003])
    kernel = lowered(k).kernel
    assert not any(isinstance(x, Alloc) for x in statements(kernel.body))


def test_a_run_time_index_is_checked_unless_it_is_known_to_fit() -> None:
    s, n = f(3), f(1, dtype=ti.i32)

    def from_a_loop():
        v = ti.Vector([1.0, 2.0, 3.0])
        for i in range(3):
            s[i] = v[i]

    def from_data():
        v = ti.Vector([1.0, 2.0, 3.0])
        s[0] = v[n[0]]

    def checks(k) -> int:
        return sum(isinstance(x, Assert) for x in statements(lowered(k).kernel.body))

    assert checks(from_a_loop) == 0
    assert checks(from_data) == 1


def test_large_vectors_with_run_time_indices_live_in_memory() -> None:
    s = f(20)

    def k(a: float):
        v = ti.Vector.zero(float, 20)
        w = ti.Vector.one(float, 17)
        for i in range(20):
            v[i] = a * i
        v[3] += 1.0
        for i in range(20):
            s[i] = v[19 - i] + w[i % 17] + v.sum() * 0.0

    run(k, 2.0)
    v = 2.0 * np.arange(20)
    v[3] += 1.0
    close(s, v[::-1] + 1.0)
    names = [x.memory.name for x in statements(lowered(k).kernel.body) if isinstance(x, Alloc)]
    assert names == ["v", "w"]


def test_large_arguments_live_in_memory_too() -> None:
    s = f(3)

    @ti.func
    def pick(v, i):
        v[i] += 1.0
        return v[i] + v[0]

    def k(n: ti.i32, w: ti.types.vector(17, ti.f64)):
        v = ti.Vector([j * 1.0 for j in range(20)])
        s[0] = pick(v, n)
        s[1] = v[n]
        s[2] = w[n]

    run(k, 3, np.arange(17.0) * 2)
    close(s, [4.0, 3.0, 6.0])


def test_large_matrices_with_constant_indices_stay_scalars() -> None:
    s = f(1)

    def k(a: float):
        m = ti.Matrix.identity(float, 5) * a
        m[2, 3] += 1.0
        s[0] = m.trace() + (m @ m)[2, 3]

    run(k, 2.0)
    close(s, [10.0 + 4.0])
    assert "alloc" not in text(k)


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
    assert "a Python container can only be indexed at compile time\nhelp: copy it to a field" in refused(
        indexed
    )
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
    assert "index: a vector of 3 has no `w`" in refused(no_w)
    assert "has no method `normalised`\nhelp: did you mean `normalized`?" in refused(no_method)
    assert "`trace` needs a square matrix, got a matrix of 1 by 2" in refused(not_square)
    assert "limit: `determinant` goes up to 4 by 4, got a matrix of 5 by 5" in refused(too_large)
    assert "`v` is a vector of 3, and stays one; the right side is a vector of 2" in refused(reshaped)
    assert "a vector of 3 is neither true nor false" in refused(condition)
    assert "the left side is a scalar, the right side a vector of 3" in refused(assigned_scalar)
    assert "the shape of a local vector or matrix must be known at compile time" in refused(unknown_length)
    assert "wrong arguments for `dot`: missing a required argument: 'other'" in refused(wrong_arguments)
    assert "a vector is made of a list of its entries, got a float" in refused(no_list)
