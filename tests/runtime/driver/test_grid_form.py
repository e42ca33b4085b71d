"""Kernels of programs in the form for devices: how they are lowered."""

from __future__ import annotations

import dsim as ds
from dsim.ir.nodes import For
from dsim.runtime.driver import pipeline


def test_a_grid_whose_neighbours_wrap_around_is_one_loop() -> None:
    ds.init()
    n = 64
    x, y = ds.field(float, shape=(n, n)), ds.field(float, shape=(n, n))

    @ds.kernel
    def smooth():
        for i, j in x:
            y[i, j] = x[(i + 1) % n, j] + x[(i - 1) % n, j] + x[i, (j + 1) % n] + x[i, (j - 1) % n]

    smooth()
    program = smooth.primal.program
    module = pipeline.grid_form(program.kernel, program.settings)
    assert [k.kind for k in module.kernels] == ["parallel"]
    assert module.text.count(" sub nuw nsw i64 ") == 1  # the remainder of a nest of two loops
    # the processor's vectors need the ends of the rows apart
    own = pipeline.finish(program.kernel)
    assert sum(isinstance(s, For) for s in own.body.statements) == 2
