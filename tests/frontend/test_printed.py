"""The printed kernels of a few programs: `pytest --update-golden` regenerates them."""

from __future__ import annotations

from dsim.frontend import LoweringSettings
from tests.frontend.dialect import f, text, ti


def test_gravity(golden) -> None:
    N, dt = 8, 1e-5
    x, v = f(N, dtype=ti.f32, entry=(2,)), f(N, dtype=ti.f32, entry=(2,))
    U = f(dtype=ti.f32)

    def compute_U():
        for i, j in ti.ndrange(N, N):
            r = x[i] - x[j]
            U[None] += -1 / r.norm(1e-3)

    def advance():
        for i in x:
            v[i] += dt * -x.grad[i]
        for i in x:
            x[i] += dt * v[i]

    def init():
        for i in x:
            x[i] = [ti.random(), ti.random()]

    golden("\n".join(text(k, LoweringSettings()) for k in (compute_U, advance, init)))


def test_flow_of_control(golden) -> None:
    x = f(10)

    def k(a: float) -> int:
        if a < 0.0:
            return -1
        n = 0
        for i in range(10):
            if x[i] == 0.0:
                continue
            if x[i] > a:
                break
            n += 1
        while a < 100.0:
            a *= 2.0
            if x[0] > a:
                return n
        return n + 1

    golden(text(k))


def test_vectors_and_matrices(golden) -> None:
    F, v, n = f(4, entry=(2, 2)), f(4, entry=(2,)), f(4, dtype=ti.i32)

    @ti.func
    def stretch(m, k=2.0):
        return m.transpose() @ m * k

    def k():
        for p in F:
            S = stretch(F[p])
            S[n[p], 0] += 1.0
            out = v[p] if n[p] > 0 and v[p].x > 0 else ti.Vector([0.0, 1.0])
            if out[1] < 0:
                out[1] = 0
            v[p] = S @ out / S.determinant()

    golden(text(k))


def test_derivative_of_a_func(golden) -> None:
    s = f()

    @ti.func
    def g(x, y):
        return x * y**2

    gradient = ti.grad(g)

    def k(a: float):
        dx, dy = gradient(a, 2.0)
        s[None] = dx + dy

    golden(text(k))
