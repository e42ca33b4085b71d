"""The probes of lines in a report: heat, and values at the ends of lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dsim.backends.prints import silent
from dsim.ir.nodes import Block, Const, For
from dsim.ir.probe_buffer import AXES
from dsim.ir.show import ACCUMULATE_SIGNS
from dsim.notebook.report import figures
from dsim.notebook.report.locations import Json, Places
from dsim.notebook.running import state
from dsim.notebook.running.runs import touched
from dsim.runtime.fields.fields import Field
from dsim.runtime.kernels.kernel import Kernel
from dsim.runtime.kernels.watching import Watching, watch
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.probe_buffers import Born, Kinked, WatchedLine
from dsim.runtime.recording.forward_mode import ForwardMode
from dsim.runtime.state.interruption import heard
from dsim.runtime.tapes.tape import Tape

_DECADES = 6  # that the scale of heat spans at most
_LONGEST_NAME = 24  # characters of what a line assigns, at its end


@dataclass(frozen=True)
class Observation:
    """One observation of a kernel: what its lines assigned, the loops, and the iteration."""

    results: tuple[WatchedLine, ...]
    loops: tuple[tuple[str, int, int], ...]
    probe: tuple[int, ...] | None
    trip: int | None
    kinks: tuple[Kinked, ...] = ()

    @property
    def trips(self) -> int:
        """How often the line that ran most often ran in this iteration."""
        return max((w.hits for w in self.results), default=0)


class Watched:
    """A kernel with probes: of its lines, and where it is needed of each primitive."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    @cached_property
    def lines(self) -> Watching:
        """With probes of what lines assign."""
        return watch(self._kernel)

    @cached_property
    def primitives(self) -> Watching:
        """With probes of where numbers begin that are not finite, too."""
        return watch(self._kernel, births=True)


class Inspector:
    """Inspects iterations of a kernel, in the state of the fields at its creation.

    Parameters
    ----------
    form, kernel, args
        What is launched; `form` is `kernel` for these arguments.
    loss : Field or None
        Of the tape that it is launched under.
    params : sequence of Field
        Without a loss, what forward mode differentiates by; if nothing, there are no derivatives.
    watched : Watched, optional
        The kernel with probes, compiled for another inspector that is no longer used.

    Attributes
    ----------
    watched : Watched
        The same, for the next inspector.
    """

    def __init__(
        self,
        form: Form,
        kernel: Kernel,
        args: Sequence[Any],
        loss: Field | None,
        params: Sequence[Field],
        watched: Watched | None = None,
    ) -> None:
        self.watched = Watched(kernel) if watched is None else watched
        self._watching = self.watched.lines
        self._args, self._loss, self._params = args, loss, params
        self._what = touched(form, loss, kernel.taken_apart(tuple(args)))
        self._then = state.Snapshot(self._what)
        self._guess = _expected(form)

    def look(self, probe: tuple[int, ...] | None = None, trip: int | None = None) -> Observation:
        """The observations in an iteration; by default in one that reaches as many lines as possible."""
        if probe is None:
            return self._look_around(trip)
        self._run(probe, trip)
        seen = self._seen(probe, trip)
        if trip is not None and trip >= seen.trips:  # there are fewer of them in this iteration
            return self.look(probe)
        return seen

    def _look_around(self, trip: int | None) -> Observation:
        """Inspects the first iteration; if some lines run only in others, one of these."""
        self._run(self._guess, trip)
        results, loops = self._watching.results(), self._watching.loops
        if not loops:
            return self._seen(None, trip)
        first = _first(loops)
        if self._guess[: len(loops)] == first and all(w.hits for w in results if w.times):
            return self._seen(first, trip)
        every = math.prod(high - low for _, low, high in loops)
        if all(w.times % every == 0 and w.times for w in results if w.slot.axes == len(loops)):
            return self.look(first, trip)  # all go the same way
        self._run(None, trip)
        return self.look(self._watching.telling() or first, trip)

    def _run(self, probe: tuple[int, ...] | None, trip: int | None) -> None:
        self._watching.clear()
        self._watching.probe, self._watching.trip = probe, trip
        self._launch(self._watching)

    def born(self) -> list[Born]:
        """The primitives that make numbers which are not finite."""
        watching = self.watched.primitives
        watching.clear()
        self._launch(watching)
        return watching.born()

    def _launch(self, watching: Watching) -> None:
        with state.kept(self._what), state.gradients_kept(self._what), silent():
            self._then.put_back()
            heard()
            with self._context():
                watching(*self._args)
                heard()

    def _context(self) -> AbstractContextManager[Any]:
        if self._loss is not None:
            return Tape(self._loss)
        if not self._params:
            return nullcontext()
        seeds = [np.ones(f.full_shape) if f.full_shape else 1.0 for f in self._params]
        return ForwardMode(param=list(self._params), seed=seeds)

    def _seen(self, probe: tuple[int, ...] | None, trip: int | None) -> Observation:
        w = self._watching
        return Observation(tuple(w.results()), tuple(w.loops), probe, trip, tuple(w.kinked()))


