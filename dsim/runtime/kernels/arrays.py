"""Kernels that take arrays: one compilation for each combination of types and shapes that is passed.

The lengths of axes are known to the compiler: a kernel is compiled again for a new shape, and used again for
every array of a shape that it has met.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, LaunchTypeError
from dsim.frontend.source.lowered import LoweringSettings as Types
from dsim.frontend.values.types import ArrayType, describe_array, scalar_type
from dsim.ir.types import from_numpy
from dsim.runtime.fields.brought import as_numpy, is_plain
from dsim.runtime.fields.components import Component
from dsim.runtime.fields.fields import BAR, Field
from dsim.runtime.fields.holders import holder
from dsim.runtime.fields.ndarrays import Ndarray
from dsim.runtime.kernels.array_launch import ArrayMemory, Value
from dsim.runtime.kernels.field_arguments import FieldArguments, FieldCalls
from dsim.runtime.kernels.signatures import Signature
from dsim.runtime.kernels.versions import Instance
from dsim.runtime.launching.bound import slot
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.probe_buffers import Looking
from dsim.runtime.launching.shadow_arrays import Mirrors, memory_of
from dsim.runtime.state import settings
from dsim.runtime.state.notices import warn
from dsim.runtime.state.once import kept
from dsim.runtime.state.stack import opened

MOST = 128  # combinations that stay compiled
Key = tuple[Any, ...]


class Given:
    """The compile-time properties of one array argument."""

    def __init__(self, name: str, kind: ArrayType, value: Value, read_only: bool) -> None:
        self.name = name
        self.read_only = read_only
        self.constant = kind.needs_grad is False
        self.has_gradient = isinstance(value, Field) and value.root.needs_grad
        if isinstance(value, Field):
            self.dtype, self.shape, self.entry = value.dtype, value.shape, value.entry_shape
            self.derivative = value.derivative
        else:
            axes = value.ndim - kind.entry_axes
            self.dtype, self.derivative = from_numpy(value.dtype), ()
            self.shape, self.entry = value.shape[: max(axes, 0)], value.shape[max(axes, 0) :]

    def place(self, read_only: bool) -> ArrayMemory:
        """A memory like it."""
        made = slot(self.name, self.dtype, (*self.shape, *self.entry), len(self.entry))
        made.constant = self.constant
        if self.has_gradient:
            made.want(BAR)
        return ArrayMemory(made, self.name, len(self.entry), read_only)


class Combination:
    """The compilations for one combination of array types and shapes.

    Parameters
    ----------
    given : list of Given
        What is passed for each array parameter.
    same : list of int
        For each of them the first one with the same memory.

    Attributes
    ----------
    instance : Instance
        Launches it.
    firsts : tuple of int
        Which of the parameters have memories of their own.
    """

    def __init__(self, owner: Arrays, given: list[Given], same: list[int]) -> None:
        self._owner = owner
        self._given = given
        self.firsts = tuple(n for n, first in enumerate(same) if n == first)
        self._at = [self.firsts.index(first) for first in same]
        places = [given[n].place(all(g.read_only for g, s in zip(given, same, strict=True) if s == n))
                  for n in self.firsts]  # fmt: skip
        slots = {
            g.name: places[at].slot.companion(g.derivative) for g, at in zip(given, self._at, strict=True)
        }
        self.instance = Instance(
            owner.function, {**owner.bound, **slots}, places, self._on_captured, owner.looking
        )

    def memories(self, values: list[Value]) -> list[Value]:
        """The memories among the values of all array parameters: roots of fields, and NumPy arrays."""
        chosen = [values[n] for n in self.firsts]
        return [v.root if isinstance(v, Field) else v for v in chosen]

    def captured(self, memories: list[Value]) -> dict[str, Field]:
        """Those array arguments that are fields which the kernel captured, by parameter."""
        launch = self.instance.version().arrays
        assert launch is not None
        found: dict[str, Field] = {}
        for g, at in zip(self._given, self._at, strict=True):
            memory = memories[at]
            if isinstance(memory, Field) and memory in launch.captured:
                if g.constant:
                    raise self._owner.refused_as_constant(g.name, memory.quoted)
                found[g.name] = memory.companion(g.derivative)
        return found

    def _on_captured(self, passed: list[Value] | FieldArguments, *others: Any) -> Any:
        """A launch with a captured field as an argument: both are one memory."""
        memories = list[Value](passed)
        fields = self.captured(memories)
        given = dict(zip(self._owner.others, others, strict=True))
        for g, at in zip(self._given, self._at, strict=True):
            memory = memories[at]
            if g.name not in fields:
                given[g.name] = memory.companion(g.derivative) if isinstance(memory, Field) else memory
        args = tuple(given[name] for name in self._owner.names if name not in fields)
        return self._owner.with_fields(fields).launched(args)


class Arrays:
    """A kernel's launches on arrays.

    Parameters
    ----------
    function, bound
        As of `Instance`.
    signature : Signature
        The kernel's, with array parameters and without ``template()`` ones.
    with_fields : callable
        Gives the kernel for which these array parameters, by name, are known fields.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        bound: Mapping[str, Any],
        signature: Signature,
        with_fields: Callable[[dict[str, Field]], Any],
        looking: Looking | None = None,
    ) -> None:
        self.looking = looking
        self.function = function
        self.bound = dict(bound)
        self.with_fields = with_fields
        self.names = signature.names
        self._names = [signature.names[n] for n in signature.arrays]
        self._kinds = tuple(signature.arrays.values())
        self._at = tuple(signature.arrays)
        self._only = len(self._at) == len(signature.names)  # all arguments are arrays
        self._others_at = tuple(n for n in range(len(signature.names)) if n not in signature.arrays)
        self.others = [signature.names[n] for n in self._others_at]
        self.known: OrderedDict[Key, Combination] = OrderedDict()
        self._full = False  # and it was said
        self._calls = FieldCalls()
        self._follows = any(kind.needs_grad for kind in self._kinds)  # whether fields have gradients now

    def forget(self) -> None:
        """Drops what was compiled."""
        self.known.clear()
        self._calls.clear()

    def launch(self, args: tuple[Any, ...]) -> Any:
        """Launches for these arguments, one for each parameter."""
        arrays = args if self._only else [args[n] for n in self._at]
        fields = isinstance(arrays[0], Field)
        known = self._calls.find(tuple(map(id, arrays))) if fields else None
        if known is not None:
            for f in arrays:
                if f.buffer is None or not f.wanted:
                    f.require()
            others = () if self._only else [args[n] for n in self._others_at]
            return known.instance.launch(known, *others)
        found, values, others = self.taken(args)
        memories: Any = found.memories(values)
        if fields and not self._follows and all(isinstance(a, Field) for a in arrays):
            memories = self._calls.remember(values, memories, found.instance)
        return found.instance.launch(memories, *others)

    @contextmanager
    def form(self, args: tuple[Any, ...]) -> Iterator[tuple[Form, tuple[Any, ...]]]:
        """The kernel over these arrays, and its other arguments; in the block NumPy's arrays have mirrors."""
        found, values, others = self.taken(args)
        memories = found.memories(values)
        fields = found.captured(memories)
        if fields:
            kept = [a for n, a in enumerate(args) if self.names[n] not in fields]
            with self.with_fields(fields).formed(tuple(kept)) as formed:
                yield formed
            return
        version = found.instance.version()
        assert version.arrays is not None
        if opened():
            yield version.arrays.on(memories, opened()[0].mirrors), version.arguments(others)
            return
        mirrors = Mirrors()
        try:
            yield version.arrays.on(memories, mirrors), version.arguments(others)
        finally:
            mirrors.release()

    def taken(self, args: tuple[Any, ...]) -> tuple[Combination, list[Value], tuple[Any, ...]]:
        """The combination for arguments, the arrays among them, and the others."""
        values: list[Value] = []
        parts: list[Any] = []
        for n, at in enumerate(self._at):
            value = args[at]
            if type(value) is np.ndarray and value.base is None:
                part = (value.dtype, value.shape)
            elif isinstance(value, Field):
                if value.buffer is None or not value.wanted:
                    value.require()
                if isinstance(value, Ndarray):
                    value.root.given_name = value.root.given_name or self._names[n]
                part = (value.dtype, value.shape, value.entry_shape, value.derivative)
                if self._kinds[n].needs_grad:
                    part += (value.needs_grad,)
            else:
                value, part = self._array(n, value)
            values.append(value)
            parts.append(part)
        same = self._same(values) if len(values) > 1 else [0]
        key = (*parts, *same) if len(values) > 1 else parts[0]
        found = kept(self.known, key, lambda: self._made(values, parts, same))
        return found, values, tuple([args[n] for n in self._others_at])

    def _array(self, n: int, value: Any) -> tuple[Value, Any]:
        """An argument that is neither an array with memory of its own nor a field, as one of these."""
        if isinstance(value, Component):
            advice = "copy it into a field of numbers first: `x.copy_from(component)`"
            raise self._refused(n, "got a component of a field", advice)
        try:
            array = as_numpy(value)
        except TypeError as wrong:
            raise self._refused(n, str(wrong), "pass an `ndarray` or a NumPy array") from None
        field = None if is_plain(array) else holder(array)  # a field's memory is seen through a buffer
        if field is not None and field.wanted and memory_of(array) == memory_of(field.require()):
            known = (field.dtype, field.shape, field.entry_shape, field.derivative, field.needs_grad)
            return field, (*known, "read-only")
        return array, (array.dtype, array.shape)

    def _same(self, values: list[Value]) -> list[int]:
        """For each array the first one with the same memory and elements, usually itself."""
        kinds = self._kinds
        return [
            next(k for k in range(n + 1) if k == n or _is_same(values[k], kinds[k], v, kinds[n]))
            for n, v in enumerate(values)
        ]

    def _made(self, values: list[Value], parts: list[Any], same: list[int]) -> Combination:
        given = [self._given(n, v, parts[n][-1] == "read-only") for n, v in enumerate(values)]
        for g, first in zip(given, same, strict=True):
            if g.constant != given[first].constant:
                constant, other = (g, given[first]) if g.constant else (given[first], g)
                raise self.refused_as_constant(constant.name, f"`{other.name}`")
        made = Combination(self, given, same)
        if len(self.known) >= MOST:
            self.known.popitem(last=False)
            if not self._full:
                self._full = True
                warn([_many(self.function.__name__)])
        return made

    def _given(self, n: int, value: Value, read_only: bool) -> Given:
        kind, chosen = self._kinds[n], settings.current()
        types = Types(chosen.default_fp, chosen.default_ip)
        try:
            given = Given(self._names[n], kind, value, read_only)
        except KeyError:
            raise self._refused(n, f"got an array of {value.dtype}", _of_no_type(value.dtype)) from None
        if not kind.fits(given.dtype, given.shape, given.entry, types):
            what = describe_array(given.dtype, given.shape, given.entry)
            if not isinstance(value, Field):
                what = describe_array(given.dtype, value.shape, ())
            raise self._refused(n, f"got {what}", _advice(kind, given, value, types))
        if isinstance(value, Field) and value.offset:
            first = ", ".join(map(str, value.offset))
            raise self._refused(
                n, f"got a field whose indices start with {first}", "pass it as a `template()`"
            )
        if kind.needs_grad and not (isinstance(value, Field) and value.needs_grad):
            raise self._refused(n, "got one without a gradient", "make it with `needs_grad=True`")
        return given

    def refused_as_constant(self, name: str, other: str) -> LaunchTypeError:
        """An array that is to be a constant is passed, and is the kernel's by another name."""
        why = f"has `needs_grad=False`, and is the same array as {other}, which does not"
        message = f"argument `{name}` of `{self.function.__name__}` {why}"
        advice = "pass a copy for one of them, or annotate both alike"
        return LaunchTypeError(Diagnostic("argument", message, help=advice))

    def _refused(self, n: int, why: str, advice: str) -> LaunchTypeError:
        chosen = settings.current()
        wanted = self._kinds[n].describe(Types(chosen.default_fp, chosen.default_ip))
        message = f"argument `{self._names[n]}` of `{self.function.__name__}` is {wanted}: {why}"
        return LaunchTypeError(Diagnostic("argument", message, help=advice))


