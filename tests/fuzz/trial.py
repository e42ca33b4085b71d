"""One program through dsim, compared with the oracle.

A wrong number is a `WrongNumberError`. A refusal is an honest outcome, and counted, when it is for one of the
reasons that the page on the promise lists, by an error that says what to do. Any other exception is let
through: it is a fault too.

With floats of 32 bits the oracle rounds as they do. It runs a few times more with roundings that are moved at
random: what that changes of a number, a number may be wrong by.
"""

from __future__ import annotations

import itertools
import linecache
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

import dsim as ds
from dsim.runtime.state import settings
from dsim.runtime.state.settings import LOOP_MEMORY
from tests.fuzz import second
from tests.fuzz.drawing.program import Program
from tests.fuzz.oracle import plain
from tests.fuzz.oracle.numbers import UNIT, Rounding

TIE, HUGE = 1e-7, 1e4
TOLERANCE = 1e-8
STEP = 1e-4  # of differences of gradients
SINGLE_TIE, SINGLE_TOLERANCE = 2e-4, 100 * UNIT  # with floats of 32 bits
NOISY = 3  # runs with moved roundings
SPREAD = 20.0  # times what these change may be wrong

_REFUSALS = (ds.AccessRuleError, ds.GradientError, ds.CompilationError, ds.LaunchError)
_CODES = {"overwritten", "not-differentiable", "missing-gradient", "limit", "memory"}
_OVERLAP = "overlap in memory, and one of them is written"
_numbers = itertools.count()

Values = dict[str, np.ndarray]


class WrongNumberError(AssertionError):
    """dsim's numbers are not those of the oracle, or not those that it gave before."""


@dataclass(frozen=True)
class Refusal:
    """What dsim would not do, and why."""

    step: str
    kind: str
    codes: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class Outcome:
    """How a program went.

    What was refused, what the oracle saw, whether there was nothing to compare, and how many numbers were
    compared that watched lines show.
    """

    refusals: tuple[Refusal, ...]
    oracle: plain.Result
    near: bool = False
    shown: int = 0


class Built:
    """A program, built in dsim.

    For ``"reference"``, ``"cpu"``, ``"exact"`` (the cpu without fast math), or ``"segments"`` (that, with
    loops that may save next to nothing at a time).
    """

    def __init__(self, program: Program, backend: str, text: str = "") -> None:
        self.program, self.backend = program, backend
        exact, segments = backend in ("exact", "segments"), backend == "segments"
        default = ds.f64 if program.default_bits == 64 else ds.f32
        ds.init(default_fp=default, fast_math=not exact, loop_memory=1 if segments else LOOP_MEMORY)
        settings.change(replace(settings.current(), backend="cpu" if exact else backend))
        name = f"<fuzz {next(_numbers)}>"
        text = text or program.text
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        self.space: dict = {"ti": ds, "np": np, "__name__": name}
        exec(compile(text, name, "exec"), self.space)

    def primal(self) -> Values:
        """The fields' values after a run."""
        self.begin()
        self.space["run"]()
        return self.values()

    def gradient(self, on_overwrite: str = "save") -> Values:
        """The gradient of the loss by the inputs' values before the run."""
        self.begin()
        with ds.ad.Tape(loss=self.space["loss"], on_overwrite=on_overwrite):
            self.space["run"]()
            inside = self.values()
        same("values after the tape", self.values(), inside)
        return {name: self.space[name].grad.to_numpy() for name in self.program.inputs}

    def tangents(self, direction: Values) -> Values:
        """The derivatives of all float fields' values after the run, along a direction of the inputs."""
        self.begin()
        inputs = [self.space[name] for name in direction]
        seeds = [*direction.values()]
        outputs = [self.space[name] for name in self.program.floats]
        with ds.ad.FwdMode(loss=outputs, param=inputs, seed=seeds):
            self.space["run"]()
        return {name: self.space[name].dual.to_numpy() for name in self.program.floats}

    def values(self) -> Values:
        """The fields' values now."""
        found = {f.name: self.space[f.name] for f in self.program.fields}
        return {n: np.array(f) if type(f) is np.ndarray else f.to_numpy() for n, f in found.items()}

    def begin(self) -> None:
        """Gives the fields what they hold before a run."""
        for name, values in self.program.start.items():
            if type(self.space[name]) is np.ndarray:
                self.space[name][...] = values
            else:
                self.space[name].from_numpy(values)


