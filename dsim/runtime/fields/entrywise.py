"""Operators on vectors and matrices outside kernels that go entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np


class Entrywise:
    """What has its entries in the NumPy array `_a`; the other side has the same shape, or is a number."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]
    _a: np.ndarray

    @classmethod
    def _of(cls, array: np.ndarray) -> Any:
        raise NotImplementedError

    def _with(self, other: Any, operation: Any, swapped: bool = False) -> Any:
        b = other._a if isinstance(other, Entrywise) else np.asarray(other)
        if b.ndim and b.shape != self._a.shape:
            raise TypeError(f"shapes {self._a.shape} and {b.shape} do not match")
        return self._of(operation(b, self._a) if swapped else operation(self._a, b))

    def __add__(self, o: Any) -> Any:
        return self._with(o, np.add)

    def __radd__(self, o: Any) -> Any:
        return self._with(o, np.add, True)

    def __sub__(self, o: Any) -> Any:
        return self._with(o, np.subtract)

    def __rsub__(self, o: Any) -> Any:
        return self._with(o, np.subtract, True)

    def __mul__(self, o: Any) -> Any:
        return self._with(o, np.multiply)

    def __rmul__(self, o: Any) -> Any:
        return self._with(o, np.multiply, True)

    def __truediv__(self, o: Any) -> Any:
        return self._with(o, np.true_divide)

    def __rtruediv__(self, o: Any) -> Any:
        return self._with(o, np.true_divide, True)

    def __floordiv__(self, o: Any) -> Any:
        return self._with(o, np.floor_divide)

    def __rfloordiv__(self, o: Any) -> Any:
        return self._with(o, np.floor_divide, True)

    def __mod__(self, o: Any) -> Any:
        return self._with(o, np.mod)

    def __rmod__(self, o: Any) -> Any:
        return self._with(o, np.mod, True)

    def __pow__(self, o: Any) -> Any:
        return self._with(o, np.power)

    def __rpow__(self, o: Any) -> Any:
        return self._with(o, np.power, True)

    def __and__(self, o: Any) -> Any:
        return self._with(o, np.bitwise_and)

    def __rand__(self, o: Any) -> Any:
        return self._with(o, np.bitwise_and, True)

    def __or__(self, o: Any) -> Any:
        return self._with(o, np.bitwise_or)

    def __ror__(self, o: Any) -> Any:
        return self._with(o, np.bitwise_or, True)

    def __xor__(self, o: Any) -> Any:
        return self._with(o, np.bitwise_xor)

    def __rxor__(self, o: Any) -> Any:
        return self._with(o, np.bitwise_xor, True)

    def __lshift__(self, o: Any) -> Any:
        return self._with(o, np.left_shift)

    def __rlshift__(self, o: Any) -> Any:
        return self._with(o, np.left_shift, True)

    def __rshift__(self, o: Any) -> Any:
        return self._with(o, np.right_shift)

    def __rrshift__(self, o: Any) -> Any:
        return self._with(o, np.right_shift, True)

    def __invert__(self) -> Any:
        return self._of(np.invert(self._a))

    def __neg__(self) -> Any:
        return self._of(-self._a)

    def __pos__(self) -> Any:
        return self._of(self._a.copy())

    def __abs__(self) -> Any:
        return self._of(np.abs(self._a))

    def __eq__(self, o: object) -> Any:
        return self._with(o, np.equal)

    def __ne__(self, o: object) -> Any:
        return self._with(o, np.not_equal)

    def __lt__(self, o: Any) -> Any:
        return self._with(o, np.less)

    def __le__(self, o: Any) -> Any:
        return self._with(o, np.less_equal)

    def __gt__(self, o: Any) -> Any:
        return self._with(o, np.greater)

    def __ge__(self, o: Any) -> Any:
        return self._with(o, np.greater_equal)
