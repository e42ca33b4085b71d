"""The objective as methods see it: evaluations that can be stopped, and that refuse what is not finite."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from scipy.optimize import Bounds

from dsim.diagnostics import Diagnostic, GradientError, NonFiniteError
from dsim.diagnostics.spans import Span
from dsim.live import followers
from dsim.optimization.control import RunControl
from dsim.optimization.points import Iterate
from dsim.optimization.refusal import wrong
from dsim.runtime.state.evaluations import EVALUATING
from dsim.runtime.state.notices import overheard, warn
from dsim.runtime.transforms.objective import Objective
from dsim.runtime.transforms.selection import named

T = TypeVar("T")


class GuardedObjective:
    """A `Problem` for methods.

    Parameters
    ----------
    objective : Objective
        What is minimised.
    control : RunControl
        By which it is paused and stopped.
    tolerance : float or None
        When a method has converged.

    Attributes
    ----------
    step : int
        The number of the step that is being made, for messages.
    place : Span or None
        The person's line that began the work, for messages.
    heard : dict of str to Diagnostic or None
        The warnings of evaluations; None to let them go where warnings go.
    accept, paused, running : callable
        What is told of a step that ends, and of pauses.
    """

    def __init__(self, objective: Objective, control: RunControl, tolerance: float | None) -> None:
        self.objective, self.tolerance = objective, tolerance
        self.bounds: Bounds | None = objective.bounds
        self._control = control
        self.step = 0
        self.place: Span | None = None
        self.heard: dict[str, Diagnostic] | None = None
        self._used: list[int] | None = None  # which parameters the first evaluation used
        self.accept: Callable[[Iterate], None] = lambda _: None
        self.paused: Callable[[], None] = lambda: None
        self.running: Callable[[], None] = lambda: None

    def evaluate(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss and its gradient.

        Raises
        ------
        NonFiniteError
            When one of them is not finite.
        GradientError
            When the run does not write the loss, or no longer uses the parameters.
        """
        loss, gradient = self._evaluated(lambda: self.objective(x))
        self._refuse_others()
        if not np.isfinite(loss):
            raise self._not_finite(f"the loss is {loss}")
        if not np.isfinite(gradient).all():
            count = int((~np.isfinite(gradient)).sum())
            raise self._not_finite(f"{count:,} of {gradient.size:,} numbers of the gradient are not finite")
        return loss, gradient

    def hessp(self, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The product of the Hessian with a vector."""
        product = self._evaluated(lambda: self.objective.hessp(x, p))
        if not np.isfinite(product).all():
            raise self._not_finite("a product with the Hessian is not finite")
        return product

    def put(self, x: np.ndarray) -> None:
        """Writes the numbers to the fields, and tells those who follow them."""
        with EVALUATING:
            self.objective.put(x)
        followers.tell()

    def tell(self, warning: Diagnostic) -> None:
        """Says a warning where those of evaluations go."""
        if self.heard is None:
            warn([warning])
        else:
            self.heard[str((warning.message, warning.span))] = warning

    def _evaluated(self, evaluate: Callable[[], T]) -> T:
        self._control.hold(self.paused, self.running)
        with self._control.evaluating():
            if self.heard is None:
                return evaluate()
            with overheard() as found:
                try:
                    return evaluate()
                finally:
                    for d in found:
                        self.tell(d)

    def _refuse_others(self) -> None:
        """Refuses a run that works on other fields than the loss and the parameters.

        A kernel of a notebook takes those that its names stand for: a cell that is executed again makes new
        ones.
        """
        objective = self.objective
        used = [n for n in range(len(objective.wrt.leaves)) if n not in objective.unused]
        first = self._used = used if self._used is None else self._used
        anew = "a cell that made fields of these names again? then call `ds.optimize` again"
        if not objective.writes:
            longer = " any longer" if self.step else ""
            advice = anew if self.step else "name in `loss=` what it computes"
            message = f"the run does not write {objective.out}{longer}"
            raise GradientError(Diagnostic("argument", message, self.place, help=advice))
        if first and not used:
            message = f"the run does not use {objective.wrt} any longer"
            raise GradientError(Diagnostic("argument", message, self.place, help=anew))
        for n in set(first).difference(used):
            message = f"the run does not use {named(objective.wrt.leaves[n])} any longer: its gradient is 0"
            self.tell(Diagnostic("cut", message, self.place, help=anew))

    def _not_finite(self, what: str) -> NonFiniteError:
        where = "at the start" if self.step == 0 else f"in step {self.step:,}"
        advice = "a smaller `rate=`, `bounds=`, or `ds.Tape(loss, find_nan=True)` around the run"
        if self.step == 0:
            advice = "`ds.Tape(loss, find_nan=True)` around the run says where it comes from"
        return NonFiniteError(Diagnostic("not-finite", f"{what} {where}", self.place, help=advice))


def refuse_outside(objective: Objective) -> None:
    """Refuses bounds that hold no number, and present values outside them.

    Raises
    ------
    GradientError
        When there are such.
    """
    x, bounds = objective.x0, objective.bounds
    if not x.size:
        raise wrong("`free=` leaves no number to optimise", "let some be True")
    if not np.isfinite(x).all():
        raise wrong("some of `wrt=` is not finite at the start", "set finite values first")
    if bounds is None:
        return
    low, high = np.asarray(bounds.lb), np.asarray(bounds.ub)
    outside = (x < low) | (x > high)
    if outside.any():
        n = int(np.flatnonzero(outside)[0])
        message = f"`wrt=` begins outside its bounds: {x[n]:g} is not in [{low[n]:g}, {high[n]:g}]"
        raise wrong(message, "set the fields to values within the bounds first")