class Trial:
    """The checks of one program; `steps` may be taken in any order."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.oracle = self._run(program.start)
        noisy = range(NOISY if program.mixed and not self.near else 0)
        self.noisy = [self._run(program.start, np.random.default_rng(n)) for n in noisy]
        self.refusals: list[Refusal] = []
        self.shown = 0
        sizes = [program.start[name].size for name in program.inputs]
        self.places = dict(
            zip(program.inputs, np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1]), strict=True)
        )
        rng = np.random.default_rng(5)
        self.direction = {name: rng.uniform(-1, 1, program.start[name].shape) for name in program.inputs}

    @property
    def near(self) -> bool:
        """Whether rounding decides what the program does, or its numbers are too large to compare."""
        tie = SINGLE_TIE if self.program.mixed else TIE
        return self.oracle.watch.margin < tie or not self.oracle.watch.largest < HUGE

    def _run(self, start: Values, noise: np.random.Generator | None = None) -> plain.Result:
        """The program by the oracle."""
        rounding = Rounding(self.program.default_bits, noise)
        return plain.run(self.program.text, start, self.program.inputs, rounding=rounding)

    def outcome(self) -> Outcome:
        """What came of it."""
        return Outcome(tuple(self.refusals), self.oracle, self.near, self.shown)

    def expected_gradient(self, oracle: plain.Result | None = None) -> Values:
        """The gradient of the loss, by the oracle."""
        row = (oracle or self.oracle).tangents["loss"]
        return {
            name: row[places].reshape(self.program.start[name].shape) for name, places in self.places.items()
        }

    def expected_tangents(self, oracle: plain.Result, direction: Values | None = None) -> Values:
        """The derivatives along the direction, by the oracle."""
        direction = direction or self.direction
        flat = np.concatenate(
            [direction.get(n, np.zeros(self.program.start[n].shape)).ravel() for n in self.program.inputs]
        )
        return {name: oracle.tangents[name] @ flat for name in self.program.floats}

    def agrees(self, step: str, found: Values, expected: Callable[[plain.Result], Values]) -> None:
        """Raises when `found` is not what the oracle has, but for rounding."""
        right = expected(self.oracle)
        noisy = [expected(one) for one in self.noisy]
        moved = {
            name: SPREAD * np.max([np.abs(one[name] - values) for one in noisy], axis=0) if noisy else 0.0
            for name, values in right.items()
        }
        compare(step, found, right, SINGLE_TOLERANCE if noisy else TOLERANCE, moved)

    def expected_curvature(self) -> Values | None:
        """The derivative of the gradient along the direction, by differences; None near a kink."""
        if "ti.stop_grad" in self.program.text:
            return None  # differences go through it
        wide, narrow = self._bent(2 * STEP), self._bent(STEP)
        size = max(1.0, *(float(np.abs(v).max()) for v in narrow.values()))
        if any(np.abs(wide[name] - narrow[name]).max() > 1e-3 * size for name in narrow):
            return None
        return {name: (4 * narrow[name] - wide[name]) / 3 for name in narrow}

    def _bent(self, step: float) -> Values:
        ahead, behind = (self._gradient_at(h) for h in (step, -step))
        return {name: (ahead[name] - behind[name]) / (2 * step) for name in ahead}

    def _gradient_at(self, step: float) -> Values:
        begun = self.program.start
        start = begun | {name: begun[name] + step * v for name, v in self.direction.items()}
        return self.expected_gradient(self._run(start))

    def check(self, backend: str) -> None:
        """Values, gradient, tangents; the values after a tape; the gradient once more."""
        built = Built(self.program, backend)
        values = self.attempt(f"{backend}: values", built.primal)
        if values is None:
            return
        self.agrees(f"{backend}: values", values, lambda oracle: oracle.values)
        gradient = self.attempt(f"{backend}: gradient", built.gradient)
        if gradient is not None:
            self.agrees(f"{backend}: gradient", gradient, self.expected_gradient)
            if backend != "cpu":  # with fast math a part of a kernel may round in another way than the whole
                same(f"{backend}: values after the tape", built.values(), values)
            again = self.attempt(f"{backend}: gradient again", built.gradient)
            if backend != "cpu":
                same(f"{backend}: gradient again", again or {}, gradient)
            else:
                self.agrees(f"{backend}: gradient again", again or {}, self.expected_gradient)
        self.check_tangents(built)

    def check_second(self, backend: str) -> None:
        """Both modes, one inside the other, in all ways."""
        product = self.expected_curvature()
        if product is None:
            return
        built = Built(self.program, backend, second.text(self.program))
        ways = second.Second(self.program, built.space, built.begin, self.direction)
        along = {"loss": np.array(sum((product[name] * self.direction[name]).sum() for name in product))}
        for way in (ways.forward_over_reverse, ways.reverse_over_reverse, ways.reverse_over_forward):
            self._second(f"{backend}: {way.__name__}", way, product)
        self._second(f"{backend}: forward_over_forward", ways.forward_over_forward, along)

    def _second(self, step: str, way: Callable[[], Values], right: Values) -> None:
        found = self.attempt(step, way)
        if found is not None:
            compare(step, found, right, 1e-5)

    def check_strictly(self, backend: str) -> None:
        """The gradient where nothing may be overwritten that it needs: refused, or right."""
        built = Built(self.program, backend)
        before = len(self.refusals)
        gradient = self.attempt(f"{backend}: strictly", lambda: built.gradient("error"))
        del self.refusals[before:]
        if gradient is not None:
            self.agrees(f"{backend}: strictly", gradient, self.expected_gradient)

    def check_gradient(self, backend: str) -> None:
        """The gradient alone."""
        gradient = self.attempt(f"{backend}: gradient", Built(self.program, backend).gradient)
        if gradient is not None:
            self.agrees(f"{backend}: gradient", gradient, self.expected_gradient)

    def check_tangents(self, built: Built) -> None:
        """The tangents along a direction."""
        step = f"{built.backend}: tangents"
        tangents = self.attempt(step, lambda: built.tangents(self.direction))
        if tangents is not None:
            self.agrees(step, tangents, self.expected_tangents)

    def attempt(self, step: str, act: Callable[[], Values]) -> Values | None:
        """What `act` gives, or None when dsim refuses it."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ds.DsimWarning)
                return act()
        except _REFUSALS as error:
            codes = tuple(dict.fromkeys(d.code for d in error.diagnostics))
            known = set(codes) <= _CODES or all(_OVERLAP in d.message for d in error.diagnostics)
            if not known or "help:" not in str(error):
                raise
            self.refusals.append(Refusal(step, type(error).__name__, codes, str(error)))
            return None


def compare(
    step: str,
    found: Values,
    right: Values,
    tolerance: float = TOLERANCE,
    moved: Mapping[str, np.ndarray | float] = MappingProxyType({}),
) -> None:
    """Raises when numbers differ by more than rounding, and by more than `moved` says, number by number."""
    size = max([1.0, *(float(np.abs(v).max(initial=0.0)) for v in right.values())])
    for name, expected in right.items():
        wrong = np.abs(np.asarray(found[name], np.float64) - expected)
        if not np.all(wrong <= tolerance * size + moved.get(name, 0.0)):
            raise WrongNumberError(f"{step}: {name} is\n{found[name]}\nand should be\n{expected}")


def same(step: str, found: Values, right: Values) -> None:
    """Raises when anything differs at all."""
    for name, expected in right.items():
        if not np.array_equal(found[name], expected, equal_nan=True):
            raise WrongNumberError(f"{step}: {name} is\n{found[name]}\nand was\n{expected}")
