"""The matrix: every program of the corpus, in every way of getting a derivative, in every float type.

Columns
-------
forward : the tangent of a forward run along a random direction is that of central differences.
reverse : the gradient of randomly weighted outputs is that of central differences; the backward pass left the
    values as they were, and a second tape gives the same again.
product : forward and reverse agree with each other, ⟨J v, w⟩ = ⟨v, Jᵀ w⟩.
reference : the readable Python form of every kernel gives the values and gradients of the compiled one.

Differences are taken in f64, whatever the type of the cell.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np

import dsim as ds
from dsim.runtime.state import randomness, settings
from tests.corpus.program import PROGRAMS, Cell, Maker
from tests.corpus.programs import (
    arrays,
    atomics,
    carried,
    classes,
    closures,
    complex_numbers,
    control,
    decompositions,
    derivatives,
    dialect,
    elementary,
    exits,
    fields,
    in_place,
    indices,
    launches,
    linear,
    own_derivatives,
    physics,
    state,
    structs,
)

MODULES = (
    exits,
    fields,
    control,
    carried,
    in_place,
    indices,
    atomics,
    elementary,
    complex_numbers,
    linear,
    decompositions,
    launches,
    state,
    physics,
    derivatives,
    own_derivatives,
    arrays,
    structs,
    classes,
    closures,
    dialect,
)
COLUMNS = ("forward", "reverse", "product", "reference")
REALS = {"f32": ds.f32, "f64": ds.f64}
CELLS = tuple((name, real, column) for name in PROGRAMS for real in REALS for column in COLUMNS)

_STEP = 1e-6
_AGAINST_DIFFERENCES = {"f32": 2e-3, "f64": 1e-6}
_AGAINST_EACH_OTHER = {"f32": 1e-4, "f64": 1e-11}

MARKS: dict[tuple[str, str, str], str] = {}


def check(name: str, real: str, column: str) -> None:
    """Fills the cell, and raises an `AssertionError` when it does not hold."""
    MARKS[name, real, column] = "✗"
    _CHECKS[column](name, real)
    MARKS[name, real, column] = "✓"


@dataclass
class Outcome:
    """What one program gave in one type: flat arrays over all its inputs or all its outputs."""

    values: np.ndarray
    tangents: np.ndarray
    gradient: np.ndarray
    values_after: np.ndarray
    gradient_again: np.ndarray


class Trial:
    """A program built in one type, ready to be run from any inputs."""

    def __init__(self, name: str, real: str, backend: str = "cpu") -> None:
        self.real, self.backend = real, backend
        self.choose()
        self.make = Maker(name, REALS[real])
        self.run = PROGRAMS[name](self.make)
        self.loss = ds.field(REALS[real], shape=(), needs_grad=True)
        rng = np.random.default_rng(7)
        self.start = flat([cell.start for cell in self.make.inputs])
        self.direction = _exact(rng.uniform(-1, 1, self.start.shape))
        self.weights = _exact(rng.uniform(-1, 1, flat([cell.start for cell in self.make.outputs]).shape))
        self.measures = [
            weighing(cell, self.make, self.loss, w)
            for cell, w in zip(self.make.outputs, parts(self.make.outputs, self.weights), strict=True)
        ]

    def choose(self) -> None:
        """Makes its settings those in force."""
        ds.init(default_fp=REALS[self.real])
        settings.change(replace(settings.current(), backend=self.backend))

    def outcome(self) -> Outcome:
        """Values, tangents and gradient at the program's own inputs."""
        values, tangents, gradient = self.values(self.start), self.tangents(), self.gradient()
        return Outcome(values, tangents, gradient, self._outputs(lambda made: made), self.gradient())

    def values(self, inputs: np.ndarray, run=None) -> np.ndarray:
        """The outputs for some inputs."""
        self.reset(inputs)
        (run or self.run)()
        return self._outputs(lambda made: made)

    def tangents(self) -> np.ndarray:
        """The tangents of the outputs along `direction`: J v."""
        self.reset(self.start)
        inputs = [cell.field for cell in self.make.inputs]
        outputs = [cell.field for cell in self.make.outputs]
        seeds = parts(self.make.inputs, self.direction)
        with ds.ad.FwdMode(loss=outputs, param=inputs, seed=seeds):
            self.run()
        return self._outputs(lambda made: made.dual)

    def gradient(self) -> np.ndarray:
        """The gradient of the weighted outputs: Jᵀ w."""
        self.reset(self.start)
        with ds.ad.Tape(loss=self.loss):
            self.run()
            for measure in self.measures:
                measure()
        return flat([cell.field.grad.to_numpy() for cell in self.make.inputs])

    def differences(self) -> np.ndarray:
        """The Jacobian by central differences: outputs × inputs."""
        run = self.make.differences or self.run
        columns = []
        for k in range(self.start.size):
            step = np.zeros(self.start.size)
            step[k] = _STEP
            ahead, behind = self.values(self.start + step, run), self.values(self.start - step, run)
            columns.append((ahead - behind) / (2 * _STEP))
        return np.stack(columns, axis=1)

    def reset(self, inputs: np.ndarray) -> None:
        """Gives the fields the values that they have before a run, the inputs these."""
        randomness.restart(1)
        for cell, start in zip(self.make.inputs, parts(self.make.inputs, inputs), strict=True):
            _fill(cell.field, start)
        for cell in (*self.make.outputs, *self.make.others):
            _fill(cell.field, cell.start)

    def _outputs(self, which) -> np.ndarray:
        return flat([which(cell.field).to_numpy() for cell in self.make.outputs])


