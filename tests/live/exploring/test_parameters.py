"""`ds.explore`: sliders of the parameters of functions and of kernels."""

import pytest

import dsim as ti
from dsim import explore
from tests.live.exploring.springs import springs
from tests.notebook.cells import empty

__all__ = ["empty"]


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@ti.kernel
def needs(x: float):
    pass


def test_parameters_of_a_function():
    s = springs()
    got = []

    def run(scale=1.5, times=2):
        got.append((scale, times))
        s.energy()

    seen = explore(run, loss=s.U, controls={"scale": (0, 3)})
    assert [(c.name, c.value, c.low, c.high, c.whole) for c in seen.controls] == [
        ("scale", 1.5, 0, 3, False),
        ("times", 2, 0, 4, True),
    ]
    seen.set(scale=2.0, times=3)
    assert got == [(1.5, 2), (2.0, 3)]


def test_parameters_of_a_kernel():
    s = springs()

    @ti.kernel
    def pull(by: ti.f64 = 1, times: int = 2, sign: ti.template() = 1, power: float = 1.0):
        for i in s.x:
            s.U[None] += 0.5 * sign * by * times * s.x[i].norm_sqr()

    square = float((s.x.to_numpy() ** 2).sum())
    seen = explore(pull, loss=s.U, controls={"by": (0, 3)})
    assert [(c.name, c.value, c.low, c.high, c.whole) for c in seen.controls] == [
        ("by", 1, 0, 3, False),
        ("times", 2, 0, 4, True),
        ("power", 1.0, 0, 2.0, False),
    ]
    assert seen.found.loss == pytest.approx(square)
    seen.set(by=0.5, times=3)
    assert seen.found.loss == pytest.approx(0.75 * square)
    with pytest.raises(ti.DsimError, match="`x` of `needs` has no number"):
        explore(needs)


def test_parameters_of_a_method_that_is_a_kernel():
    y = ti.field(ti.f64, shape=(), name="y")

    class Body:
        @ti.kernel
        def move(self, by: ti.f64 = 1.0):
            y[None] = by

    explore(Body().move).set(by=2.0)
    assert y[None] == 2.0


def test_what_an_explorer_without_sliders_says():
    @ti.kernel
    def nothing():
        pass

    seen = explore(nothing)
    assert repr(seen) == "explorer of nothing"
    with pytest.raises(ti.DsimError, match="name a field, or a parameter, in `controls=`"):
        seen.set(k=1.0)


def test_a_kernel_of_a_cell(empty):
    empty.good(
        "%load_ext dsim\nimport dsim as ds\nds.init(default_fp=ds.f64)\nx = ds.field(ds.f64, shape=())"
    )
    empty.good("%%kernel double(k: ds.f64 = 1.0)\nx[None] = 2.0 * k")
    empty.good("ds.explore(double).set(k=0.5)")
    assert empty.names["x"][None] == 1.0


@pytest.mark.parametrize("begin", [1e308, float("inf"), float("nan")])
def test_a_number_of_which_no_ends_follow(begin):
    def run(a=begin):
        pass

    message = r"'a' begins with .*, of which no ends of a slider follow"
    with pytest.raises(ti.ArgumentError, match=message) as error:
        explore(run)
    assert "help: give them: controls={'a': (low, high)}" in str(error.value)
