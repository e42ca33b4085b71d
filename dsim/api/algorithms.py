"""Sorting and prefix sums of whole fields and ndarrays, from Python."""

from __future__ import annotations

from dsim.diagnostics import Diagnostic, LaunchTypeError
from dsim.runtime.fields.fields import Field, kind_of
from dsim.runtime.launching import host_orders


def parallel_sort(keys: Field, values: Field | None = None) -> None:
    """Sorts `keys` in ascending order and permutes `values` alike; the sort is stable.

    A tape and forward mode permute the derivatives alike. Where keys are equal the function is not
    differentiable: the derivative is that of the permutation applied.

    Parameters
    ----------
    keys : Field or Ndarray
        Numbers along one axis.
    values : Field or Ndarray, optional
        Of the same length.

    Raises
    ------
    LaunchTypeError
        For arguments of other types or shapes.

    Examples
    --------
    >>> import numpy as np
    >>> import dsim as ti
    >>> keys, values = ti.field(ti.i32, shape=3), ti.field(ti.f64, shape=3)
    >>> keys.from_numpy(np.array([3, 1, 2]))
    >>> values.from_numpy(np.array([0.3, 0.1, 0.2]))
    >>> ti.algorithms.parallel_sort(keys, values)
    >>> keys.to_numpy().tolist(), values.to_numpy().tolist()
    ([1, 2, 3], [0.1, 0.2, 0.3])
    """
    _check(keys, "keys")
    if values is not None:
        _check(values, "values")
        if values.shape != keys.shape:
            message = f"parallel_sort() got keys of shape {keys.shape} and values of shape {values.shape}"
            raise LaunchTypeError(Diagnostic("shape", message))
    host_orders.sort(keys, values)


def _check(field: object, what: str) -> None:
    if not isinstance(field, Field):
        raise LaunchTypeError(Diagnostic("argument", f"{what} must be a field, not {kind_of(field)}"))
    if len(field.shape) != 1 or field.entry_shape:
        raise LaunchTypeError(Diagnostic("shape", f"{what} must be numbers along one axis: {field!r}"))


class PrefixSumExecutor:
    """Inclusive prefix sum of a field, in place; differentiable by tapes and in forward mode.

    Parameters
    ----------
    length : int
        The length of the fields.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.i32, shape=4)
    >>> x.fill(2)
    >>> ti.algorithms.PrefixSumExecutor(4).run(x)
    >>> x.to_numpy().tolist()
    [2, 4, 6, 8]
    """

    def __init__(self, length: int) -> None:
        self._length = int(length)

    def run(self, input_arr: Field) -> None:
        """Replaces the elements of this field or ndarray by their prefix sums."""
        _check(input_arr, "input_arr")
        if input_arr.shape != (self._length,):
            message = f"this PrefixSumExecutor is for {self._length} numbers, got {input_arr.shape[0]}"
            raise LaunchTypeError(Diagnostic("shape", message, help="make one of that length"))
        host_orders.prefix_sum(input_arr)


__all__ = ["PrefixSumExecutor", "parallel_sort"]
