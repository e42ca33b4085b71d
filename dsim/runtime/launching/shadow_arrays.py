"""NumPy arrays inside differentiating contexts: each is represented by a field, its shadow array.

A tape reads values again when it goes backwards, and a user may change a NumPy array at any time. So
launches inside a context work on a field of the same numbers. Before a launch, what Python changed in the
array since is written to the field as Python's writes are; after it, what the kernel wrote is copied to
the array. Between kernels an array carries gradients as a field does; it has none itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError, LaunchTypeError
from dsim.ir.types import ScalarType, from_numpy, i8, i32, is_known
from dsim.runtime.fields.aliases import Extents, address, apart, comb, extent, interleaved, shared
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.holders import holder
from dsim.runtime.fields.whole_memory import zero
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.host_elements import Renew, Take
from dsim.runtime.state.stack import opened

Pause = Callable[[], AbstractContextManager[Any]]
_TURNS = 3
_POOL_BYTES = 1 << 28  # that mirrors which are not in use may take


class Mirror(Field):
    """The field of a NumPy array, or of one array after the other."""

    def __init__(self, dtype: ScalarType, entry_shape: tuple[int, ...], name: str) -> None:
        super().__init__(dtype, entry_shape, name)
        self.operations = self.recent = Recent()


class Recent(dict[Any, Any]):
    """A cache of data about a shadow array, held as long as its contexts use it.

    Other fields in it may be gone long since for whoever made them: nothing else would tell.
    """

    def __init__(self) -> None:
        super().__init__()
        self._turn = 0
        self._used: dict[Any, int] = {}

    def get(self, key: Any, default: Any = None) -> Any:
        """What is kept under `key`."""
        if key in self:
            self._used[key] = self._turn
        return super().get(key, default)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._used[key] = self._turn
        super().__setitem__(key, value)

    def end_turn(self) -> None:
        """Drops what was not used for some contexts."""
        self._turn += 1
        for key in [k for k, turn in self._used.items() if turn + _TURNS < self._turn]:
            del self[key], self._used[key]


class Known:
    """An array that a context has seen.

    Attributes
    ----------
    array : ndarray
        Held, so that no other array can take its address.
    comb : Comb
        The bytes around it, to tell it from arrays between whose elements it lies.
    relatives : list of Known
        The arrays that share memory with it.
    seen : int
        The last write of a kernel to any of them that `mirror` knows of: their number since the beginning.
    first, wrote : int
        The numbers of the first and the last one to this array; 0 for none.
    by : str
        The parameter by which it was written.
    field : Field or None
        The one in whose memory it lies: then its numbers are read in Python.
    """

    __slots__ = ("array", "by", "comb", "field", "first", "mirror", "relatives", "seen", "wrote")

    def __init__(self, mirror: Mirror, array: np.ndarray) -> None:
        self.mirror = mirror
        self.array = array.view()  # whose shape no one else can change in place
        self.comb = comb(array)
        self.relatives: list[Known] = []
        self.seen = self.first = self.wrote = 0
        self.by = ""
        self.field: Field | None = holder(array)


class Mirrors:
    """The mirrors of the arrays that one context met, while it is open.

    Arrays that share memory have a mirror each. A kernel's write to one of them reaches another one before
    its next launch, as a copy of the elements that they share: a launch like any other, which contexts see.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Known] = {}
        self._of: dict[Field, Known] = {}
        self._extents: Extents[Known] = Extents()
        self._writes = 0
        self._hidden: list[Pause] = []  # how contexts see again what goes on, where they do not
        self._before = 0  # how many writes there were before that

    def of(self, array: np.ndarray, entry_axes: int, name: str, kernel: str) -> Field:
        """The mirror of `array`, with its numbers; its last `entry_axes` are an element's.

        Raises
        ------
        LaunchTypeError
            When a kernel wrote to a part of its memory as numbers of another type, or at other places.
        """
        key = (*memory_of(array), entry_axes)
        found = self._known.get(key) or self._met(key, array, entry_axes, f"`{name}` of `{kernel}`")
        mirror = found.mirror
        mirror.given_name = name
        if found.seen != self._writes:
            if found.relatives:
                self._catch_up(found, f"`{name}` of `{kernel}`")
            found.seen = self._writes
        if found.field is not None and opened():
            opened()[-1].element_read(found.field)
        if not _equal(mirror.require(), array):
            self._renew(found)
        return mirror

    def argument(self, array: np.ndarray, name: str, function: str, meets: bool = True) -> Field | None:
        """The field that holds the numbers of `array`, an argument of a function of Python's.

        That in whose memory it lies, the shadow array of kernels that had it, or, if it `meets` the array
        here, one of its own. Numbers of a type that kernels lack are in it byte by byte.
        """
        held = holder(array)
        if held is not None:
            return held
        numbers = array if is_known(array.dtype) else array[..., None].view(np.uint8)
        axes = self._axes(numbers)
        return self.of(numbers, axes or 0, name, function) if meets or axes is not None else None

    def known(self, array: np.ndarray) -> Mirror | None:
        """The mirror of an array that kernels had; None where none had it."""
        axes = self._axes(array)
        return None if axes is None else self._known[*memory_of(array), axes].mirror

    def _axes(self, array: np.ndarray) -> int | None:
        """How many of its axes are an element's, for the kernels that had it; None where none had it."""
        memory = memory_of(array)
        return next((n for n in range(array.ndim + 1) if (*memory, n) in self._known), None)

    def _met(self, key: tuple[Any, ...], array: np.ndarray, entry_axes: int, name: str) -> Known:
        mirror = _taken(from_numpy(array.dtype), array.shape, entry_axes)
        mirror.require()[...] = array
        mirror.written_by_python()
        found = self._known[key] = self._of[mirror] = Known(mirror, array)
        for other in self._extents.add(found, *extent(array)):
            if not (interleaved(found.comb, other.comb) or apart(array, other.array)):
                if self._hidden and 0 < other.first <= self._before < other.wrote:
                    raise _too_late(name, other.by)
                found.relatives.append(other)
                other.relatives.append(found)
        return found

    def written(self, mirrors: Iterable[Field], kernel: str) -> None:
        """Notes that a kernel wrote to these, which were handed out for it."""
        for mirror in mirrors:
            found = self._of[mirror]
            self._writes += 1
            found.seen = found.wrote = self._writes
            found.first = found.first or self._writes
            found.by = f"`{mirror.name}` of `{kernel}`"

    def _catch_up(self, known: Known, name: str) -> None:
        """Copies to a shadow array what kernels wrote to other arrays of the same memory since, in order."""
        since = [other for other in known.relatives if other.wrote > known.seen]
        for other in sorted(since, key=lambda other: other.seen):
            rows = _shared(known, other)
            if rows is None:
                raise _differently(name, other.by, known.array, other.array)
            if rows:
                with ExitStack() as seen:
                    for pause in self._hidden if other.wrote <= self._before else ():
                        seen.enter_context(pause())
                    opened()[-1].launch(_kept(known.mirror, Take, other.mirror, *rows), ())

    def _renew(self, known: Known) -> None:
        """Copies to a shadow array what Python changed in its array."""
        mirror, array = known.mirror, known.array
        changed = ~_same(mirror.require(), array)
        opened()[-1].array_changed(mirror)
        if not (known.wrote or known.relatives) or changed.all():
            mirror.set_numbers(array)
            return
        given, where = _beside(mirror, "given", mirror.dtype), _beside(mirror, "changed", i8)
        given.set_numbers(array)
        where.set_numbers(changed)
        opened()[-1].launch(_kept(mirror, Renew, given, where), ())

    @contextmanager
    def undifferentiated(self, pause: Pause) -> Iterator[None]:
        """In the block, contexts see launches as they are only inside `pause()`."""
        if not self._hidden:
            self._agree()
            self._before = self._writes
        self._hidden.append(pause)
        try:
            yield
            self._agree()
        finally:
            self._hidden.remove(pause)

    def _agree(self) -> None:
        """Updates all arrays that share memory with others."""
        for known in [k for k in self._known.values() if k.relatives]:
            self._catch_up(known, known.mirror.quoted)
            known.seen = self._writes

    @contextmanager
    def shown(self, mirrors: Iterable[Field], kept: Container[Field]) -> Iterator[None]:
        """In the block, the arrays hold what their mirrors do; what it does not change is put back after it.

        What it changes, mirrors take over that are not in `kept`.

        Raises
        ------
        GradientError
            When an array would have to be changed that can only be read.
        """
        wanted = [self._of[f] for f in dict.fromkeys(mirrors) if f in self._of]
        before: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for known in wanted:
            if not _equal(known.mirror.require(), known.array):
                if not known.array.flags.writeable:
                    raise _read_only(known.mirror)
                before.append((known.array, known.array.copy(), known.mirror.require().copy()))
        try:
            for array, _, shown in before:
                array[...] = shown
            yield
        finally:
            for known in wanted:
                if known.mirror not in kept and not _equal(known.mirror.require(), known.array):
                    known.mirror.set_numbers(known.array)
            for array, hidden, shown in before:
                np.copyto(array, hidden, where=_same(array, shown))

    def arrays(self) -> Iterator[tuple[Field, np.ndarray]]:
        """The shadow arrays, each with the array that it represents."""
        return ((known.mirror, known.array) for known in self._known.values())

    def release(self) -> None:
        """Releases the shadow arrays for reuse, with the code compiled for them.

        In reverse, so that the next context that meets the same arrays in the same order gets the same ones.
        """
        for known in reversed(self._known.values()):
            _POOL.give(known.mirror)
        self._known.clear()
        self._of.clear()
        self._extents, self._writes = Extents(), 0


