"""Matrices to decompose, and funcs applied to many of them at once."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

import dsim as ds

REALS = {"f32": ds.f32, "f64": ds.f64}
CLOSE = {"f32": 2e-6, "f64": 1e-12}  # of a decomposition, relative to the largest entry


def rotation(rng: np.random.Generator, n: int) -> np.ndarray:
    """A random rotation."""
    q, r = np.linalg.qr(rng.normal(size=(n, n)))
    q = q * np.sign(np.diag(r))
    q[:, -1] *= np.linalg.det(q)
    return q


def with_values(values: Sequence[float], seed: int) -> np.ndarray:
    """A matrix with these singular values, between random rotations."""
    rng, n = np.random.default_rng(seed), len(values)
    return rotation(rng, n) @ np.diag(values) @ rotation(rng, n).T


def special(n: int, real: str = "f64") -> dict[str, np.ndarray]:
    """Matrices that decompositions go wrong on."""
    far = 1e-30 if real == "f32" else 1e-200
    least = np.finfo(real.replace("f", "float")).tiny
    eye, counted = np.eye(n), np.arange(1.0, n * n + 1).reshape(n, n)
    found = {
        "zero": 0 * eye,
        "identity": eye,
        "turned round": -eye,
        "falling": np.diag(np.arange(n, 0.0, -1.0)),
        "rising": np.diag(np.arange(1.0, n + 1)),
        "reflected": np.diag([1.0] * (n - 1) + [-2.0]),
        "exchanged": eye[::-1],
        "ones": np.ones((n, n)),
        "one entry": np.outer(eye[0], eye[-1]),
        "nilpotent": np.eye(n, k=1),
        "counted": counted,
        "shear": eye + 1e3 * np.eye(n, k=1),
        "tiny": far * counted,
        "huge": counted / far,
        "graded": np.diag([1.0, 1e-5, 1e-10][:n]) @ counted @ np.diag([1e-10, 1e-5, 1.0][-n:]),
        "tiny column": counted * np.array([1.0, 1.0, far])[-n:],
        "tiny row": counted * np.array([far, 1.0, 1.0])[:n, None],
        "exchanged, nearly": eye[::-1] + 1e-2 * np.sqrt(least) * np.outer(eye[0], eye[0]),
        "exchanged, as good as": eye[::-1] + 1e-5 * least * np.outer(eye[0], eye[0]),
        "smallest": least * counted,
        "rotation": with_values([1.0] * n, 1),
        "equal": with_values([2.0, 2.0, 1.0][-n:], 2),
        "equal and small": with_values([2.0, 1.0, 1.0][-n:], 3),
        "equal and opposite": with_values([1.0, 1.0, -1.0][-n:], 4),
        "of rank one": with_values([3.0, 0.0, 0.0][:n], 5),
        "nearly of rank one": with_values([3.0, 1e-9, 1e-17][:n], 6),
        "singular": with_values([3.0, 2.0, 0.0][-n:], 7),
    }
    for gap in (1e-3, 1e-6, 1e-9, 1e-12, 1e-15):
        found[f"gap {gap}"] = with_values([1.0 + gap, 1.0, 0.5][:n], 8)
    return found


def many(n: int, real: str = "f64", seed: int = 0) -> np.ndarray:
    """The special matrices, small integer ones, and random ones of all scales, as `real` holds them."""
    rng = np.random.default_rng(seed)
    rows = [
        np.stack(list(special(n, real).values())),
        rng.integers(-2, 3, size=(300, n, n)).astype(float),
        rng.normal(size=(300, n, n)),
        rng.normal(size=(100, n, n)) * 10.0 ** rng.uniform(-6, 6, size=(100, 1, 1)),
        rng.normal(size=(100, n, n)) * 10.0 ** rng.uniform(-8, 0, size=(100, n, n)),
        rng.uniform(-1, 1, (5000, n, n)) * np.array([1.0, *([1e-23 if real == "f32" else 1e-163] * (n - 1))]),
    ]
    return np.concatenate(rows).astype(real.replace("f", "float")).astype(np.float64)


def lost(real: str, exact: bool) -> float:
    """What a result may lack: unless kernels are exact, numbers below the smallest normal one are zeros."""
    return 0.0 if exact else 3 * float(np.finfo(real.replace("f", "float")).tiny)


def apply(
    function: Any,
    shapes: Sequence[tuple[int, ...]],
    *given: np.ndarray,
    real: str = "f64",
    exact: bool = False,
) -> Any:
    """The results, of these shapes, of ``function(*row)`` for all rows of `given`, in one launch."""
    inputs = tuple(a.shape[1:] for a in given)
    if exact:
        ds.init(fast_math=False)
    made, outputs, run = _runner(function, inputs, tuple(shapes), len(given[0]), real, exact)
    for x, a in zip(made, given, strict=True):
        x.from_numpy(a.astype(real.replace("f", "float")))
    run()
    rows = len(given[0])
    return [
        y.to_numpy().reshape(rows, *shape).astype(np.float64)
        for y, shape in zip(outputs, shapes, strict=True)
    ]


@functools.cache
def _runner(function: Any, inputs: Any, shapes: Any, count: int, real: str, exact: bool) -> Any:
    made = [_field(REALS[real], count, shape) for shape in inputs]
    outputs = [_field(REALS[real], count, shape) for shape in shapes]

    @ds.kernel
    def run():
        for i in range(count):
            results = function(*[x[i] for x in ds.static(made)])
            for k in ds.static(range(len(outputs))):
                outputs[k][i] = results[k]

    return made, outputs, run


def _field(real: Any, count: int, shape: tuple[int, ...], **options: Any) -> Any:
    if not shape:
        return ds.field(real, shape=count, **options)
    kind = ds.Vector if len(shape) == 1 else ds.Matrix
    return kind.field(*shape, real, shape=count, **options)


class Slope:
    """A func of a matrix that gives a number, for many matrices, with its derivatives in f64.

    Attributes
    ----------
    matrices : array of shape (count, n, n)
        Where.
    """

    def __init__(self, function: Any, matrices: np.ndarray) -> None:
        self.matrices = matrices
        count, n, _ = matrices.shape
        a = _field(ds.f64, count, (n, n), needs_grad=True, needs_dual=True)
        y = _field(ds.f64, count, (), needs_grad=True, needs_dual=True)
        loss = ds.field(ds.f64, shape=(), needs_grad=True)
        self.a, self.y, self.loss = a, y, loss

        @ds.kernel
        def run():
            for i in a:
                y[i] = function(a[i])

        @ds.kernel
        def total():
            for i in y:
                loss[None] += y[i]

        self.run, self.total = run, total
        a.from_numpy(matrices)

    def values(self, matrices: np.ndarray | None = None) -> np.ndarray:
        """The values; at other matrices when given."""
        self.a.from_numpy(self.matrices if matrices is None else matrices)
        self.run()
        return self.y.to_numpy()

    def gradients(self, matrices: np.ndarray | None = None) -> np.ndarray:
        """The gradient of each value by its matrix, in reverse mode."""
        self.a.from_numpy(self.matrices if matrices is None else matrices)
        with ds.ad.Tape(self.loss):
            self.run()
            self.total()
        return self.a.grad.to_numpy()

    def tangents(self, directions: np.ndarray) -> np.ndarray:
        """The derivatives along `directions`, in forward mode."""
        self.a.from_numpy(self.matrices)
        with ds.ad.FwdMode(loss=self.y, param=self.a, seed=directions):
            self.run()
        return self.y.dual.to_numpy()

    def curvatures(self, directions: np.ndarray) -> np.ndarray:
        """The derivatives of the gradients along `directions`: forward over reverse."""
        self.a.from_numpy(self.matrices)
        with ds.ad.FwdMode(loss=self.y, param=self.a, seed=directions), ds.ad.Tape(self.loss):
            self.run()
            self.total()
        return self.a.grad.dual.to_numpy()
