"""Entries of vectors and matrices: indices, swizzles, slices, and the storage of large ones."""

from __future__ import annotations

import numpy as np

from dsim.ir.nodes import Alloc, Assert
from dsim.ir.walk import statements
from tests.frontend.dialect import close, f, lowered, refused, run, text, ti

RNG = np.random.default_rng(0)


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


def test_names_of_what_has_no_such_entry() -> None:
    p, s = f(4), f()

    def component():
        for i in range(3):
            s[None] += p[i + 1].x - p[i].x

    def written():
        p[0].x = 1.0

    def several():
        s[None] = p[0].xy

    def negative():
        v = ti.Vector([1.0, 2.0])
        s[None] = v[-1]

    def uncalled():
        v = ti.Vector([1.0, 2.0])
        s[None] += 2.0 * v.norm

    assert refused(component).startswith(
        "unknown-attribute: an f64 has no `x`\nhelp: `p[i + 1]` is one number"
    )
    assert "an f64 has no `x`" in refused(written)
    assert "an f64 has no `xy`" in refused(several)
    assert refused(negative).startswith(
        "index: index -1 is outside `v`, a vector of 2\nhelp: write the index"
    )
    assert "`*` does not work on the method `norm`\nhelp: call it: `v.norm()`" in refused(uncalled)
