"""`ds.explore`: what a run writes into gradients is put back before the next one."""

import numpy as np
import pytest

import dsim as ti
from dsim import explore
from tests.live.exploring.springs import springs


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_a_gradient_that_a_run_adds_to_begins_as_the_first_time():
    x = ti.field(ti.f64, shape=3, needs_grad=True, name="x")

    @ti.kernel
    def add(by: float):
        for i in x:
            x.grad[i] += by

    x.grad.fill(5.0)
    seen = explore(lambda by=1.0: add(by), controls={"by": (0, 5)})
    for by in (1.0, 2.0, 2.0):
        seen.set(by=by)
        assert x.grad.to_numpy().tolist() == [5.0 + by] * 3
    x.grad.fill(1.0)  # by a cell
    seen.set(by=2.0)
    seen.set(by=3.0)
    assert x.grad.to_numpy().tolist() == [4.0] * 3


def test_a_run_that_descends_begins_again():
    """With a tape of its own, and a kernel that reads the gradient and writes it."""
    s = springs()

    @ti.kernel
    def descend(rate: float):
        for i in s.x:
            s.x[i] -= rate * s.x.grad[i]
            s.x.grad[i] *= 2.0

    def run(rate=0.1):
        for _ in range(2):
            with ti.Tape(s.U):
                s.energy()
            descend(rate)

    begin = s.x.to_numpy()
    seen = explore(run, wrt=s.x)
    for rate in (0.1, 0.2, 0.1):
        seen.set(rate=rate)
        np.testing.assert_allclose(s.x.to_numpy(), begin * (1 - 2 * rate) ** 2)
        np.testing.assert_allclose(s.x.grad.to_numpy(), 4.0 * begin * (1 - 2 * rate))
    s.x.fill(1.0)
    seen.set(rate=0.2)
    np.testing.assert_allclose(s.x.to_numpy(), 0.36)


def test_a_gradient_that_the_explorer_s_own_tape_computes_begins_as_the_first_time():
    s = springs()

    @ti.kernel
    def clear():
        for i in s.x:
            s.x.grad[i] = 100.0

    def run():
        clear()
        s.energy()

    with pytest.warns(ti.GradientWarning, match="the block changed `x.grad`"):
        seen = explore(run, wrt=s.x, loss=s.U, controls={s.k: (0, 10)})
    for k in (2.0, 3.0, 3.0):
        with pytest.warns(ti.GradientWarning, match="the block changed `x.grad`"):
            seen.set(k=k)
        assert seen.found.problem == ""
        np.testing.assert_allclose(s.x.grad.to_numpy(), 100.0 + k * s.x.to_numpy())  # as in any tape


def test_a_point_that_is_dragged_after_a_cell_has_written_to_its_field():
    s = springs()
    seen = explore(s.energy, wrt=s.x, loss=s.U)
    s.x.fill(3.0)
    seen.view._heard({"type": "drag", "layer": 0, "index": 1, "position": [10.0, 0.0], "phase": "move"})
    np.testing.assert_array_equal(s.x.to_numpy(), [[3.0, 3.0], [10.0, 0.0], [3.0, 3.0], [3.0, 3.0]])