def _first(loops: Sequence[tuple[str, int, int]]) -> tuple[int, ...]:
    """The first iteration that is off the diagonal: there i ≠ j."""
    (_, low, _), *others = loops
    return (low, *(min(low + 1, high - 1) for _, low, high in others))


def _expected(form: Form) -> tuple[int, ...]:
    """The first iteration off the diagonal as far as it is known before a run; more indices than loops."""
    loop = _loop(form.kernel.body)
    low, _ = (0, 0) if loop is None else _ends(loop)
    found = [low]
    while len(found) < AXES:
        loop = None if loop is None else _loop(loop.body)
        low, high = (0, 2) if loop is None else _ends(loop)
        found.append(min(low + 1, high - 1))
    return tuple(found)


def _loop(block: Block) -> For | None:
    return next((s for s in block.statements if isinstance(s, For)), None)


def _ends(s: For) -> tuple[int, int]:
    """Where a loop begins and ends; loops mostly begin at 0."""
    low = int(s.start.value) if isinstance(s.start, Const) else 0
    return low, int(s.stop.value) if isinstance(s.stop, Const) else low + 2


# ------------------------------------------------------------------ as JSON


def heat(seen: Observation, loss: str, places: Places) -> Json:
    """How strongly the loss depends on what each line computes, on a log scale."""
    squares: dict[int, list[float]] = {}
    for w in seen.results:
        if w.times and w.slot.type.is_float and places.inside(w.slot.span):
            squares.setdefault(w.slot.span.line, []).append(w.rms**2)
    adjoints = {line: math.sqrt(sum(found)) for line, found in sorted(squares.items())}
    adjoints = {line: figures.plain(a) for line, a in adjoints.items() if a != 0}
    finite = [a for a in adjoints.values() if isinstance(a, float)]
    high = max(finite, default=1.0)
    low = max(min(finite, default=1.0), high / 10**_DECADES)
    lines = [{"line": n, "adjoint": a, "level": _level(a, low, high)} for n, a in adjoints.items()]
    return {"loss": loss, "low": figures.plain(low), "high": high, "lines": lines}


def _level(adjoint: float | str, low: float, high: float) -> float:
    if isinstance(adjoint, str) or low == high:
        return 1.0
    level = (math.log(adjoint) - math.log(low)) / (math.log(high) - math.log(low))
    return round(min(max(level, 0.0), 1.0), 3)


def probe(seen: Observation, kernel: str, loss: str | None, places: Places) -> Json:
    """The values and gradients of what the lines assigned in one iteration."""
    indices = [
        {"name": name, "value": at, "low": low, "high": high}
        for (name, low, high), at in zip(seen.loops, seen.probe or (), strict=False)
    ]
    trips = seen.trips
    trip = None
    if trips > 1:
        trip = {"value": trips - 1 if seen.trip is None else seen.trip, "count": trips}
    values = [_value(w, loss) for w in seen.results if w.value is not None and places.inside(w.slot.span)]
    return {"kernel": kernel, "indices": indices, "trip": trip, "values": values}


def _value(w: WatchedLine, loss: str | None) -> Json:
    gradient = None if w.gradient is None else figures.plain(w.gradient)
    return {
        "line": w.slot.span.line,
        "name": w.slot.name,
        "value": figures.plain(w.value),
        "gradient": gradient,
        "brief": _told(w, loss, figures.brief, _LONGEST_NAME),
        "text": _told(w, loss, figures.short, None),
    }


def _told(w: WatchedLine, loss: str | None, written: Callable[[Any], str], longest: int | None) -> str:
    """What a line assigned and the gradient of that; a name longer than `longest` is not told twice."""
    name = w.slot.name if longest is None else figures.cut(w.slot.name, longest)
    text = f"{name} {ACCUMULATE_SIGNS[w.slot.op] if w.slot.op else '='} {written(w.value)}"
    if w.gradient is None:
        return text
    again = "…" if name != w.slot.name else name
    of = f"∂{loss}/∂{again}" if loss is not None else f"tangent of {again}"
    return f"{text}   {of} = {written(w.gradient)}"
