"""Compares the gradient of a cell's run with differences of the loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dsim.diagnostics import Diagnostic
from dsim.notebook import state
from dsim.notebook.interrupts import heard, held
from dsim.runtime.fields import Field
from dsim.runtime.gradient_check import check_grad
from dsim.runtime.kernel import Kernel


def compared(
    kernel: Kernel, args: Sequence[Any], loss: Field, name: str, wrt: Mapping[str, Field]
) -> tuple[tuple[str, str], list[Diagnostic]]:
    """What comes out, in words and in numbers, and what there is to say of it."""
    if not wrt:
        return ("compares nothing", "no other field with a gradient takes part"), []

    def run() -> None:
        heard()
        kernel(*args)

    with held(), state.silent():
        found = check_grad(run, list(wrt.values()), loss, modes=("reverse",))
    each = zip(wrt, found, strict=True)
    both = ", ".join(
        f"{of} {c.derivative:.6g} by the tape and {c.difference:.6g} by differences" for of, c in each
    )
    if found:
        return (f"agrees to {max(c.error for c in found):.1g}", f"along one direction, {both}"), []
    message = f"the gradient of `{name}` is not what differences of its values give"
    advice = "look for a kink where it is taken, for `stop_grad`, and for values that leave the kernel"
    place = None if kernel.generic else kernel.primal.kernel.origin.span
    return ("differs", both), [Diagnostic("wrong-derivative", message, place, both, help=advice)]
