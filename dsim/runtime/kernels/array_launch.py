"""A launch on arrays that the caller passes: finds, checks, and if necessary copies their memory.

Outside every context the kernel works on NumPy's memory itself, at the addresses of this launch. Inside one
it works on fields: see `bound.py` and `shadow_arrays.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from dsim.backends.locks import COMPILING, room_to_compile
from dsim.diagnostics import Diagnostic, GradientError, LaunchError, LaunchTypeError
from dsim.ir.nodes import MemoryKey
from dsim.runtime.driver import pipeline
from dsim.runtime.fields.aliases import own_place_each
from dsim.runtime.fields.fields import Field
from dsim.runtime.kernels.field_arguments import FieldArguments, FieldFacts
from dsim.runtime.launching.bound import Slot, bound
from dsim.runtime.launching.contexts import Args
from dsim.runtime.launching.faults import raised
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.shadow_arrays import Mirrors
from dsim.runtime.state import turns
from dsim.runtime.state.stack import opened
from dsim.runtime.state.write_clock import CLOCK

Value = np.ndarray | Field
_SEARCH = 10_000  # effort to distinguish overlapping arrays from interleaved ones


class ArrayMemory(NamedTuple):
    """One memory that the caller passes, possibly for several parameters.

    Attributes
    ----------
    slot : Slot
        Its placeholder in the compiled kernel.
    name : str
        The first parameter's name.
    entry_axes : int
        How many of the last axes of a NumPy array are an element's.
    read_only : bool
        Whether it is a field's own memory, seen as a NumPy array.
    """

    slot: Slot
    name: str
    entry_axes: int
    read_only: bool


class ArrayLaunch:
    """Launches one compilation on arrays.

    Parameters
    ----------
    form : Form
        The kernel, over slots and over the fields that it captured.
    places : sequence of ArrayMemory
        The memories that the caller passes, in the order of the arguments of `run`.

    Attributes
    ----------
    captured : frozenset of Field
        The fields that the kernel captured.
    beside : bool
        Whether it works on gradients or tangents, too.
    """

    def __init__(self, form: Form, places: Sequence[ArrayMemory]) -> None:
        self.form = form
        self.places = tuple(places)
        order: dict[Field, int] = {place.slot: n for n, place in enumerate(self.places)}
        self._names = {order[f]: name for name, f in form.fields.items() if isinstance(f, Slot)}
        at = {name: n for n, name in self._names.items()}
        self._captured = {n: f for n, f in form.fields.items() if n not in at}
        self.captured = frozenset(self._captured.values())
        axes = {place.entry_axes for place in self.places}
        self._mixed = len(axes) > 1  # one array may be passed in two readings
        keys = [m.key for m in form.kernel.memories]
        self._moving = [(key, at[key[0]]) for key in keys if key[0] in at]
        self._stored = frozenset(key for key in keys if form.field(key) in form.written)
        written = [(order[f.root], f.derivative) for f in form.written if f.root in order]
        self._written = frozenset(n for n, derivative in written if not derivative)
        self._gradients = [(n, derivative) for n, derivative in written if derivative]
        self._marks = [f for f in form.marks if f.root not in order]
        self._read = [f for f in form.gradients if f.root not in order]
        self._read_given = [(order[f.root], f.derivative) for f in form.gradients if f.root in order]
        self._native: Callable[..., Args] = self._prepare
        self.beside = bool(self._read) or any(key[1] for key, _ in self._moving)
        self._refuse_read_only(n for n in self._written if self.places[n].read_only)

    def is_captured(self, values: Sequence[Value] | FieldArguments) -> bool:
        """Whether one of the arrays is a field that the kernel captured."""
        if isinstance(values, FieldArguments):
            return self._found(values).is_captured
        return any(isinstance(v, Field) and v in self.captured for v in values)

    def _found(self, values: FieldArguments) -> FieldFacts:
        """What this compilation has to know of fields."""
        found = values.found
        if found is None or found.by is not self:
            captured = any(v in self.captured for v in values.memories())
            found = values.found = FieldFacts(self, captured, values.among(self._written))
        return found

    def _prepare(self, *args: Any) -> Args:
        own = self._own()
        with COMPILING, room_to_compile():
            self._native = self.form.program.machine.roam(own, [key for key, _ in self._moving])
        return self._native(*args)

    def run(self, values: Sequence[Value] | FieldArguments, args: Args) -> Args:
        """Launches on `values`, which are of the types and shapes of the slots; returns its result."""
        if isinstance(values, FieldArguments):
            if not (self.beside or opened()):
                return self.run_on(values, args)
            values = values.memories()
        odd = self._checked(values)
        if self._read or self._read_given:
            self._look_at_gradients(values)
        if opened():
            return self._inside(values, args)
        copies = self._copies(values) if odd else {}
        given = [copies.get(n, v) for n, v in enumerate(values)] if copies else values
        buffers = [self._buffer(given[n], n, key) for key, n in self._moving]
        for f in self._marks:
            f.touched = turns.current()
        self._note(values)
        try:
            return self._native(*buffers, *args)
        except pipeline.FAULTS as fault:
            raise raised(fault, self._captured) from None
        finally:
            for n in self._written.intersection(copies):
                values[n][...] = copies[n]
            for n, derivative in self._gradients:
                values[n].companion(derivative).written_by_python()  # type: ignore[union-attr]

    def run_on(self, values: FieldArguments, args: Args) -> Args:
        """A launch on fields, outside all contexts and not `beside`, by the form that is bound to them."""
        found = self._found(values)
        native = found.native or self._bind(values, found)
        for f in self._marks:
            f.touched = turns.current()
        self.form.last.moment = now = CLOCK.now
        for written in found.written:
            written().changed = now
        try:
            return native(*args)
        except pipeline.FAULTS as fault:
            raise raised(fault, self._captured) from None

    def _bind(self, arguments: FieldArguments, found: FieldFacts) -> Callable[..., Args]:
        """Machine code on the memory of these fields."""
        values = arguments.memories()
        given = {key: self._buffer(values[n], n, key) for key, n in self._moving}
        with COMPILING, room_to_compile():
            found.native = native = self.form.program.machine.bind({**self._own(), **given})
        return native

    def _own(self) -> dict[MemoryKey, np.ndarray]:
        """The memory of what the kernel captured."""
        moving = {key for key, _ in self._moving}
        own = [m.key for m in self.form.kernel.memories if m.key not in moving]
        return {key: self.form.field(key).scratch(key[1]).require_memory() for key in own}

    def _note(self, values: Sequence[Value]) -> None:
        """Notes when the kernel's own fields were written, and those that it was given."""
        self.form.last.moment = now = CLOCK.now
        for n in self._written:
            value = values[n]
            if isinstance(value, Field):
                value.changed = now

    def _checked(self, values: Sequence[Value]) -> bool:
        """Refuses invalid arrays; returns whether one must be copied for machine code."""
        views, odd = self._mixed, False
        for v in values:
            if not isinstance(v, Field):
                views = views or v.base is not None
                odd = odd or not v.flags.carray
        if views:
            self._check_apart(values)
        if odd:
            self._check_writeable(values)
        return odd

    def _look_at_gradients(self, values: Sequence[Value]) -> None:
        given = ((values[n], derivative) for n, derivative in self._read_given)
        for f in (*self._read, *(v.companion(d) for v, d in given if isinstance(v, Field))):
            f.looked_at()

    def _buffer(self, value: Value, n: int, key: MemoryKey) -> np.ndarray:
        """The memory of a slot, or of a gradient or tangent beside it."""
        if not isinstance(value, Field):
            if key[1]:
                raise self._without_gradient(n)
            return value
        return value.companion(key[1]).require()

    def _copies(self, values: Sequence[Value]) -> dict[int, np.ndarray]:
        """Copies of the arrays that the kernel cannot use directly."""
        return {
            n: self._copied(n, v)
            for n, v in enumerate(values)
            if not (isinstance(v, Field) or (v.flags.c_contiguous and v.flags.aligned))
        }

    def _copied(self, n: int, array: np.ndarray) -> np.ndarray:
        try:
            return np.array(array, order="C")
        except MemoryError:
            name, size = self.places[n].name, array.size * array.itemsize / 2**30
            message = f"the copy of `{name}` that `{self.form.kernel.name}` needs takes {size:.3g} GiB, "
            advice = "pass the array before `broadcast_to`, or parts of it"
            raise LaunchError(
                Diagnostic("memory", message + "which are not available", help=advice)
            ) from None

    # -- inside a context

    def _inside(self, values: Sequence[Value], args: Args) -> Args:
        mirrors = opened()[0].mirrors
        form = self.on(values, mirrors)
        arrays = [(n, v) for n, v in enumerate(values) if n in self._written and isinstance(v, np.ndarray)]
        fields = [form.fields[self._names[n]] for n, _ in arrays]
        try:
            result = opened()[-1].launch(form, args)
        finally:
            for (_, array), field in zip(arrays, fields, strict=True):
                array[...] = field.require()
            mirrors.written(fields, form.kernel.name)
        for field in fields:
            opened()[-1].element_read(field)
        return result

    def on(self, values: Sequence[Value], mirrors: Mirrors) -> Form:
        """The form for these arrays; those of NumPy have mirrors in it."""
        roots: dict[str, Field] = {}
        for n, name in self._names.items():
            value, place = values[n], self.places[n]
            if not isinstance(value, Field):
                value = mirrors.of(value, place.entry_axes, place.name, self.form.kernel.name)
            roots[name] = value
        for key, n in self._moving:
            if key[1]:
                self._buffer(values[n], n, key)  # says that a gradient is missing
        return bound(self.form, roots)

    # -- errors about arrays

    def _refuse_read_only(self, places: Iterable[int]) -> None:
        for n in places:
            why = "is written, and the array is a read-only view of a field"
            raise self._refused(n, why, "pass the field")

    def _check_writeable(self, values: Sequence[Value]) -> None:
        """Refuses read-only arrays that the kernel writes."""
        for n in sorted(self._written):
            array = values[n]
            if isinstance(array, Field):
                continue
            if not array.flags.writeable:
                raise self._refused(n, "is written, and the array is read-only", "pass a copy")
            if not own_place_each(array):
                raise self._refused(n, "is written, and elements of the array share memory", "pass a copy")

    def _check_apart(self, values: Sequence[Value]) -> None:
        """Refuses NumPy arrays that share memory with another array, when one of the two is written."""
        places = dict(self._moving)
        for key, n in sorted(self._moving, key=itemgetter(1)):
            array = values[n]
            if isinstance(array, Field):
                continue
            for memory in self.form.kernel.memories:
                if memory.key == key or not (key in self._stored or memory.key in self._stored):
                    continue
                other = values[places[memory.key]] if memory.key in places else self.form.fields[memory.name]
                buffer = other.companion(memory.derivative).buffer if isinstance(other, Field) else other
                if buffer is not None and _overlap(array, buffer):
                    why = f"and `{memory.name}` overlap in memory, and one of them is written"
                    raise self._refused(n, why, "pass a copy of one of them")

    def _without_gradient(self, n: int) -> GradientError:
        message = f"`{self.places[n].name}` of `{self.form.kernel.name}` is a NumPy array: it has no gradient"
        return GradientError(Diagnostic("missing-gradient", message, help="pass an `ndarray` that has one"))

    def _refused(self, n: int, why: str, advice: str) -> LaunchTypeError:
        name = f"`{self.places[n].name}`"
        message = f"argument {name} of `{self.form.kernel.name}` {why}"
        return LaunchTypeError(Diagnostic("argument", message, help=advice))


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays share a byte, as far as that can be told in short time."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=_SEARCH)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