def _read_only(mirror: Mirror) -> GradientError:
    message = f"the array {mirror.quoted} changed after a function under `grad_replaced` had used it"
    advice = "the gradient needs its old numbers, and the array is read-only: pass a copy"
    return GradientError(Diagnostic("not-differentiable", message, help=advice))


def _too_late(name: str, by: str) -> GradientError:
    message = (
        f"{name} shares memory with {by}, which was written before and in a function whose launches are not "
        "differentiated, and is met first in there"
    )
    advice = "pass it to a kernel before that function, or pass the function the same array"
    return GradientError(Diagnostic("not-differentiable", message, help=advice))


def _differently(name: str, by: str, array: np.ndarray, other: np.ndarray) -> LaunchTypeError:
    types = (
        "" if array.dtype == other.dtype else f", one of them as {other.dtype}, the other as {array.dtype}"
    )
    message = f"{by} and {name} are views of one memory{types}, and their elements do not coincide"
    advice = "pass views of one type, or a copy: derivatives do not pass from one to the other"
    return LaunchTypeError(Diagnostic("argument", message, help=advice))


def memory_of(array: np.ndarray) -> tuple[Any, ...]:
    """What is equal of two arrays that are the same memory read the same way."""
    return address(array), array.dtype, array.shape, array.strides


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays of one type and shape hold the same bits."""
    bits = f"u{a.itemsize}"
    return np.array_equal(a.view(bits), b.view(bits))


def _same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Which elements of two arrays of one type and shape hold the same bits."""
    bits = f"u{a.itemsize}"
    return np.asarray(a.view(bits) == b.view(bits))


