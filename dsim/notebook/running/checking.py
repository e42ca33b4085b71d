"""Compares the gradient of a run with differences of the loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dsim.backends.prints import silent
from dsim.diagnostics import Diagnostic
from dsim.runtime.checking.differences import GradientCheck
from dsim.runtime.fields.fields import Field
from dsim.runtime.kernels.kernel import Kernel
from dsim.runtime.state.interruption import heard, held
from dsim.runtime.tapes.gradient_check import check_grad


@dataclass(frozen=True)
class Compared:
    """The result of comparing a gradient with differences.

    Attributes
    ----------
    check : GradientCheck or None
        The comparison; None when there was nothing to compare.
    result, numbers : str
        The same in words and in numbers.
    found : list of Diagnostic
        Its diagnostics.
    """

    check: GradientCheck | None
    result: str
    numbers: str
    found: list[Diagnostic] = field(default_factory=list)


def compared(
    kernel: Kernel, args: Sequence[Any], loss: Field, name: str, wrt: Mapping[str, Field], plotted: str
) -> Compared:
    """Compares the gradient of the loss, which is called `name`, by the fields `wrt`.

    `plotted` is how the errors are drawn.
    """
    if not wrt:
        return Compared(None, "compares nothing", "no other field with a gradient is used")

    def run() -> None:
        heard()
        kernel(*args)

    with held(raises=True), silent():
        check = check_grad(run, list(wrt.values()), loss, modes=("reverse",))
    each = zip(wrt, check, strict=True)
    both = ", ".join(
        f"{of} {c.derivative:.6g} by the tape and {c.difference:.6g} by differences" for of, c in each
    )
    if check:
        result = f"agrees to {max(c.error for c in check):.1g}"
        return Compared(check, result, f"along one direction, {both}")
    message = f"the gradient of `{name}` is not what differences of its values give"
    advice = "look for a kink at the present values, for `stop_grad`, and for values that leave the kernel; "
    advice += f"{plotted} draws the errors"
    place = None if kernel.generic else kernel.primal.kernel.origin.span
    doubt = Diagnostic("wrong-derivative", message, place, both, help=advice)
    return Compared(check, "differs", both, [doubt])
