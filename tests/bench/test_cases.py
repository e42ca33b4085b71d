"""The programs that are measured compute right gradients: small, in double precision, against differences."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest

import dsim as ds
from tests.bench.cases import CASES, SMALL


@pytest.mark.parametrize("name", CASES)
def test_gradients(name: str) -> None:
    ds.init(default_fp=ds.f64)
    run, loss, wrt = CASES[name](**SMALL[name])
    start = wrt.to_numpy()

    def value(x: np.ndarray) -> float:
        wrt.from_numpy(x)
        loss.fill(0.0)
        run()
        return float(loss.to_numpy())

    with ds.ad.Tape(loss):
        run()
    gradient = wrt.grad.to_numpy()
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).max() > 0
    towards = np.random.default_rng(1).standard_normal(start.shape) * (np.abs(start) + 1e-2)
    h = 1e-6
    difference = (value(start + h * towards) - value(start - h * towards)) / (2 * h)
    wrt.from_numpy(start)
    assert difference == pytest.approx((gradient * towards).sum(), rel=1e-5, abs=1e-8)


def plain(function: Any = None, **_: Any) -> Any:
    """`numba.njit` without compiling, which takes half a minute for all."""
    return (lambda f: f) if function is None else function


@pytest.fixture(scope="module")
def by_hand() -> Iterator[Any]:
    """The cases by hand as plain Python, whether or not somebody has imported them to be compiled."""
    known = {name: m for name, m in sys.modules.items() if name.startswith("tests.bench.by_hand")}
    for name in known:
        del sys.modules[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba, "njit", plain)
        yield importlib.import_module("tests.bench.by_hand").BY_HAND
    for name in [name for name in sys.modules if name.startswith("tests.bench.by_hand")]:
        del sys.modules[name]
    sys.modules.update(known)


@pytest.mark.parametrize(
    "name", ["gravity", "wave", "springs", "springs_graph", "sheet", "robot_graph", "mpm"]
)
def test_gradients_by_hand(by_hand: Any, name: str) -> None:
    run, loss, wrt = CASES[name](**SMALL[name])
    with ds.ad.Tape(loss):
        run()
    primal, gradient = by_hand[name](**SMALL[name])
    value, found = gradient()
    assert primal() == pytest.approx(value, rel=1e-5)
    assert loss[None] == pytest.approx(value, rel=1e-5)
    expected = wrt.grad.to_numpy()[: len(found)]
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-4 * np.abs(expected).max())


def test_work_is_that_of_all_launches_however_often_they_ran() -> None:
    from tests.bench.work import work

    run, loss, _ = CASES["springs"](**SMALL["springs"])
    graph, same, _ = CASES["springs_graph"](**SMALL["springs_graph"])
    first = work(run, loss)
    assert first[1].bytes > first[0].bytes > 0
    for _ in range(3):
        assert work(run, loss) == first
        assert work(graph, same) == first
