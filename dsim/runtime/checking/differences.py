"""Gradients compared with differences of values: central ones, with steps from large to small.

Too large a step has a truncation error, too small a one a rounding error; a right gradient is reached in
between. What is compared is the derivative along a random direction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dsim.diagnostics import BoundsError, Diagnostic, GradientError, KernelAssertionError
from dsim.diagnostics.render import printable
from dsim.records import record
from dsim.runtime.checking.replays import Recorder, undone
from dsim.runtime.fields.components import Component
from dsim.runtime.fields.fields import Field, kind_of
from dsim.runtime.fields.struct_fields import StructField
from dsim.runtime.inspection import revisit
from dsim.runtime.recording.record import TapeRecord

_NO_LIST = (StructField, Component, np.ndarray, str)


@record(eq=False)
class Comparison:
    """One derivative beside differences.

    Attributes
    ----------
    field : str
        The field with respect to which the program was differentiated.
    mode : str
        ``reverse``, ``forward``, or ``forward over reverse`` for the second derivative.
    derivative, difference : float
        Along the direction, and of the best step; of a second derivative the norms.
    error : float
        Their relative difference, at the best step.
    steps, errors : ndarray
        The steps, and the relative error at each; infinite where the program could not be run.
    tolerance : float
        The error up to which they agree.
    """

    field: str
    mode: str
    derivative: float
    difference: float
    error: float
    steps: np.ndarray
    errors: np.ndarray
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether they agree."""
        return self.error <= self.tolerance


class GradientCheck(Sequence[Comparison]):
    """The result of a check; true if all derivatives agree with differences. ``print`` shows a table."""

    def __init__(self, comparisons: Iterable[Comparison]) -> None:
        self._all = tuple(comparisons)

    def __getitem__(self, at: Any) -> Any:
        return self._all[at]

    def __len__(self) -> int:
        return len(self._all)

    @property
    def passed(self) -> bool:
        """Whether all agree."""
        return all(c.passed for c in self._all)

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        rows = [("field", "mode", "derivative", "differences", "error", "")]
        rows += [
            (
                printable(c.field),
                c.mode,
                f"{c.derivative:.7g}",
                f"{c.difference:.7g}",
                f"{c.error:.1e}",
                "agrees" if c.passed else "DIFFERS",
            )
            for c in self._all
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(t.ljust(w) for t, w in zip(r, widths, strict=True)).rstrip() for r in rows)

    def plot(self, axes: Any = None) -> Any:
        """Draws the errors against the steps with matplotlib; gives the axes.

        A right derivative makes a V: falling with the square of the step, rising again where rounding takes
        over. A wrong one stays up.
        """
        import matplotlib.pyplot as plt  # noqa: PLC0415 (takes long)

        own = axes is None
        axes = plt.subplots(layout="constrained", facecolor="none")[1] if own else axes
        for c in self._all:
            good = np.isfinite(c.errors)
            label = f"{c.mode}: {printable(c.field)}".replace(
                "$", r"\$"
            )  # no formula, and not hidden by a "_"
            axes.loglog(c.steps[good], np.maximum(c.errors[good], 1e-18), "o-", ms=4, label=label)
        for tolerance in sorted({c.tolerance for c in self._all}):
            axes.axhline(tolerance, color="gray", linestyle="--", linewidth=1)
        axes.set(xlabel="step", ylabel="relative error", title="gradient against differences")
        legend = axes.legend(framealpha=0.0 if own else None)
        if own:
            _on_any_page(axes, legend)
        return axes


# As far from a white page as from a dark one. Jupyter puts a light sheet below transparent ones whose ticks
# are all dark, a dark one if they are all light: those of one axis count as light here, the others as dark.
_LIGHT, _DARK = "#808080", "#7f7f7f"


def _on_any_page(axes: Any, legend: Any) -> None:
    """Makes the background transparent, for light and dark pages."""
    axes.set_facecolor("none")
    for text in (axes.title, axes.xaxis.label, axes.yaxis.label, *legend.get_texts()):
        text.set_color(_DARK)
    axes.tick_params(axis="x", which="both", colors=_LIGHT)
    axes.tick_params(axis="y", which="both", colors=_DARK)
    axes.spines[:].set_color(_DARK)


