"""The free numbers of the inputs as one vector of 64-bit floats, with their bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from scipy.optimize import Bounds
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from dsim.diagnostics import Diagnostic, GradientError
from dsim.runtime.fields.fields import Field, kind_of
from dsim.runtime.transforms.given_numbers import real_numbers
from dsim.runtime.transforms.selection import Selection


class InputVector:
    """The free numbers of a selection, in order.

    Parameters
    ----------
    wrt : Selection
        The fields and arrays.
    free : array or mapping, optional
        Which numbers are free: booleans for a single field, or a dictionary of them by field. All others
        keep the values that they have.
    bounds : pair or mapping, optional
        The lower and the upper bound of a single field, or a dictionary of such pairs by field; each a
        number, an array, or None.

    Attributes
    ----------
    free : ndarray
        Their places among all numbers.
    bounds : scipy.optimize.Bounds or None
        Their bounds.
    """

    def __init__(self, wrt: Selection, free: Any, bounds: Any) -> None:
        self._wrt = wrt
        masks = self._by_leaf(free, "free")
        self.free = np.flatnonzero(self._numbers(masks, "free", True, bool))
        for mask in masks.values():
            if not np.isin(np.asarray(mask), (0, 1)).all():
                message = f"`free=` says by booleans which numbers are optimised, got {kind_of(mask)}"
                advice = "pass a comparison, such as `free=mass > 0`"
                raise GradientError(Diagnostic("argument", message, help=advice))
        self.bounds = None if bounds is None else self._bounds(self._by_leaf(bounds, "bounds"))

    def present(self) -> np.ndarray:
        """Their present values."""
        return self._all()[self.free]

    def arrays(self, vector: Any) -> list[np.ndarray]:
        """The arrays of the inputs that have these values."""
        try:
            given = real_numbers(vector, np.float64, "the vector")
        except (TypeError, ValueError):
            message = f"the vector has {len(self.free)} numbers, got {kind_of(vector)} without numbers"
            raise GradientError(Diagnostic("argument", message, help="start from `x0`")) from None
        if given.shape != self.free.shape:
            message = f"the vector must be of shape {self.free.shape}, got {given.shape}"
            raise GradientError(Diagnostic("argument", message, help="start from `x0`"))
        whole = self._all()
        whole[self.free] = given
        return self._wrt.split(whole)

    def put(self, vector: Any) -> None:
        """Writes the values to the fields and arrays."""
        for leaf, array in zip(self._wrt.leaves, self.arrays(vector), strict=True):
            if isinstance(leaf, Field):
                leaf.from_numpy(array)
            else:
                leaf[...] = array

    def of(self, gradient: list[np.ndarray]) -> np.ndarray:
        """The free numbers of arrays for all inputs."""
        return self._wrt.joined(gradient, np.float64)[self.free]

    def parameters(self, vector: Any) -> Any:
        """The arrays that have these values, as users get them."""
        return self._wrt.result(self.arrays(vector))

    def chosen(self) -> list[int]:
        """Which inputs have free numbers."""
        return np.unique(np.searchsorted(self._wrt.ends, self.free, side="right")).tolist()

    def columns(self, matrix: LinearOperator) -> LinearOperator:
        """The columns of a Jacobian that belong to them."""
        every = len(self.free) == self._wrt.size
        return matrix if every else cast("LinearOperator", matrix @ self.spread())

    def spread(self) -> LinearOperator:
        """The operator from them to all numbers, of which the others are 0."""
        count = len(self.free)
        places = (self.free, np.arange(count))
        return aslinearoperator(csr_array((np.ones(count), places), (self._wrt.size, count)))

    def _all(self) -> np.ndarray:
        leaves = [f.require_memory() if isinstance(f, Field) else f for f in self._wrt.leaves]
        return self._wrt.joined(leaves, np.float64).copy()

    def _by_leaf(self, given: Any, what: str) -> dict[int, Any]:
        """What the user gave for each input, by its identity."""
        if given is None:
            return {}
        if self._wrt.single and not isinstance(given, Mapping):
            return {id(self._wrt.leaves[0]): given}
        if not isinstance(given, Mapping):
            message = f"`{what}=` is a dictionary by field, got {kind_of(given)}"
            raise GradientError(Diagnostic("argument", message, help=f"`{what}={{x: …}}` for some of `wrt=`"))
        known = {id(leaf) for leaf in self._wrt.leaves}
        if any(id(key) not in known for key in given):
            message = f"`{what}=` has a field that `wrt=` does not name"
            raise GradientError(Diagnostic("argument", message, help="add it to `wrt=`, or remove it"))
        return {id(key): value for key, value in given.items()}

    def _numbers(self, values: Mapping[int, Any], what: str, otherwise: Any, dtype: Any) -> np.ndarray:
        """One value for each number of the inputs."""
        parts: list[np.ndarray] = []
        for leaf, shape in zip(self._wrt.leaves, self._wrt.shapes, strict=True):
            value = values.get(id(leaf), otherwise)
            try:
                found = real_numbers(value, dtype, f"`{what}=`")
            except (TypeError, ValueError):
                message = f"`{what}=` takes numbers, not {value!r}"
                raise GradientError(
                    Diagnostic("argument", message, help="give a number, or an array of numbers")
                ) from None
            try:
                parts.append(np.broadcast_to(found, shape).ravel())
            except ValueError:
                message = f"`{what}=` has a value of shape {np.shape(value)} for numbers of shape {shape}"
                advice = "give one value, or an array of that shape"
                raise GradientError(Diagnostic("argument", message, help=advice)) from None
        return np.concatenate(parts)

    def _bounds(self, pairs: Mapping[int, Any]) -> Bounds:
        for pair in pairs.values():
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                message = f"`bounds=` has pairs of a lower and an upper bound, got {kind_of(pair)}"
                raise GradientError(Diagnostic("argument", message, help="`bounds={x: (0.0, None)}`"))
        low, high = (
            self._numbers(
                {leaf: infinite if pair[side] is None else pair[side] for leaf, pair in pairs.items()},
                "bounds", infinite, np.float64,
            )[self.free]
            for side, infinite in enumerate((-np.inf, np.inf))
        )  # fmt: skip
        if not (low <= high).all():
            message = "`bounds=` has a lower bound above the upper one"
            advice = "exchange the two"
            if np.isnan(low).any() or np.isnan(high).any():
                message, advice = "`bounds=` has a bound that is nan", "write None where there is no bound"
            raise GradientError(Diagnostic("argument", message, help=advice))
        return Bounds(cast("Any", low), cast("Any", high))
