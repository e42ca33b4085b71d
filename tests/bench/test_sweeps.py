"""The rows of the sweeps that are measured are the gradients after the steps of their programs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dsim as ds
from tests.bench.sweeps import Stepped, fluid, mpm, oscillators, springs, wave


@pytest.mark.parametrize(
    "make",
    [
        lambda: oscillators(5, 3),
        lambda: oscillators(5, 3, linear=True),
        lambda: wave(6, 3),
        lambda: springs(3, 3),
        lambda: fluid(4, 3),
        lambda: mpm(6, 16, 3),
    ],
    ids=["oscillators", "linear oscillators", "wave", "springs", "fluid", "mpm"],
)
@pytest.mark.usefixtures("quick_code")
def test_rows_are_the_gradients_after_the_steps(make: Callable[[], Stepped]) -> None:
    ds.init(default_fp=ds.f64)
    p = make()
    with ds.Tape(p.loss) as tape:
        p.run()
    rows = tape.gradients(p.state, every=len(p.calls)).values
    assert len(rows) == p.steps
    assert np.abs(rows).max() > 0
    for step, row in enumerate(rows):
        after = len(p.calls) * (step + 1) - 1
        np.testing.assert_allclose(row, tape.gradient(p.state, after=after), rtol=1e-12, atol=1e-15)