def check_tape(record: TapeRecord, recorder: Recorder, fields: Sequence[Field]) -> GradientCheck:
    """Compares the gradients of a tape with differences; launches what it recorded again.

    Raises
    ------
    GradientError
        When one does not agree.
    """
    gradients = {f: revisit.gradient(record, differentiable(f), None) for f in fields if f is not record.loss}
    with undone(recorder, all_derivatives=True):
        for f in gradients:
            recorder.keep(f)
        check = Differences(recorder, record.loss, None)
        found = GradientCheck(check.first(f, g, "reverse") for f, g in gradients.items())
    if not found:
        wrong = ", ".join(f"`{c.field}`" for c in found if not c.passed)
        solver = _in_python(recorder)
        kept = "" if solver is None else f", for which `{solver}` keeps the unknowns that Python computed"
        message = f"the gradient by {wrong} does not agree with differences{kept}\n{found}"
        advice = "look for a kink, or a wrong custom derivative"
        if solver is not None:
            advice = f"use `ds.check_grad(run, wrt=…, loss=…)`, which calls `{solver}` again"
        raise GradientError(Diagnostic("wrong-derivative", message, help=advice))
    return found


def _in_python(recorder: Recorder) -> str | None:
    """The name of a function under `implicit` into whose unknowns Python writes numbers: no launch does."""
    without_line = (form for form, _ in recorder.launches if form.kernel.origin.span is None)
    written = {f for form in without_line for f in form.written}
    return next((s.name for _, s in recorder.systems if not written.isdisjoint(s.unknown)), None)


def listed(given: Any, name: str) -> tuple[Any, ...]:
    """What the argument `given`, called `name`, lists, for `differentiable`: one field, or several."""
    if isinstance(given, Field):
        return (given,)
    found = tuple(given) if isinstance(given, Iterable) and not isinstance(given, _NO_LIST) else ()
    if not found:
        what = "an empty one" if isinstance(given, list | tuple) else kind_of(given)
        message = f"`{name}=` takes a field, or a list of fields, not {what}"
        raise GradientError(
            Diagnostic("argument", message, help=f"pass fields with a gradient: `{name}=[x, y]`")
        )
    return found


def differentiable(field: Any) -> Field:
    """`field`, if it is one with a gradient."""
    if not isinstance(field, Field):
        message = f"gradients are checked with respect to fields, not to {kind_of(field)}"
        raise GradientError(Diagnostic("argument", message, help="check_grad(run, wrt=[x, y], loss=loss)"))
    field.require()
    field.grad.require()
    return field