@dataclass
class Differences:
    """The Jacobian by differences, and the direction and the weights that all cells of a program share."""

    jacobian: np.ndarray
    direction: np.ndarray
    weights: np.ndarray


def compiled(name: str, real: str) -> Outcome:
    """What a program gives when its kernels are compiled."""
    return _in_f64(name)[0] if real == "f64" else _in_f32(name)


def differences(name: str) -> Differences:
    """What is right, for all cells of a program."""
    return _in_f64(name)[1]


def in_f64(name: str) -> Trial:
    """The trial that tests of a program share: what one of them compiled, the next one finds."""
    trial = _last(name)
    trial.choose()
    return trial


@functools.lru_cache(maxsize=1)
def _last(name: str) -> Trial:
    return Trial(name, "f64")


@functools.cache
def _in_f64(name: str) -> tuple[Outcome, Differences]:
    trial = in_f64(name)
    return trial.outcome(), Differences(trial.differences(), trial.direction, trial.weights)


@functools.cache
def _in_f32(name: str) -> Outcome:
    return Trial(name, "f32").outcome()


@functools.cache
def interpreted(name: str, real: str) -> Outcome:
    """What a program gives when its kernels run in their readable Python form."""
    return Trial(name, real, "reference").outcome()


def _forward(name: str, real: str) -> None:
    right = differences(name)
    _close(compiled(name, real).tangents, right.jacobian @ right.direction, _AGAINST_DIFFERENCES[real])


def _reverse(name: str, real: str) -> None:
    right, found = differences(name), compiled(name, real)
    _close(found.gradient, right.jacobian.T @ right.weights, _AGAINST_DIFFERENCES[real])
    _close(found.gradient_again, found.gradient, _AGAINST_EACH_OTHER[real])
    _close(found.values_after, found.values, _AGAINST_EACH_OTHER[real])


def _product(name: str, real: str) -> None:
    right, found = differences(name), compiled(name, real)
    ahead, back = found.tangents * right.weights, found.gradient * right.direction
    size = 1 + np.abs(ahead).sum() + np.abs(back).sum()
    assert abs(ahead.sum() - back.sum()) <= _AGAINST_EACH_OTHER[real] * size


def _reference(name: str, real: str) -> None:
    mine, other = compiled(name, real), interpreted(name, real)
    _close(mine.values, other.values, _AGAINST_EACH_OTHER[real])
    _close(mine.tangents, other.tangents, _AGAINST_EACH_OTHER[real])
    _close(mine.gradient, other.gradient, _AGAINST_EACH_OTHER[real])


_CHECKS = {"forward": _forward, "reverse": _reverse, "product": _product, "reference": _reference}


def _close(found: np.ndarray, right: np.ndarray, tolerance: float) -> None:
    size = max(1.0, float(np.abs(right).max(initial=0.0)))
    np.testing.assert_allclose(found, right, rtol=0, atol=tolerance * size)


def flat(arrays: list[np.ndarray]) -> np.ndarray:
    """Arrays of any shapes, one after the other, as one row of f64."""
    return np.concatenate([np.asarray(a, np.float64).ravel() for a in arrays])


def parts(cells: list[Cell], row: np.ndarray) -> list[np.ndarray]:
    """The inverse of `flat` for the fields of `cells`."""
    ends = np.cumsum([cell.start.size for cell in cells])[:-1]
    return [part.reshape(cell.start.shape) for part, cell in zip(np.split(row, ends), cells, strict=True)]


def _exact(values: np.ndarray) -> np.ndarray:
    """`values` as numbers that an f32 holds without rounding."""
    return values.astype(np.float32).astype(np.float64)


def _fill(made, values: np.ndarray) -> None:
    made.from_numpy(values.astype(made.dtype.numpy))


def weighing(cell: Cell, make: Maker, loss, weights: np.ndarray):
    """A kernel that adds the output's entries, weighted, to `loss`."""
    y, scalars = cell.field, not cell.field.entry_shape
    w = make.constant(weights, entry_axes=len(y.entry_shape))

    @ds.kernel
    def single():
        if ds.static(scalars):
            loss[None] += w[None] * y[None]
        else:
            loss[None] += (w[None] * y[None]).sum()

    @ds.kernel
    def each():
        for index in ds.grouped(y):
            if ds.static(scalars):
                loss[None] += w[index] * y[index]
            else:
                loss[None] += (w[index] * y[index]).sum()

    return each if y.shape else single
