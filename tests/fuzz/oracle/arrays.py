"""NumPy arrays of the plain interpreter, with its own numbers, and with views that alias."""

from __future__ import annotations

from typing import Self

import numpy as np

from tests.fuzz.oracle import numbers
from tests.fuzz.oracle.numbers import Dual, dual


class Numbers(np.ndarray):
    """A NumPy array of floats with derivatives, handled as a field."""

    integers = False

    def __new__(cls, shape) -> Self:
        """Zeros."""
        return np.full(shape, Dual(0.0), object).view(cls)

    @property
    def read(self) -> set:
        """Nobody asks which elements were read."""
        return set()

    def __setitem__(self, at, value) -> None:
        number = dual(value)
        numbers.WATCH.written(number)
        super().__setitem__(at, number)

    def from_numpy(self, values: np.ndarray) -> None:
        """Sets all elements to an array's."""
        for at in np.ndindex(*self.shape):
            self[at] = values[at]

    def parts(self) -> list:
        """All its numbers in order."""
        return [*self.flat]
