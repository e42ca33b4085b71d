"""The values shown by probes, compared with the assignments of the plain interpreter."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from random import Random

import numpy as np

from dsim.runtime.kernels.watching import Watching, watch
from dsim.runtime.launching.probe_buffers import WatchedLine
from tests.fuzz.drawing.program import Program
from tests.fuzz.oracle.assigned import Assigned, assigned, places
from tests.fuzz.trial import TOLERANCE, Built, Trial, Values, WrongNumberError, compare

LOOKS = 3  # at iterations that are drawn

Lines = dict[tuple[str, tuple[int, int]], list[Assigned]]


@dataclass(frozen=True)
class Look:
    """What is looked at: an iteration, or the last one, and a trip, or the last one."""

    probe: tuple[int, ...] | None = None
    trip: int | None = None


class Shown:
    """The watched kernels of a program on a backend, and what they should show.

    `program` is that of `trial`, or the same with other names.
    """

    def __init__(self, trial: Trial, program: Program, backend: str, record: list[Assigned]) -> None:
        self.trial, self.record = trial, record
        self.places = dict(zip(places(program.text), places(trial.program.text), strict=True))
        self.lines: Lines = defaultdict(list)
        for one in record:
            self.lines[one.kernel, one.place].append(one)
        self.built = Built(program, backend)
        self.watching: dict[str, Watching] = {}
        for k in trial.program.kernels:
            self.watching[k.name] = self.built.space[k.name] = watch(self.built.space[k.name])
        self.numbers = 0
        flat = [trial.direction[name].ravel() for name in trial.program.inputs]
        self.direction = np.concatenate([*flat, np.zeros(0)])

    def looks(self) -> list[Look]:
        """The last iteration of all, and some that are drawn."""
        random, looks = Random(len(self.trial.program.text)), [Look()]
        for one in random.choices(self.record, k=LOOKS if self.record else 0):
            alike = sum(o.at == one.at for o in self.lines[one.kernel, one.place])
            looks.append(Look(one.at or None, random.choice([None, random.randrange(alike)])))
        return looks

    def backwards(self, look: Look) -> Values:
        """What is shown in a tape."""
        self.begin(look)
        gradient = self.built.gradient()
        self.check(look, {id(one): one.adjoints for one in self.record})
        return gradient

    def forwards(self, look: Look) -> Values:
        """What is shown in forward mode."""
        self.begin(look)
        tangents = self.built.tangents(self.trial.direction)
        along = {
            id(one): None if one.tangents is None else one.tangents @ self.direction for one in self.record
        }
        self.check(look, along)
        return tangents

    def begin(self, look: Look) -> None:
        """Asks all kernels."""
        for watching in self.watching.values():
            watching.clear()
            watching.probe, watching.trip = look.probe, look.trip

    def check(self, look: Look, derivatives: dict[int, np.ndarray | None]) -> None:
        """All that all kernels show; each line shows something."""
        sizes = [np.abs(d).max(initial=0.0) for d in derivatives.values() if d is not None]
        self.size = max([1.0, *sizes, *(float(np.abs(one.values).max()) for one in self.record)])
        for name, watching in self.watching.items():
            told = set()
            for w in watching.results():
                place = self.places[w.slot.span.line, w.slot.span.column]
                told.add(place)
                self.line(f"{look}, {name}", w, look, self.lines.get((name, place), []), derivatives)
            for kernel, place in self.lines:
                if kernel == name and place not in told:
                    raise WrongNumberError(f"{look}: {name} shows nothing at {place}")

    def line(self, step: str, w: WatchedLine, look: Look, all: list[Assigned], derivatives) -> None:
        """What one line shows."""
        step = f"{self.built.backend}: shown, {step}, line {w.slot.span.line}, {w.slot.name}"
        self.same(f"{step}: times", w.times, len(all))
        if not all:
            return
        there = seen(all, look.probe)
        if look.probe is not None or not there[0].at:
            self.same(f"{step}: hits", w.hits, len(there))
        found = [derivatives[id(one)] for one in all]
        squares = sum(float(d @ d) for d in found if d is not None)
        self.near(f"{step}: root mean square", w.rms, np.sqrt(squares / len(all)))
        if not there:
            self.same(f"{step}: value", w.value, None)
            return
        one = there[-1 if look.trip is None else min(look.trip, len(there) - 1)]
        self.same(f"{step}: where", w.where, one.at)
        self.near(f"{step}: value", w.value, one.values)
        derivative = derivatives[id(one)]
        if w.gradient is not None or derivative is not None:
            self.near(f"{step}: derivative", 0.0 if w.gradient is None else w.gradient, derivative)

    def same(self, step: str, found, right) -> None:
        """Raises when these differ at all."""
        self.numbers += 1
        if found != right:
            raise WrongNumberError(f"{step} is {found} and should be {right}")

    def near(self, step: str, found, right) -> None:
        """Raises when numbers differ by more than rounding."""
        self.numbers += np.size(right)
        if found is None or not np.allclose(np.ravel(found), right, rtol=0, atol=TOLERANCE * self.size):
            raise WrongNumberError(f"{step} is\n{found}\nand should be\n{right}")


def seen(all: list[Assigned], probe: tuple[int, ...] | None) -> list[Assigned]:
    """The times that count: in the iteration that is asked for, in the deepest loop."""
    if probe is not None:
        all = [one for one in all if one.at == probe[: len(one.at)]]
    deepest = max((len(one.at) for one in all), default=0)
    return [one for one in all if len(one.at) == deepest]


def check_shown(trial: Trial, program: Program, backend: str) -> None:
    """Looks at the lines of `program`, that of `trial` or the same with other names, in both modes."""
    record = assigned(trial.program)
    if record is None:
        return
    shown = Shown(trial, program, backend, record)
    for look in shown.looks():
        gradient = trial.attempt(f"{backend}: gradient, watched", lambda look=look: shown.backwards(look))
        if gradient is None:
            break
        compare(f"{backend}: gradient, watched", gradient, trial.expected_gradient())
    *_, look = shown.looks()
    trial.attempt(f"{backend}: tangents, watched", lambda: shown.forwards(look))
    trial.shown += shown.numbers
