"""One program through dsim, compared with the oracle.

A wrong number is a `WrongNumberError`. A refusal, by an error that says why, is an honest outcome, and
counted. Any other exception is let through: it is a fault too.
"""

from __future__ import annotations

import itertools
import linecache
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import dsim as ds
from dsim.runtime import settings
from dsim.runtime.settings import LOOP_MEMORY
from tests.fuzz import plain, second
from tests.fuzz.program import Program

TIE, HUGE = 1e-7, 1e4
TOLERANCE = 1e-8
STEP = 1e-4  # of differences of gradients

_REFUSALS = (ds.AccessRuleError, ds.GradientError, ds.CompilationError)
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

    For ``"reference"``, ``"cpu"``, ``"exact"`` (the cpu without fast math), or ``"strips"`` (that, with loops
    that may save next to nothing at a time).
    """

    def __init__(self, program: Program, backend: str, text: str = "") -> None:
        self.program, self.backend = program, backend
        exact, strips = backend in ("exact", "strips"), backend == "strips"
        ds.init(default_fp=ds.f64, fast_math=not exact, loop_memory=1 if strips else LOOP_MEMORY)
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
        inputs = [self.space[name] for name in self.program.inputs]
        seeds = [direction[name] for name in self.program.inputs]
        outputs = [self.space[name] for name in self.program.floats]
        with ds.ad.FwdMode(loss=outputs, param=inputs, seed=seeds):
            self.space["run"]()
        return {name: self.space[name].dual.to_numpy() for name in self.program.floats}

    def values(self) -> Values:
        """The fields' values now."""
        return {f.name: self.space[f.name].to_numpy() for f in self.program.fields}

    def begin(self) -> None:
        """Gives the fields what they hold before a run."""
        for name, values in self.program.start.items():
            self.space[name].from_numpy(values)


class Trial:
    """The checks of one program; `steps` may be taken in any order."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.oracle = plain.run(program.text, program.start, program.inputs)
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
        return self.oracle.watch.margin < TIE or not self.oracle.watch.largest < HUGE

    def outcome(self) -> Outcome:
        """What came of it."""
        return Outcome(tuple(self.refusals), self.oracle, self.near, self.shown)

    def expected_gradient(self, oracle: plain.Result | None = None) -> Values:
        """The gradient of the loss, by the oracle."""
        row = (oracle or self.oracle).tangents["loss"]
        return {
            name: row[places].reshape(self.program.start[name].shape) for name, places in self.places.items()
        }

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
        return self.expected_gradient(plain.run(self.program.text, start, self.program.inputs))

    def check(self, backend: str) -> None:
        """Values, gradient, tangents; the values after a tape; the gradient once more."""
        built = Built(self.program, backend)
        values = self.attempt(f"{backend}: values", built.primal)
        if values is None:
            return
        compare(f"{backend}: values", values, self.oracle.values)
        gradient = self.attempt(f"{backend}: gradient", built.gradient)
        if gradient is not None:
            compare(f"{backend}: gradient", gradient, self.expected_gradient())
            if backend != "cpu":  # with fast math a part of a kernel may round in another way than the whole
                same(f"{backend}: values after the tape", built.values(), values)
            again = self.attempt(f"{backend}: gradient again", built.gradient)
            (compare if backend == "cpu" else same)(f"{backend}: gradient again", again or {}, gradient)
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
            compare(f"{backend}: strictly", gradient, self.expected_gradient())

    def check_gradient(self, backend: str) -> None:
        """The gradient alone."""
        gradient = self.attempt(f"{backend}: gradient", Built(self.program, backend).gradient)
        if gradient is not None:
            compare(f"{backend}: gradient", gradient, self.expected_gradient())

    def check_tangents(self, built: Built) -> None:
        """The tangents along a direction."""
        step = f"{built.backend}: tangents"
        tangents = self.attempt(step, lambda: built.tangents(self.direction))
        if tangents is not None:
            flat = np.concatenate([self.direction[name].ravel() for name in self.program.inputs])
            compare(step, tangents, {name: rows @ flat for name, rows in self.oracle.tangents.items()})

    def attempt(self, step: str, act: Callable[[], Values]) -> Values | None:
        """What `act` gives, or None when dsim refuses it."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ds.DsimWarning)
                return act()
        except _REFUSALS as error:
            codes = tuple(dict.fromkeys(d.code for d in error.diagnostics))
            self.refusals.append(Refusal(step, type(error).__name__, codes, str(error)))
            return None


def compare(step: str, found: Values, right: Values, tolerance: float = TOLERANCE) -> None:
    """Raises when numbers differ by more than rounding."""
    size = max([1.0, *(float(np.abs(v).max(initial=0.0)) for v in right.values())])
    for name, expected in right.items():
        if not np.allclose(found[name], expected, rtol=0, atol=tolerance * size):
            raise WrongNumberError(f"{step}: {name} is\n{found[name]}\nand should be\n{expected}")


def same(step: str, found: Values, right: Values) -> None:
    """Raises when anything differs at all."""
    for name, expected in right.items():
        if not np.array_equal(found[name], expected, equal_nan=True):
            raise WrongNumberError(f"{step}: {name} is\n{found[name]}\nand was\n{expected}")
