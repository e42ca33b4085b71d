"""Forward mode along several directions in one pass, over launches that were recorded.

Values are computed once for all directions, and so is what their partial derivatives share. The tangents are
the batch's own: no field's ``.dual`` changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from threading import get_ident
from typing import Self

import numpy as np

from dsim.ir.nodes import MemoryKey
from dsim.ir.walk import statements
from dsim.runtime.fields.fields import Field, zeros_like
from dsim.runtime.fields.whole_memory import zero
from dsim.runtime.launching.contexts import Args, Context
from dsim.runtime.launching.forms import Form

_WIDTH = 4  # directions in one pass: with more, registers and caches are too small for many kernels
_MOST_BYTES = 1 << 30  # of tangents
_MOST_STATEMENTS = 10_000  # of a kernel, once for each direction: it compiles in some 3 seconds


class TangentBatch(Context):
    """Carries tangents along up to `width` directions through the launches inside.

    It is the outermost context, and inside it recorded launches are repeated. It may be entered again, with
    other seeds; its memory, and the kernels bound to it, are kept in between.

    Parameters
    ----------
    params : sequence of Field
        What to differentiate by; floats, with memory. Gradients and tangents too.
    width : int
        How many tangents each field has memory for.

    Examples
    --------
    ::

        for part, width in chunks(len(seeds), recorder.launches):
            batch = TangentBatch([x], width)
            with batch.along([seeds[part]]):
                recorder.replay()
            found.append(batch.tangents(y))
    """

    def __init__(self, params: Sequence[Field], width: int) -> None:
        super().__init__()
        self.params = tuple(params)
        self.width = width
        self._count = 0
        self._seeds: Sequence[np.ndarray] = ()
        self._active: set[Field] = set()
        self._memory: dict[Field, tuple[Field, ...]] = {}
        self._carrying: dict[Form, Form] = {}  # what to launch instead, while the same fields are active
        self._bound: dict[tuple[Form, frozenset[MemoryKey]], Form] = {}

    def along(self, seeds: Sequence[np.ndarray]) -> Self:
        """The directions of the next block: for each param an array of shape ``(count, *full_shape)``.

        With ``count < width`` the other tangents are 0.
        """
        self._seeds, self._count = seeds, len(seeds[0])
        return self

    def __enter__(self) -> Self:
        self.enter(self._begin)
        return self

    def _begin(self) -> None:
        assert self.outer is None, "contexts around a batch would not see what it launches"
        self._carrying.clear()
        self._active = set(self.params)
        for field, seed in zip(self.params, self._seeds, strict=True):
            self._zero(field, self._count)
            for tangent, values in zip(self._memory[field], seed, strict=False):
                tangent.require_memory()[...] = values

    def tangents(self, field: Field) -> np.ndarray:
        """The tangents of `field` along the directions, of shape ``(count, *full_shape)``."""
        if field not in self._active:
            return np.zeros((self._count, *field.full_shape), field.dtype.numpy)
        return np.stack([tangent.require_memory() for tangent in self._memory[field][: self._count]])

    def launch(self, form: Form, args: Args) -> Args:
        """Launches the form that carries the tangents along, if anything in it has one."""
        if get_ident() != self._thread:
            return self.elsewhere(form, args)
        found = self._carrying.get(form)
        if found is None:
            keys = frozenset(key for key, f in form.floats if f in self._active)
            parts = form.instead(keys)
            for part in parts:
                self.launch(part, args)
            if parts:
                return ()
            found = self._tangents(form, keys)
            self._carrying[form] = found
        return self.pass_on(found, args)

    def _tangents(self, form: Form, keys: frozenset[MemoryKey]) -> Form:
        reached = form.spread(keys)
        fresh = {form.field(k) for k in reached - keys}
        if fresh:
            self._active |= fresh
            self._carrying.clear()
            for field in fresh:
                self._zero(field)
        if not reached:
            return form
        found = self._bound.get((form, reached))
        if found is None:
            found = self._bound[form, reached] = form.tangents(reached, self._memory, self.width)
        return found

    def _zero(self, field: Field, first: int = 0) -> None:
        """Gives `field` tangents, which are 0 from the `first` on."""
        known = self._memory.get(field)
        if known is None:
            self._memory[field] = tuple(zeros_like(field, f"{field.name}.dual") for _ in range(self.width))
        else:
            for tangent in known[first:]:
                zero(tangent.require_memory())


def chunks(count: int, launches: Iterable[tuple[Form, Args]]) -> Iterator[tuple[slice, int]]:
    """Divides `count` directions among passes over `launches`: which ones, and how wide the batch is.

    A pass takes 4 directions, or 2 or 1 where the tangents of 4 would need more than 1 GiB, or make a kernel
    too long to compile. The rest goes in one pass; of 3, the fourth is 0, which needs no further kernels.
    """
    width = _width({form for form, _ in launches})
    for start in range(0, count, width):
        size = min(width, count - start)
        yield slice(start, start + size), 1 << (size - 1).bit_length()


def _width(forms: set[Form]) -> int:
    floats = {f for form in forms for _, f in form.floats}
    size = sum(f.dtype.numpy.itemsize * int(np.prod(f.full_shape)) for f in floats)
    longest = max((sum(1 for _ in statements(form.kernel.body)) for form in forms), default=0)
    width = _WIDTH
    while width > 1 and (width * size > _MOST_BYTES or width * longest > _MOST_STATEMENTS):
        width //= 2
    return width
