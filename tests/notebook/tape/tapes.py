"""Tapes for display tests."""

import numpy as np

import dsim as ti


def particles(steps=3, finish=True, names=("x", "v", "grid"), **options):  # noqa: C901 (four kernels)
    """A tape of particles that move by way of a grid."""
    x, v, grid = (ti.field(ti.f64, shape=4, needs_grad=True, name=name) for name in names)
    loss = ti.field(ti.f64, shape=(), needs_grad=True, name="loss")

    @ti.kernel
    def clear():
        for i in grid:
            grid[i] = 0.0

    @ti.kernel
    def scatter():
        for i in x:
            grid[i] += ti.sin(x[i])

    @ti.kernel
    def gather(dt: float):
        for i in x:
            v[i] += dt * grid[i]
            x[i] += dt * v[i]

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2

    x.from_numpy(np.linspace(0.1, 0.9, 4))
    with ti.Tape(loss, **options) as tape:
        for _ in range(steps):
            clear()
            scatter()
            gather(0.1)
        if finish:
            total()
    return tape


HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "\x1b[31mred & \"quoted' ]]>",
)
