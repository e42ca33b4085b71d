"""Random kernels that overwrite what they read, launched in sequence inside a tape."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dsim as ti
from dsim.autodiff import compares_final_values
from dsim.passes.parallelization import parallel
from dsim.passes.simplify import simplify
from dsim.runtime.driver.programs import Program
from dsim.runtime.launching.forms import Form
from dsim.runtime.state.settings import Settings
from dsim.runtime.state.stack import opened
from tests.autodiff.random_kernels import InPlace

STEP = 1e-6

# Some overwrite a field before anything reads it: then it is said that the gradient is 0.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::dsim.runtime.state.notices.GradientWarning"),
]


class Sequence:
    """Three launches of two kernels over the fields x, y and n, and a loss of what they leave."""

    def __init__(self, seed: int) -> None:
        ti.init(default_fp=ti.f64)
        self.rng = np.random.default_rng(seed)
        self.x, self.y = (ti.field(ti.f64, shape=4, needs_grad=True, name=name) for name in "xy")
        self.n, self.loss = ti.field(int, shape=4), ti.field(ti.f64, shape=(), needs_grad=True)
        forms = [self.form(10 * seed), self.form(10 * seed + 1)]
        self.calls = [forms[i] for i in self.rng.integers(0, 2, 3)]
        self.start = self.rng.uniform(-1, 1, (2, 4))
        self.steer = self.rng.integers(0, 4, 4).astype(np.int32)
        weights = ti.field(ti.f64, shape=(2, 4))
        weights.from_numpy(self.rng.uniform(-1, 1, (2, 4)))

        @ti.kernel
        def total():
            for i in self.x:
                self.loss[None] += weights[0, i] * self.x[i] + weights[1, i] * self.y[i]

        self.total = total

    def form(self, seed: int) -> Form:
        kernel = InPlace(seed).kernel()
        kernel = parallel(simplify(replace(kernel, exact=compares_final_values(kernel))))
        return Form(Program(kernel, Settings()), {"x": self.x, "y": self.y, "n": self.n})

    def at_start(self, moved: np.ndarray | float = 0.0) -> None:
        """Sets the fields to the values at the start, moved by so much."""
        start = self.start + moved
        self.x.from_numpy(start[0])
        self.y.from_numpy(start[1])
        self.n.from_numpy(self.steer)
        self.loss[None] = 0.0

    def run(self) -> None:
        for call in self.calls:
            context = (opened() or (None,))[-1]
            if context is None:
                call.run(())
            else:
                context.launch(call, ())
        self.total()

    def gradient(self) -> np.ndarray:
        return np.array([self.x.grad.to_numpy(), self.y.grad.to_numpy()])

    def left(self) -> list[bytes]:
        return [f.to_numpy().tobytes() for f in (self.x, self.y, self.n)]


@pytest.mark.parametrize("seed", range(12))
def test_gradients(seed: int) -> None:
    s = Sequence(seed)
    direction = s.rng.uniform(-1, 1, (2, 4))
    losses = []
    for by in (STEP, -STEP):
        s.at_start(by * direction)
        s.run()
        losses.append(s.loss[None])
    s.at_start()
    s.run()
    left = s.left()
    s.at_start()
    with ti.Tape(s.loss):
        s.run()
    assert s.left() == left
    slope = (losses[0] - losses[1]) / (2 * STEP)
    np.testing.assert_allclose(np.sum(s.gradient() * direction), slope, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("seed", range(100, 106))
@pytest.mark.slow
def test_tangents_of_gradients(seed: int) -> None:
    s = Sequence(seed)
    direction = s.rng.uniform(-1, 1, (2, 4)) * [[1.0], [0.0]]
    gradients = []
    for by in (STEP, -STEP):
        s.at_start(by * direction)
        with ti.Tape(s.loss):
            s.run()
        gradients.append(s.gradient())
    s.at_start()
    with ti.ad.FwdMode(loss=[s.x.grad, s.y.grad], param=s.x, seed=direction[0]), ti.Tape(s.loss):
        s.run()
    found = [s.x.grad.dual.to_numpy(), s.y.grad.dual.to_numpy()]
    expected = (gradients[0] - gradients[1]) / (2 * STEP)
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=5e-5)
