"""NumPy arrays inside differentiating contexts: each has a field that mirrors it.

A tape reads values again when it goes backwards, and a person may change a NumPy array at any time. So
launches inside a context work on a field of the same numbers. Before a launch, what Python changed in the
array since is written to the field as Python's writes are; after it, what the kernel wrote is copied to
the array. Between kernels an array carries gradients as a field does; it has none itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError
from dsim.ir.types import ScalarType, from_numpy
from dsim.runtime.fields import Field, holder
from dsim.runtime.stack import STACK

_TURNS = 3
_POOL_BYTES = 1 << 28  # that mirrors which are not in use may take


class Mirror(Field):
    """The field of a NumPy array, or of one array after the other."""

    def __init__(self, dtype: ScalarType, entry_shape: tuple[int, ...], name: str) -> None:
        super().__init__(dtype, entry_shape, name)
        self.operations = self.recent = Recent()


class Recent(dict[Any, Any]):
    """What was kept with a mirror, as long as the contexts that it serves use it.

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


class Mirrors:
    """The mirrors of the arrays that one context met, while it is open."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], tuple[Mirror, np.ndarray]] = {}

    def of(self, array: np.ndarray, entry_axes: int, name: str) -> Field:
        """The mirror of `array`, with its numbers; its last `entry_axes` are an element's."""
        key = (*memory_of(array), entry_axes)
        found = self._known.get(key)
        if found is None:
            mirror = _taken(from_numpy(array.dtype), array.shape, entry_axes)
            mirror.require()[...] = array
            mirror.written_by_python()
            self._known[key] = mirror, array  # which stays, so that no other array comes to lie there
            _read(array)
        else:
            mirror = found[0]
            if not _equal(mirror.require(), array):
                _read(array)
                mirror.from_numpy(array)
        mirror.given_name = name
        return mirror

    @contextmanager
    def shown(self, mirrors: Iterable[Field]) -> Iterator[None]:
        """In the block, the arrays hold what their mirrors do; what it does not change is put back after it.

        Raises
        ------
        GradientError
            When an array would have to be changed that can only be read.
        """
        wanted, before = set(mirrors), list[tuple[np.ndarray, np.ndarray, np.ndarray]]()
        for mirror, array in self._known.values():
            if mirror in wanted and not _equal(mirror.require(), array):
                if not array.flags.writeable:
                    raise _read_only(mirror)
                before.append((array, array.copy(), mirror.require().copy()))
        try:
            for array, _, shown in before:
                array[...] = shown
            yield
        finally:
            for array, kept, shown in before:
                if _equal(array, shown):
                    array[...] = kept

    def release(self) -> None:
        """Gives the mirrors back: they are used again, with what was compiled for them."""
        for mirror, _ in self._known.values():
            _POOL.give(mirror)
        self._known.clear()


def _read_only(mirror: Mirror) -> GradientError:
    message = f"the array {mirror.quoted} changed after a function with a gradient of its own had used it"
    advice = "that gradient needs its numbers back, and the array is read-only: pass a copy"
    return GradientError(Diagnostic("not-differentiable", message, help=advice))


def memory_of(array: np.ndarray) -> tuple[Any, ...]:
    """What is equal of two arrays that are the same memory read the same way."""
    return array.ctypes.data, array.dtype, array.shape, array.strides


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays of one type and shape hold the same bits."""
    bits = f"u{a.itemsize}"
    return np.array_equal(a.view(bits), b.view(bits))


def _read(array: np.ndarray) -> None:
    """Tells the contexts when the array is a part of a field: its values are read in Python."""
    field = holder(array)
    if field is not None and STACK.open:
        STACK.open[-1].element_read(field)


class _Pool(threading.local):
    """Mirrors that are not in use, by type and shape."""

    def __init__(self) -> None:
        self._idle: dict[tuple[Any, ...], list[Mirror]] = {}
        self._bytes = 0

    def take(self, key: tuple[Any, ...]) -> Mirror | None:
        """An idle mirror; the one that was given back first."""
        idle = self._idle.get(key)
        if not idle:
            return None
        mirror = idle.pop(0)
        self._bytes -= mirror.require().nbytes
        return mirror

    def give(self, mirror: Mirror) -> None:
        """Takes a mirror back, without anything that was computed of it, if there is room."""
        size = mirror.require().nbytes
        if self._bytes + size > _POOL_BYTES:
            return
        for companion in mirror.companions.values():
            if companion.touched:
                companion.require_memory().fill(0)
                companion.touched = False
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
