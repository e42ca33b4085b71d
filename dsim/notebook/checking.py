"""Compares a gradient with differences of the loss, along one direction in all fields together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dsim.diagnostics import Diagnostic
from dsim.notebook import runs, state
from dsim.runtime.fields import Field
from dsim.runtime.kernel import Kernel


def compared(
    kernel: Kernel,
    args: Sequence[Any],
    loss: Field,
    name: str,
    wrt: Mapping[str, Field],
    ran: runs.Ran,
    what: runs.Touched,
) -> tuple[tuple[str, str], list[Diagnostic]]:
    """What comes out, in words and in numbers, and what there is to say of it."""
    with state.gradients_kept():
        slope = runs.slope(kernel, args, loss, wrt, what)
    by_tape = slope.along(ran.gradients)
    error, size = abs(slope.value - by_tape), max(abs(slope.value), abs(by_tape))
    both = f"{by_tape:.6g} by the tape, {slope.value:.6g} by differences"
    if not error <= max(10 * slope.doubt, 30 * slope.epsilon ** (2 / 3) * max(size, 1.0)):
        message = f"the gradient of `{name}` is not what differences of its values give"
        advice = "look for a kink where it is taken, for random numbers, and for values that leave the kernel"
        place = kernel.primal.kernel.origin.span if not kernel.generic else None
        return ("differs", both), [Diagnostic("wrong-derivative", message, place, both, help=advice)]
    return (f"agrees to {error / size if size else error:.1g}", both), []
