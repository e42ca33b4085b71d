"""Taichi's class names of fields and arrays, for `isinstance`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsim.runtime.fields import fields, struct_fields
from dsim.runtime.fields.ndarrays import Ndarray


class _Kind(type):
    """A virtual class: instances share a base class and the number of axes of their entries."""

    def __instancecheck__(cls, instance: object) -> bool:
        if cls._structs and isinstance(instance, struct_fields.StructField):
            return True
        if not isinstance(instance, fields.Field) or isinstance(instance, Ndarray) != cls._arrays:
            return False
        return cls._axes is None or len(instance.entry_shape) in cls._axes

    _arrays: bool
    _axes: tuple[int, ...] | None
    _structs = False


if TYPE_CHECKING:  # in annotations it is the class that `field` returns
    Field = fields.Field
else:

    class Field(metaclass=_Kind):
        """Any field: of numbers, vectors, matrices or structs. An `Ndarray` is not a field, as in Taichi.

        Examples
        --------
        >>> import dsim as ti
        >>> x, a = ti.field(ti.f32, shape=3), ti.ndarray(ti.f32, shape=3)
        >>> isinstance(x, ti.Field), isinstance(a, ti.Field), isinstance(x, ti.ScalarField)
        (True, False, True)
        """

        _arrays, _axes, _structs = False, None, True


class ScalarField(metaclass=_Kind):
    """A field of numbers."""

    _arrays, _axes = False, (0,)


class MatrixField(metaclass=_Kind):
    """A field of vectors or matrices."""

    _arrays, _axes = False, (1, 2)


class ScalarNdarray(metaclass=_Kind):
    """An ndarray of numbers."""

    _arrays, _axes = True, (0,)


class VectorNdarray(metaclass=_Kind):
    """An ndarray of vectors."""

    _arrays, _axes = True, (1,)


class MatrixNdarray(metaclass=_Kind):
    """An ndarray of matrices."""

    _arrays, _axes = True, (2,)
