"""Which elements every run of a kernel stores to."""

import pytest

import dsim as ti
from dsim.analysis.must_writes import stored_boxes


def boxes(kernel):
    form = kernel.primal
    return stored_boxes(form.kernel, next(m.key for m in form.kernel.memories if m.name == "x"))


@pytest.fixture
def x():
    return ti.field(ti.f64, shape=(3, 4), name="x")


def test_loops_and_constants(x):
    @ti.kernel
    def k():
        for i, j in x:
            x[i, j] = 1.0
        for i in range(1, 3):
            x[i, 2] = 2.0

    assert boxes(k) == (((0, 3), (0, 4)), ((1, 3), (2, 3)))


def test_what_may_not_happen_does_not_count(x):
    n = ti.field(ti.i32, shape=(), name="n")

    @ti.kernel
    def k():
        for i, j in x:
            if n[None] > 0:
                x[i, j] = 1.0
        for i in range(n[None]):
            x[i, 0] = 1.0
        for i in range(3):
            x[i, i] = 1.0
        for i in range(3):
            x[i, 0] += 1.0
        x[n[None], 1] = 2.0

    assert boxes(k) == ()
