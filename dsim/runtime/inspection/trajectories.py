"""The gradient with respect to a field after many calls of a tape, by one backward sweep."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError
from dsim.runtime.fields.aliases import own_place_each
from dsim.runtime.fields.fields import Field, kind_of
from dsim.runtime.fields.holders import holder
from dsim.runtime.inspection.calls import Calls, RecordedCall
from dsim.runtime.inspection.result_memory import keep, room
from dsim.runtime.inspection.revisit import check_field, fill, first_active, number_of
from dsim.runtime.recording.record import TapeRecord
from dsim.runtime.sweeping.adjoint_rows import AdjointRows


class GradientTrajectory(Sequence[np.ndarray]):
    """The gradients of a tape's loss with respect to the values that a field had after several calls.

    Attributes
    ----------
    calls : ndarray of int
        The numbers of the calls, as `tape.calls` counts them.
    values : ndarray
        One gradient for each of `calls`, along the first axis. Indexing the object indexes this array, and
        NumPy functions take the object in its place.
    of : str
        The field, as messages name it.
    """

    def __init__(self, of: str, calls: np.ndarray, values: np.ndarray, total: int) -> None:
        self.calls = calls
        self.values = values
        self.of = of
        self._total = total

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, at: Any) -> Any:
        return self.values[at]

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False and dtype is not None and np.dtype(dtype) != self.values.dtype:
            raise ValueError(f"these are {self.values.dtype} numbers: another type needs a copy")
        return np.array(self.values, dtype) if copy else np.asarray(self.values, dtype)

    def __repr__(self) -> str:
        v = self.values
        return (
            f"gradients with respect to {self.of} after {len(self):,} of {self._total:,} calls: "
            f"{v.dtype}{list(v.shape)}, {v.nbytes:,} bytes"
        )


def gradients(
    tape: TapeRecord,
    field: Field,
    every: int | None,
    after: Iterable[int | RecordedCall] | None,
    out: np.ndarray | None,
) -> GradientTrajectory:
    """The gradients after every `every`-th call, or after those in `after`."""
    check_field(field)
    calls = Calls(tape)
    if after is None:
        chosen = _every(tape, len(calls), every)
        numbers, places = np.arange(*chosen.indices(len(calls))), calls.starts[1:][chosen]
    else:
        after = _after(tape, every, after)
        numbers, places = np.array(after), [calls.starts[n + 1] for n in after]
    _refuse_inactive(tape, calls, field, min(places))
    values = room(tape, field, len(places)) if out is None else _checked(field, len(places), out)
    fill(tape, AdjointRows(field, places, values), again=out is not None or keep(tape, values))
    return GradientTrajectory(field.quoted, numbers, values, len(calls))


def _every(tape: TapeRecord, calls: int, every: int | None) -> slice:
    if tape.gathers:
        message = f"the budget of this tape has made one call of several: `every=` would count {calls:,}"
        advice = "`tape.trajectory(x)` in the block counts each call; `after=` chooses some of `tape.calls`"
        raise GradientError(Diagnostic("argument", message, help=advice))
    step = 1 if every is None else _index(every)
    if not 1 <= step <= calls:
        message = f"`every` is a number of calls from 1 to {calls:,}, not {every!r}"
        raise GradientError(Diagnostic("argument", message, help="tape.gradients(x, every=2)"))
    return slice(step - 1, None, step)


def _index(every: Any) -> int:
    try:
        return operator.index(every)
    except TypeError:
        return 0


def _after(tape: TapeRecord, every: int | None, after: Any) -> Sequence[int]:
    if every is not None:
        message = "`every` and `after` both choose the calls"
        raise GradientError(Diagnostic("argument", message, help="pass one of them"))
    if not isinstance(after, Iterable):
        message = f"`after` is a sequence of calls, not {kind_of(after)}"
        advice = "`tape.gradient(x, after=3)` gives the gradient after one call"
        raise GradientError(Diagnostic("argument", message, help=advice))
    numbers = [number_of(tape, call) for call in after]
    if not numbers:
        raise GradientError(Diagnostic("argument", "`after` names no call", help="after=range(1, 100, 2)"))
    return numbers


def _refuse_inactive(tape: TapeRecord, calls: Calls, field: Field, place: int) -> None:
    first = first_active(tape, field)
    if place >= first:
        return
    message = f"{field.quoted} has no gradient after call {calls.holding(place - 1)}"
    if first > len(tape.entries):
        advice = "declare it with `needs_grad=True`: no call computes it from a field with a gradient"
    else:
        advice = (
            f"declare it with `needs_grad=True`, or ask from call {calls.holding(first - 1)} on, by `after=`"
        )
    raise GradientError(Diagnostic("missing-gradient", message, help=advice))


def _checked(field: Field, count: int, out: Any) -> np.ndarray:
    """`out`, if it can take `count` gradients."""
    shape, dtype = (count, *field.full_shape), np.dtype(field.dtype.numpy)
    if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
        found = type(out).__name__
    elif (out.shape, out.dtype) != (shape, dtype):
        found = f"{out.dtype}{list(out.shape)}"
    elif not out.flags.writeable:
        found = "an array that can only be read"
    elif not own_place_each(out):
        found = "an array whose elements share memory"
    elif holder(out) is not None:
        found = "the memory of a field"
    else:
        return out
    wanted = f"{dtype}{list(shape)}"
    message = f"`out` takes {count:,} gradients with respect to {field.quoted}: {wanted}, not {found}"
    raise GradientError(Diagnostic("argument", message, help=f"out=np.empty({shape}, np.{dtype})"))
