"""`check_grad`: the derivatives of a program, in both modes, beside differences of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dsim.diagnostics import ArgumentError, Diagnostic
from dsim.diagnostics.frames import outermost
from dsim.runtime.checking.differences import Comparison, Differences, GradientCheck, differentiable, listed
from dsim.runtime.checking.replays import ReplayableRun, undone
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.loss import check as check_loss
from dsim.runtime.recording.forward_mode import ForwardMode
from dsim.runtime.tapes.tape import Tape

_MODES = ("reverse", "forward")
_SECOND = "forward over reverse"


@outermost
def check_grad(
    run: Callable[[], Any],
    wrt: Any,
    loss: Field,
    modes: Sequence[str] = _MODES,
    order: int = 1,
    tolerance: float | None = None,
) -> GradientCheck:
    """Compares the gradient of a program with differences of its values.

    Parameters
    ----------
    run : callable
        A kernel, or a function that launches kernels. It is called many times, from the same state.
    wrt : Field or sequence of Field
        What to differentiate by.
    loss : Field
        A single number, of whatever shape. It is set to 0 before each run.
    modes : sequence of {"reverse", "forward"}
        Which derivatives are compared.
    order : {1, 2}
        With 2, the second derivative along a direction is compared with differences of gradients, too.
    tolerance : float, optional
        The relative error up to which they agree. None means one that fits the fields' types: about 1e-6
        for f64, 3e-2 for f32.

    Returns
    -------
    GradientCheck
        True if all agree; print it, or `plot` it. All fields and gradients are as they were before.

    Raises
    ------
    GradientError
        When a gradient cannot be had.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f64, shape=3, needs_grad=True)
    >>> y = ti.field(ti.f64, shape=(), needs_grad=True)
    >>> @ti.kernel
    ... def cubes():
    ...     for i in x:
    ...         y[None] += x[i] ** 3
    >>> x.fill(2.0)
    >>> bool(ti.check_grad(cubes, wrt=x, loss=y, order=2))
    True
    """
    if order not in (1, 2):
        raise ArgumentError(Diagnostic("argument", f"`order` must be 1 or 2, not {order!r}", help="order=2"))
    for mode in modes:
        if mode not in _MODES:
            message, advice = (
                f'a mode is "reverse" or "forward", not {mode!r}',
                'modes=["reverse", "forward"]',
            )
            raise ArgumentError(Diagnostic("argument", message, help=advice))
    fields = listed(wrt, "wrt")
    program = ReplayableRun(run)
    check_loss(loss)
    with undone(program, all_derivatives=True):
        check = _Check(program, loss, tolerance)
        for f in (loss, *fields):
            program.keep(differentiable(f))
        check.value(loss, np.zeros(loss.full_shape))  # what cannot be run is said of the program itself
        return GradientCheck(c for f in fields for c in check.all(f, modes, order))


class _Check(Differences):
    """With derivatives in both modes, and second ones."""

    def all(self, field: Field, modes: Sequence[str], order: int) -> Iterator[Comparison]:
        """The comparisons for one field."""
        start = self.values(field)
        if "reverse" in modes:
            yield self.first(field, self._gradient(field, start), "reverse")
        if "forward" in modes:
            direction = self.direction(field, start)
            yield self.compared(
                field, "forward", self._tangent(field, start, direction), direction, self.value
            )
        if order == 2:
            direction = self.direction(field, start)

            def second(field: Field, values: np.ndarray) -> np.ndarray:
                return self._second(field, values, direction)

            derivative = second(field, start)
            yield self.compared(field, _SECOND, derivative, direction, self._gradient, again=second)

    def _gradient(self, field: Field, values: np.ndarray) -> np.ndarray:
        self.set(field, values)
        with Tape(self.loss):
            self.program.replay()
        return field.grad.require().astype(np.float64)

    def _tangent(self, field: Field, values: np.ndarray, direction: np.ndarray) -> np.ndarray:
        self.set(field, values)
        with ForwardMode(self.loss, field, seed=direction):
            self.program.replay()
        return self.loss.dual.require().astype(np.float64).reshape(())

    def _second(self, field: Field, values: np.ndarray, direction: np.ndarray) -> np.ndarray:
        self.set(field, values)
        with ForwardMode(None, field, seed=direction), Tape(self.loss):
            self.program.replay()
        found = field.grad.dual
        if not found.placed:  # the gradient does not vary
            return np.zeros(field.full_shape)
        return found.require().astype(np.float64)
