"""Fields that are put back as they were, bit for bit: a report looks at a program and leaves no trace."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

import numpy as np

from dsim.runtime import randomness
from dsim.runtime.fields import Field, companions_with_memory
from dsim.runtime.forms import Form


def touched(form: Form, args: Iterable[Any] = ()) -> list[Field | np.ndarray]:
    """The primal fields of `form`, and the arrays among the arguments of a launch."""
    fields = dict.fromkeys(f.root for f in form.fields.values() if f.root.buffer is not None)
    return [*fields, *(a for a in args if isinstance(a, np.ndarray))]


class Snapshot:
    """The numbers of fields and arrays at one time, and which random numbers come next."""

    def __init__(self, what: Iterable[Field | np.ndarray]) -> None:
        self._random = randomness.place()
        self._kept = [(w, _memory(w).copy(), isinstance(w, Field) and w.touched) for w in what]

    def put_back(self) -> None:
        """Makes all of them what they were."""
        randomness.return_to(self._random)
        for what, values, marked in self._kept:
            _memory(what)[...] = values
            if isinstance(what, Field):
                what.written_by_python()
                what.touched = marked


def _memory(what: Field | np.ndarray) -> np.ndarray:
    return what.require_memory() if isinstance(what, Field) else what


@contextmanager
def kept(what: Iterable[Field | np.ndarray]) -> Iterator[None]:
    """Whatever happens inside, these are afterwards what they were."""
    before = Snapshot(what)
    try:
        yield
    finally:
        before.put_back()


@contextmanager
def gradients_kept(*, on_error: bool = False) -> Iterator[None]:
    """All gradients and tangents are afterwards what they were, new ones 0; or only if there is an error."""
    known = {f: None for last in ("bar", "dot") for f in companions_with_memory(last)}
    before = Snapshot(known)
    try:
        yield
    except BaseException:
        _back(before, known)
        raise
    if not on_error:
        _back(before, known)


def _back(before: Snapshot, known: Iterable[Field]) -> None:
    before.put_back()
    for last in ("bar", "dot"):
        for f in companions_with_memory(last):
            if f not in known:
                f.require_memory().fill(0)
                f.written_by_python()
                f.touched = False


@contextmanager
def silent() -> Iterator[None]:
    """What kernels print inside was printed before."""
    with redirect_stdout(io.StringIO()):
        yield