def _many(name: str) -> Diagnostic:
    message = f"`{name}` has been compiled for {MOST} combinations of shapes, and discards the oldest ones"
    advice = "pass arrays of one shape, and the used length as a number"
    return Diagnostic("recompiled", message, help=advice)


def _of_no_type(dtype: Any) -> str:
    """What to do with an array of a type that kernels do not have."""
    if dtype.kind in "iuf" and not dtype.isnative:
        return f"convert it to the machine's byte order: `.astype('{dtype.kind}{dtype.itemsize}')`"
    return "kernels support real numbers in the machine's byte order only"


def _advice(kind: ArrayType, given: Given, value: Value, types: Types) -> str:
    """The help for an array that does not fit."""
    dtype = scalar_type(kind.dtype, types) or given.dtype
    if isinstance(value, np.ndarray) and kind.fits(dtype, given.shape, given.entry, types):
        return f"convert it: `.astype(np.{dtype.numpy.name})`"
    return "pass an array of this type and number of axes"


def _is_same(a: Value, kind: ArrayType, b: Value, other: ArrayType) -> bool:
    if isinstance(a, Field) or isinstance(b, Field):
        return isinstance(a, Field) and isinstance(b, Field) and a.root is b.root
    if kind.entry_axes != other.entry_axes:
        return False  # numbers here, vectors there: launches report it
    return a is b or ((a.base is not None or b.base is not None) and memory_of(a) == memory_of(b))
