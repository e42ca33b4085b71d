"""Points of an optimisation: where it is, the best of them, and what is kept of each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dsim.runtime.transforms.selection import Selection

HISTORY = np.dtype(
    [("step", "i8"), ("loss", "f8"), ("gradient_norm", "f8"), ("length", "f8"), ("seconds", "f8")]
)


@dataclass(frozen=True)
class Iterate:
    """Where an optimisation is.

    Attributes
    ----------
    x : ndarray
        The free numbers.
    loss : float
        The loss there.
    gradient : ndarray
        Its gradient by the free numbers.
    state : mapping of str to ndarray
        What the method has kept from the steps before.
    """

    x: np.ndarray
    loss: float
    gradient: np.ndarray
    state: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def gradient_norm(self) -> float:
        """The Euclidean norm of the gradient."""
        return length(self.gradient)


def length(vector: np.ndarray) -> float:
    """The Euclidean norm, by NumPy's own loops: BLAS would wake all cores for a long vector."""
    return float(np.sqrt(np.square(vector).sum()))


@dataclass(frozen=True)
class Best:
    """The point of the least loss.

    Attributes
    ----------
    loss : float
        The loss.
    parameters : ndarray or mapping
        The values of ``wrt=``: an array for a single field, arrays by field for a list.
    """

    loss: float
    parameters: Any

    def named(self, wrt: Selection) -> list[tuple[str, np.ndarray]]:
        """The values with the names of what they belong to."""
        names = [getattr(leaf, "name", "") or f"array {number}" for number, leaf in enumerate(wrt.leaves)]
        found = [self.parameters] if wrt.single else [self.parameters[leaf] for leaf in wrt.leaves]
        return list(zip(names, found, strict=True))
