"""The definition of a corpus program, and of its fields.

A program is a function that takes a `Maker`, asks it for fields, defines kernels over them and returns
what runs them. Nothing here knows how a gradient is checked; that is `matrix.py`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import dsim as ds

Run = Callable[[], object]


@dataclass
class Cell:
    """A field of a program and the values that it has before each run."""

    field: object
    start: np.ndarray


@dataclass
class Maker:
    """Makes a program's fields, of the float type `real`, and remembers what each is for.

    The values of inputs are drawn from the program's name, and can be held by an f32 without rounding, so
    that the program means the same in every type.
    """

    name: str
    real: object
    inputs: list[Cell] = field(default_factory=list)
    outputs: list[Cell] = field(default_factory=list)
    others: list[Cell] = field(default_factory=list)
    differences: Run | None = None

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(zlib.crc32(self.name.encode()))

    def input(
        self, *shape: int, entry: tuple[int, ...] = (), low: float = -1.5, high: float = 1.5, start=None
    ):
        """A field that the outputs are differentiated by, drawn between `low` and `high` or given."""
        if start is None:
            start = self.rng.uniform(low, high, shape + entry)
        start = np.asarray(start, np.float32).astype(np.float64)
        return self._keep(self.inputs, shape, entry, start, needs_grad=True)

    def output(self, *shape: int, entry: tuple[int, ...] = ()):
        """A field whose values the program is run for; zero before each run."""
        return self._keep(self.outputs, shape, entry, np.zeros(shape + entry), needs_grad=True)

    def state(self, *shape: int, entry: tuple[int, ...] = (), needs_grad: bool = True, fill: float = 0.0):
        """A field between inputs and outputs, filled with one number before each run."""
        return self._keep(self.others, shape, entry, np.full(shape + entry, fill), needs_grad=needs_grad)

    def constant(self, values, entry_axes: int = 0):
        """A float field that nothing is differentiated by."""
        start = np.asarray(values, np.float32).astype(np.float64)
        split = start.ndim - entry_axes
        return self._keep(self.others, start.shape[:split], start.shape[split:], start, needs_grad=False)

    def integers(self, values):
        """A field of i32."""
        start = np.asarray(values, np.int32)
        made = ds.field(ds.i32, shape=start.shape)
        self.others.append(Cell(made, start))
        return made

    def copy_of(self, made):
        """A constant field with the values that `made` starts with: what `stop_grad` leaves of it."""
        (start,) = [cell.start for cell in self.inputs if cell.field is made]
        return self.constant(start)

    def placed(self, made, start=None, *, role: str = "state"):
        """Counts a field that the program placed itself among its inputs, outputs or the rest."""
        if start is None:
            start = (
                self.rng.uniform(-1.5, 1.5, made.to_numpy().shape) if role == "input" else made.to_numpy() * 0
            )
        kept = {"input": self.inputs, "output": self.outputs, "state": self.others}[role]
        kept.append(Cell(made, np.asarray(start, np.float32).astype(np.float64)))
        return made

    def _keep(self, kept: list[Cell], shape, entry, start, *, needs_grad: bool):
        made = _field(self.real, shape, entry, needs_grad=needs_grad)
        kept.append(Cell(made, start))
        return made


def _field(real, shape, entry, *, needs_grad: bool):
    if not entry:
        return ds.field(real, shape=shape, needs_grad=needs_grad)
    kind = ds.Vector if len(entry) == 1 else ds.Matrix
    return kind.field(*entry, real, shape=shape, needs_grad=needs_grad)


PROGRAMS: dict[str, Callable[[Maker], Run]] = {}


def program(build: Callable[[Maker], Run]) -> Callable[[Maker], Run]:
    """Puts a program into the corpus under the name of its function."""
    if build.__name__ in PROGRAMS:
        raise ValueError(f"two programs of the corpus are called {build.__name__}")
    PROGRAMS[build.__name__] = build
    return build