class Differences:
    """Differences of what `program` computes for `loss`, beside its derivatives."""

    def __init__(self, program: Recorder, loss: Field, tolerance: float | None) -> None:
        self.program = program
        self.loss = loss
        self._tolerance = tolerance
        self._random = np.random.default_rng(0)

    def first(self, field: Field, gradient: np.ndarray, mode: str) -> Comparison:
        """The comparison of a gradient."""
        direction = self.direction(field, self.values(field))
        along = np.array(np.vdot(gradient.astype(np.float64), direction))
        usual = float(np.linalg.norm(gradient.astype(np.float64)) * np.linalg.norm(direction))
        usual /= math.sqrt(max(1, direction.size))
        return self.compared(field, mode, along, direction, self.value, usual)

    # -- running it

    def values(self, field: Field) -> np.ndarray:
        """The field's numbers at the beginning."""
        self.program.restore()
        return field.require_memory().copy()

    def set(self, field: Field, values: np.ndarray) -> None:
        """The state at the beginning, but with these numbers in `field`."""
        self.program.restore()
        self.loss.fill(0.0)
        field.from_numpy(values.astype(field.dtype.numpy))

    def value(self, field: Field, values: np.ndarray) -> np.ndarray:
        """The loss for these numbers in `field`."""
        self.set(field, values)
        self.program.replay()
        return self.loss.require_memory().astype(np.float64).reshape(())

    # -- comparing

    def direction(self, field: Field, values: np.ndarray) -> np.ndarray:
        """A direction scaled by the values: a step of 1 along it changes them by about their own size."""
        plain = values.astype(np.float64)
        size = math.sqrt(float(np.mean(plain**2))) if plain.size else 0.0
        signs = self._random.choice([-1.0, 1.0], plain.shape) * self._random.uniform(0.5, 1.0, plain.shape)
        made = (signs * (size if 0 < size < math.inf else 1.0)).astype(field.dtype.numpy)
        return np.asarray(made, np.float64)

    def compared(
        self,
        field: Field,
        mode: str,
        derivative: np.ndarray,
        direction: np.ndarray,
        evaluate: Evaluate,
        usual: float = 0.0,
        again: Evaluate | None = None,
    ) -> Comparison:
        """Differences of what `evaluate` gives, for all steps, beside `derivative`.

        An error is relative to the larger of the two, or to `usual` if that is larger. What is 0 but for
        rounding agrees. The rounding follows from the size of what is subtracted. Where that may be the sum
        of larger terms that cancel, as a gradient is, it is measured; `again` gives the derivative elsewhere.
        """
        start = self.values(field).astype(np.float64)
        precision = self._precision(field)
        steps = np.array([2.0**-k for k in range(3, int(-0.6 * math.log2(precision)) + 4, 2)])
        quotients = [self._quotient(field, evaluate, start, direction, step) for step in steps]
        tried = _Tried(field.name, mode, derivative, usual, steps, quotients, self._allowed(precision))
        roundings = [0.0 if q is None else precision * q.size for q in quotients]
        found = tried.judged(roundings)
        if found.passed or again is None or quotients[0] is None:
            return found
        near = start + steps[0] * direction
        apart = min(math.cbrt(precision), 2.0**-5) * direction
        of_values, of_derivative = (self._rounding(field, f, near, apart) for f in (evaluate, again))
        return tried.judged(
            [max(r, of_values + of_derivative * h) for r, h in zip(roundings, steps, strict=True)]
        )

    def _allowed(self, precision: float) -> float:
        return min(0.1, 100 * math.sqrt(precision)) if self._tolerance is None else self._tolerance

    def _rounding(self, field: Field, evaluate: Evaluate, start: np.ndarray, apart: np.ndarray) -> float:
        """By how much what `evaluate` gives departs from a straight line, at points so far from each other.

        Values at nearest neighbours are rounded alike. Over a short distance a derivative that is not 0
        changes them evenly: it is not taken for rounding.
        """
        try:
            values = np.array([evaluate(field, start + n * apart) for n in range(_NEIGHBOURS)])
        except (BoundsError, KernelAssertionError):
            return 0.0
        with np.errstate(all="ignore"):
            bends = [float(np.linalg.norm(bend)) / 2 for bend in np.diff(values, 2, axis=0)]
        return max(bends) if np.isfinite(bends).all() else 0.0

    def _quotient(
        self, field: Field, evaluate: Evaluate, start: np.ndarray, direction: np.ndarray, step: float
    ) -> _Quotient | None:
        """The central difference for one step; None where the program cannot be run there."""
        try:
            plus = evaluate(field, start + step * direction)
            minus = evaluate(field, start - step * direction)
        except (BoundsError, KernelAssertionError):
            return None
        with np.errstate(all="ignore"):
            size = float(np.linalg.norm(plus) + np.linalg.norm(minus))
            return _Quotient((plus - minus) / (2 * step), size)

    def _precision(self, field: Field) -> float:
        """The distance from 1 to the next number, of the coarsest type of the program's floats."""
        touched = {f for form, _ in self.program.launches for f in form.touching if f.dtype.is_float}
        return max(float(np.finfo(f.dtype.numpy).eps) for f in (*touched, field, self.loss))


Evaluate = Callable[[Field, np.ndarray], np.ndarray]
_SURE = 2  # steps large enough to distinguish a derivative of 0 from rounding
_NEIGHBOURS = 12  # at which rounding is measured


class _Quotient(NamedTuple):
    value: np.ndarray
    size: float  # of what was subtracted


class _Tried(NamedTuple):
    """A derivative, and the quotients of differences for all steps; None where there is none."""

    field: str
    mode: str
    derivative: np.ndarray
    usual: float
    steps: np.ndarray
    quotients: Sequence[_Quotient | None]
    tolerance: float

    def judged(self, rounding: Sequence[float]) -> Comparison:
        """The comparison at the best step, where what is subtracted is rounded by so much."""
        errors = np.array([self._error(n, size) for n, size in enumerate(rounding)])
        pairs = np.maximum(errors[:-1], errors[1:])  # one step alone may agree by chance
        best = int(np.argmin(pairs))
        quotient = self.quotients[best]
        difference = math.nan if quotient is None else _size(quotient.value)
        found = _size(self.derivative), difference, float(pairs[best])
        return Comparison(self.field, self.mode, *found, self.steps, errors, self.tolerance)

    def _error(self, n: int, rounding: float) -> float:
        quotient = self.quotients[n]
        if quotient is None:
            return math.inf
        apart = float(np.linalg.norm(quotient.value - self.derivative))
        largest = max(float(np.linalg.norm(v)) for v in (quotient.value, self.derivative))
        floor = 8 * rounding / self.steps[n] if n < _SURE else 0.0
        if largest <= floor:  # both are 0 but for rounding
            return 0.0
        return apart / max(largest, self.usual) if math.isfinite(apart) else math.inf


def _size(values: np.ndarray) -> float:
    return float(values) if values.shape == () else float(np.linalg.norm(values))
