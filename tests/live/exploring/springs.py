"""Bodies pulled to the origin with a stiffness."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import dsim as ti


def springs(n: int = 4) -> SimpleNamespace:
    """Bodies pulled to the origin with a stiffness, in a field of one number."""
    x = ti.Vector.field(2, ti.f64, shape=n, needs_grad=True, name="x")
    k = ti.field(ti.f64, shape=(), needs_grad=True, name="k")
    U = ti.field(ti.f64, shape=(), needs_grad=True, name="U")

    @ti.kernel
    def energy():
        for i in x:
            U[None] += 0.5 * k[None] * x[i].norm_sqr()

    x.from_numpy(np.arange(2.0 * n).reshape(n, 2))
    k[None] = 2.0
    return SimpleNamespace(x=x, k=k, U=U, energy=energy)
