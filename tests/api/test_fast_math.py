"""Floating point in source order, with ``fast_math=False``."""

from __future__ import annotations

import dsim as ti


def test_compensated_arithmetic_survives_without_fast_math():
    ti.init(default_fp=ti.f64, fast_math=False)
    p = ti.field(ti.f64, shape=())
    p[None] = 0.1234567

    @ti.kernel
    def rounding(c: float) -> float:
        return ((p[None] + c) - c) - p[None]

    assert rounding(1e10) == ((0.1234567 + 1e10) - 1e10) - 0.1234567
    assert rounding.primal.kernel.exact
    ti.init(default_fp=ti.f64)
    assert not rounding.primal.kernel.exact
