"""Forms that share kernels, facts and machine code with a form over other fields.

A kernel that takes arrays is compiled once for their types and shapes: as the form of `Slot`s, which stand
for them. Inside a differentiating context each combination of arrays has a form of its own, because
a tape asks which fields a launch reads and writes; all that costs time is the model's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dsim.backends.locks import COMPILING
from dsim.ir.nodes import Accumulate, MemoryKey
from dsim.ir.types import ScalarType
from dsim.runtime.adjoints import AdjointForm
from dsim.runtime.fields import Field, youngest
from dsim.runtime.forms import Form, Keys
from dsim.runtime.once import kept, once
from dsim.runtime.reach import Reach
from dsim.runtime.shown import Looking


class BoundForm(Form):
    """A form like `model`, with other fields in the place of some of its own.

    Parameters
    ----------
    model : Form
        Its kernel, what is known of that, and its machine code are this form's.
    roots : dict of str to Field
        The fields that take a place, by memory name.
    """

    def __init__(self, model: Form, roots: dict[str, Field]) -> None:
        fields = {**model.fields, **roots}
        super().__init__(lambda: model.kernel, fields, model.backend, model.checked, model.serial)
        self._model = model
        self._roots = roots

    def _compile_and_launch(self, *args: Any) -> tuple[Any, ...]:
        with COMPILING:
            self.native = self._model.machine.bind(self.buffers())
        return self.native(*args)

    def _on(self, model: Form) -> BoundForm:
        return BoundForm(model, self._roots)

    @property
    def named(self) -> Mapping[str, Field]:
        """The fields that the kernel knows by itself; a message calls an array as its parameter."""
        return {name: f for name, f in self.fields.items() if name not in self._roots}

    @once
    def writes(self) -> Reach:
        """The regions that it stores or accumulates to."""
        return self._model.writes.on(self)

    @once
    def loads(self) -> Reach:
        """The regions that it reads."""
        return self._model.loads.on(self)

    @once
    def stores(self) -> Reach:
        """The regions that it stores to."""
        return self._model.stores.on(self)

    @once
    def totals(self) -> dict[MemoryKey, Accumulate]:
        """The memories that its iterations add up in."""
        return self._model.totals

    def spread(self, keys: Keys) -> Keys:
        """`keys` and those into which it writes values that vary with them."""
        return self._model.spread(keys)

    def tangent(self, active: Keys, label: str) -> Form:
        """Runs it and carries the tangents of the `active` memories along."""
        return self._keep(("tangent", active, label), lambda: self._on(self._model.tangent(active, label)))

    def adjoint(self, active: Keys, label: str, entry: Keys = frozenset()) -> AdjointForm:
        """Its reverse sweep with respect to the `active` memories."""

        def make() -> AdjointForm:
            found = self._model.adjoint(active, label, entry)
            return found.on(self, self._on(found.form))

        return self._keep(("adjoint", active, label, entry), make)

    def parts(self, cuts: frozenset[int]) -> tuple[Form, ...]:
        """Forms that do, one after the other, what it does."""
        return self._keep(("parts", cuts), lambda: self._parts_like(self._model.parts(cuts)))

    def _parts_like(self, parts: tuple[Form, ...]) -> tuple[Form, ...]:
        """The model's parts on these fields, and on own ones for what goes from one part to another.

        Threads that each have arrays of their own share the model.
        """
        if len(parts) == 1:
            return (self,)
        roots = dict(self._roots)
        for name, field in parts[0].fields.items():
            if name not in self.fields:
                roots[name] = Field(field.dtype, (), name)
                roots[name].allocate(())
        made = tuple(BoundForm(part, roots) for part in parts)
        for n, part in enumerate(made):
            part.part = (self, n)
        return made

    def stopped(self) -> Form:
        """It, with everything that it reads cut off from derivatives."""
        return self._keep("stopped", lambda: self._on(self._model.stopped()))

    def watched(self, looking: Looking) -> Form | None:
        """It as a form that shows what its lines assign."""
        model = self._model.watched(looking)
        return None if model is None else BoundForm(model, self._roots)

    def in_series(self) -> Form:
        """It, with its iterations one after the other."""
        if self.serial:
            return self
        return self._keep("in series", lambda: self._on(self._model.in_series()))

    def guarded(self) -> Form:
        """It, with its indices compared with the fields' shapes."""
        if self.checked:
            return self
        return self._keep("guarded", lambda: self._on(self._model.guarded()))


def bound(model: Form, roots: dict[str, Field]) -> Form:
    """The form like `model` over these fields: one each, kept with the youngest of them."""
    if not roots:
        return model
    forms = youngest(roots.values()).operations
    return kept(forms, ("bound", model, *roots.values()), lambda: BoundForm(model, roots))


class Slot(Field):
    """Stands for an array while a kernel that takes it is compiled: type and shape, and no memory."""

    @property
    def placed(self) -> bool:
        """Whether a kernel may name it. What it stands for is asked at the launch."""
        return True


def slot(name: str, dtype: ScalarType, full_shape: tuple[int | None, ...], entry_axes: int) -> Slot:
    """A slot for arrays of this type and shape, of which the last axes are an element's."""
    lengths = tuple(n for n in full_shape if n is not None)
    axes = len(lengths) - entry_axes
    made = Slot(dtype, lengths[axes:], name)
    made.shape = lengths[:axes]
    return made
