"""A value that a kernel returns cuts a derivative where Python uses it, and nowhere else."""

import warnings
from functools import partial

import pytest

import dsim as ds


class Sums:
    """A kernel that sums `x` into `y`, and returns what it has added."""

    def __init__(self):
        self.x = ds.field(ds.f64, shape=3, needs_grad=True, name="x")
        self.y = ds.field(ds.f64, shape=(), needs_grad=True, name="y")
        self.x.fill(2.0)
        x, y = self.x, self.y

        @ds.kernel
        def total(scale: float) -> float:
            found = 0.0
            for i in range(3):
                found += scale * x[i]
            y[None] += found
            return found

        self.total = total


@pytest.fixture
def s():
    ds.init(default_fp=ds.f64)
    return Sums()


def dropped(s):
    s.total(2.0)


def dropped_in_a_loop(s):
    for scale in (1.0, 1.0):
        s.total(scale=scale)


def dropped_behind_a_function(s):
    def twice():
        return s.total(2.0)

    twice()


def dropped_by_a_star(s):
    s.total(*[], scale=2.0)


def dropped_behind_a_library(s):
    partial(s.total, 2.0)()


DROPPED = [dropped, dropped_in_a_loop, dropped_behind_a_function, dropped_by_a_star, dropped_behind_a_library]


@pytest.mark.parametrize("run", DROPPED)
def test_a_value_that_nobody_uses_is_no_cut(s, run):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ds.Tape(s.y):
            run(s)
        assert s.x.grad.to_numpy().tolist() == [2.0, 2.0, 2.0]
        with ds.FwdMode(loss=s.y, param=s.x, seed=[1.0, 1.0, 1.0]):
            run(s)
        assert s.y.dual[None] == 6.0


def kept(s):
    return [s.total(2.0)]


def named(s):
    found = s.total(2.0)
    return found > 0


def passed_on(s):
    print(s.total(2.0))


def later(s):
    s.total(1.0)
    s.total(1.0)
    print(s.total(0.0))


@pytest.mark.parametrize("run", [kept, named, passed_on, later])
def test_a_value_that_is_used_is_a_cut(s, run):
    with (
        pytest.warns(ds.GradientWarning, match="`total` returns a value.*: its gradient is cut"),
        ds.Tape(s.y),
    ):
        run(s)
    mode = ds.FwdMode(loss=s.y, param=s.x, seed=[1.0, 1.0, 1.0])
    with pytest.warns(ds.GradientWarning, match="`total` returns a value.*: its tangent is cut"), mode:
        run(s)


def test_what_dsim_drops_is_no_cut(s):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = partial(s.total, 1.0)
        assert ds.check_grad(lambda: s.total(1.0), wrt=s.x, loss=s.y)
        found = ds.optimize(lambda: s.total(1.0), s.x, s.y, bounds=(0, 3), progress=False)
        assert found.best.loss == 0.0
        assert ds.explore(run, wrt=s.x, loss=s.y).found.loss == 0.0


def test_a_report_of_a_kernel_that_returns_a_value(s):
    found = ds.report(s.total, 2.0, loss=s.y, wrt=s.x, check=True)
    assert found.loss == 12.0
    assert found.gradients["x"].tolist() == [2.0, 2.0, 2.0]
    assert not [d for d in found.diagnostics if d.code == "cut"]
    assert ds.report(s.total, 2.0, forward=s.x).tangents["y"] == 6.0
    assert ("y[None]", 12.0) in [(v.name, v.value) for v in ds.report(s.total, 2.0, run=True).values]
