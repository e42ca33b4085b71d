"""Forms on arrays that the caller passes: they share the program of a form over slots.

A kernel that takes arrays is compiled once for their types and shapes: as the form of `Slot`s, which stand
for them. Inside a differentiating context each combination of arrays has a form of its own, because
a tape needs the fields that a launch reads and writes; everything expensive belongs to the program.
"""

from __future__ import annotations

from dsim.ir.types import ScalarType
from dsim.runtime.fields.fields import Field, youngest
from dsim.runtime.launching.forms import Form
from dsim.runtime.state.once import kept


def bound(model: Form, arrays: dict[str, Field]) -> Form:
    """The form like `model` over these fields: one each, kept with the youngest of them."""
    if not arrays:
        return model
    forms = youngest(arrays.values()).operations
    return kept(forms, ("bound", model, *arrays.values()), lambda: model.on(arrays))


class Slot(Field):
    """A placeholder for an array argument at compile time: type and shape, without memory."""

    @property
    def placed(self) -> bool:
        """Whether a kernel may name it; the launch binds it to an array."""
        return True


def slot(name: str, dtype: ScalarType, full_shape: tuple[int | None, ...], entry_axes: int) -> Slot:
    """A slot for arrays of this type and shape, of which the last axes are an element's."""
    lengths = tuple(n for n in full_shape if n is not None)
    axes = len(lengths) - entry_axes
    made = Slot(dtype, lengths[axes:], name)
    made.shape = lengths[:axes]
    return made
