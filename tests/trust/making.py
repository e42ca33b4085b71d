"""Programs that other systems differentiate wrongly: their construction, and comparison with differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

import dsim as ti

both_types = pytest.mark.parametrize("real", [ti.f64, ti.f32], ids=str)


def numbers(*shape, start=0.0, real=None, needs_grad=True):
    """A field of floats, filled with one number or an array."""
    made = ti.field(real or ti.f64, shape=shape, needs_grad=needs_grad)
    return fill(made, start)


def integers(*shape, start=0):
    """A field of i32, filled with one number or an array."""
    return fill(ti.field(ti.i32, shape=shape), start)


def fill(made, start):
    """`made`, with the numbers `start` in it."""
    made.from_numpy(np.broadcast_to(start, made.shape + made.entry_shape).astype(made.dtype.numpy))
    return made


def gradient(loss, run, wrt):
    """The gradient that a tape gives, as nested lists."""
    with ti.ad.Tape(loss):
        run()
    return wrt.grad.to_numpy().tolist()


@dataclass
class Program:
    """What to run, what it is differentiated by, its loss; and the fields that it changes besides."""

    run: Callable[[], object]
    wrt: object
    loss: object
    changed: list[object] = field(default_factory=list)


def check(build: Callable[[object], Program], real: object) -> None:
    """Compares both modes with central differences in f64, and values with those of a plain run."""
    right = _differences(_made(build, ti.f64))
    program = _made(build, real)
    start = [f.to_numpy() for f in (program.wrt, *program.changed)]
    tolerance = {"rtol": 2e-4, "atol": 2e-4} if real == ti.f32 else {"rtol": 1e-6, "atol": 1e-7}
    _reset(program, start)
    program.run()
    values = [f.to_numpy() for f in (program.loss, *program.changed)]
    for _ in range(2):
        _reset(program, start)
        found = gradient(program.loss, program.run, program.wrt)
        np.testing.assert_allclose(np.ravel(found), right, **tolerance)
        for f, v in zip((program.loss, *program.changed), values, strict=True):
            np.testing.assert_array_equal(f.to_numpy(), v)
    np.testing.assert_allclose(_tangents(program, start), right, **tolerance)


def _made(build: Callable[[object], Program], real: object) -> Program:
    ti.init(default_fp=real)
    return build(real)


def _reset(program: Program, start: list[np.ndarray]) -> None:
    for f, values in zip((program.wrt, *program.changed), start, strict=True):
        f.from_numpy(values)
    program.loss[None] = 0.0


def _directions(shape: tuple[int, ...]) -> list[np.ndarray]:
    size = int(np.prod(shape))
    return [unit.reshape(shape) for unit in np.eye(size)]


def _differences(program: Program, step: float = 1e-6) -> np.ndarray:
    start = [f.to_numpy() for f in (program.wrt, *program.changed)]

    def value(x: np.ndarray) -> float:
        _reset(program, [x, *start[1:]])
        program.run()
        return program.loss[None]

    slopes = [
        (value(start[0] + step * d) - value(start[0] - step * d)) / (2 * step)
        for d in _directions(start[0].shape)
    ]
    _reset(program, start)
    return np.array(slopes)


def _tangents(program: Program, start: list[np.ndarray]) -> np.ndarray:
    slopes = []
    for direction in _directions(start[0].shape):
        _reset(program, start)
        with ti.ad.FwdMode(loss=program.loss, param=program.wrt, seed=direction):
            program.run()
        slopes.append(program.loss.dual[None])
    return np.array(slopes)
