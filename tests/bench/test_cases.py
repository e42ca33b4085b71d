"""The programs that are measured compute right gradients: small, in double precision, against differences."""

from __future__ import annotations

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