def _shared(known: Known, other: Known) -> tuple[Field, Field] | tuple[()] | None:
    """Rows of indices of what `known` shares with `other`; none, or None where numbers overlap otherwise."""
    key = (
        "shared",
        *memory_of(known.array)[1:],
        *memory_of(other.array)[1:],
        address(known.array) - address(other.array),
    )
    kept = known.mirror.operations
    found = kept.get(key)
    if found is None:
        rows = shared(known.array, other.array)
        found = (_rows(rows.to), _rows(rows.of)) if len(rows.to) else ()
        found = kept[key] = found if rows.exact else "differently"
    return None if found == "differently" else found


def _rows(indices: np.ndarray) -> Field:
    made = Field(i32, (), "rows")
    made.allocate(indices.shape)
    made.require()[...] = indices
    return made


def _beside(mirror: Mirror, name: str, dtype: ScalarType) -> Field:
    """A field of the shape of `mirror`, kept with it."""
    found = mirror.operations.get(name)
    if found is None:
        found = mirror.operations[name] = Mirror(dtype, mirror.entry_shape, name)
        found.allocate(mirror.shape)
    return found


def _kept(mirror: Mirror, kind: Callable[..., Form], *others: Field) -> Form:
    """The operation on `mirror`, kept with it."""
    key = (kind, *others)
    found = mirror.operations.get(key)
    if found is None:
        found = mirror.operations[key] = kind(mirror, *others)
    return found


class _Pool(threading.local):
    """Mirrors that are not in use, by type and shape."""

    def __init__(self) -> None:
        self._idle: dict[tuple[Any, ...], list[Mirror]] = {}
        self._bytes = 0

    def take(self, key: tuple[Any, ...]) -> Mirror | None:
        """An idle mirror; the one that was given back last."""
        idle = self._idle.get(key)
        if not idle:
            return None
        mirror = idle.pop()
        self._bytes -= mirror.require().nbytes
        return mirror

    def give(self, mirror: Mirror) -> None:
        """Takes a mirror back, without anything that was computed of it, if there is room."""
        size = mirror.require().nbytes
        if self._bytes + size > _POOL_BYTES:
            return
        for companion in mirror.companions.values():
            if companion.touched:
                zero(companion.require_memory())
                companion.touched = 0
        mirror.recent.end_turn()
        self._bytes += size
        self._idle.setdefault((mirror.dtype, mirror.shape, mirror.entry_shape), []).append(mirror)


_POOL = _Pool()


def _taken(dtype: ScalarType, shape: tuple[int, ...], entry_axes: int) -> Mirror:
    plain, entry = shape[: len(shape) - entry_axes], shape[len(shape) - entry_axes :]
    found = _POOL.take((dtype, plain, entry))
    if found is None:
        found = Mirror(dtype, entry, "")
        found.allocate(plain)
    return found
