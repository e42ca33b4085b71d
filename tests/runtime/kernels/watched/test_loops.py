"""How the iterations of watched kernels are named where loops stand one after the other."""

import pytest

import dsim as ds
from dsim.runtime.kernels.watching import watch


@pytest.fixture(autouse=True)
def doubles():
    ds.init(default_fp=ds.f64)


def test_loops_one_after_the_other_are_named_by_all_their_indices():
    x = ds.field(ds.f64, shape=7)
    grid = ds.field(ds.f64, shape=(2, 3))

    @ds.kernel
    def steps():
        for i in range(2):
            x[i] = 1.0
        for i in range(2):
            x[i] += 1.0
        for row, column in grid:
            grid[row, column] = 3.0
        ds.loop_config(serialize=True)
        for t in range(1, 7):
            x[t] = x[t - 1] + t

    watching = watch(steps)
    watching.probe = (5,)
    watching()
    assert watching.loops == [("i or row or t", 0, 7), ("column", 0, 3)]
    (last,) = [w for w in watching.results() if w.slot.name == "x[t]"]
    assert last.value == 17.0


def test_a_loop_that_does_not_run_has_no_name():
    x = ds.field(ds.f64, shape=7)

    @ds.kernel
    def some(until: int):
        for i in range(until):
            x[i] = 1.0
        for t in range(4):
            x[t] = 2.0

    watching = watch(some)
    watching(0)
    assert watching.loops == [("t", 0, 4)]
