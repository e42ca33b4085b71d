"""Calls with rules: refuses what the rules miss, and screens the adjoints of calls that were not chosen.

Not its job: applying a rule, or its transpose (`backward_sweep.derivatives`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dsim.analysis.activity import Activity
from dsim.autodiff.names import zero
from dsim.diagnostics import Diagnostic, GradientError
from dsim.ir.build import Builder, const
from dsim.ir.nodes import Atom, Call, Const, KernelIR, Load
from dsim.ir.walk import statements


def has_rules(kernel: KernelIR) -> bool:
    """Whether `kernel` calls a func with rules."""
    return any(isinstance(s, Call) and s.rules for s in statements(kernel.body))


def rules_read(kernel: KernelIR) -> bool:
    """Whether an adjoint reads elements that `kernel` may not: those that rules of calls read."""
    rules = (r for s in statements(kernel.body) if isinstance(s, Call) for r in s.rules)
    return any(isinstance(s, Load) and not s.memory.private for r in rules for s in statements(r.body))


def refuse_lost(s: Call, activity: Activity) -> None:
    """Refuses a call whose value varies with more than its arguments, which its rules would ignore."""
    if activity.bypasses(s):
        read = (x for x in statements(s.body) if isinstance(x, Load) and activity.carries(x.memory))
        where = next(read, s).origin.span
        raise GradientError(
            Diagnostic(
                "not-differentiable",
                f"the derivative of `{s.name}` does not go through what it reads besides its arguments",
                where,
                "read here",
                help="pass the value as an argument, or cut it off: `ds.stop_grad(…)`",
            )
        )


def too_deep(s: Call) -> GradientError:
    """The error for a call of a func inside its own rules, at an order that has no rules left."""
    return GradientError(
        Diagnostic(
            "not-differentiable",
            f"the derivative of `{s.name}` calls `{s.name}` again, and has too few derivatives itself",
            s.origin.span,
            help=f"write it without `{s.name}`: a parameter `*, result` gets the value",
        )
    )


def screened(b: Builder, adjoint: Atom, seeds: Sequence[Atom]) -> Atom:
    """`adjoint`, but 0 where it is infinite or NaN while all `seeds` are 0: the call was not chosen.

    The 0 is a sum of strong products of the seeds, so that its own derivative is NaN where theirs is not 0.
    """
    if any(isinstance(s, Const) and s.value != 0 for s in seeds):
        return adjoint
    t = adjoint.type
    largest = const(float(np.finfo(t.numpy).max), t)
    unused = b.let("gt", b.let("abs", adjoint), largest)
    unused = b.let("bor", unused, b.let("ne", adjoint, adjoint))
    nothing: Atom = zero(t)
    for s in seeds:
        if not isinstance(s, Const):
            own = b.let("cast", s, type=t)
            unused = b.let("band", unused, b.let("eq", own, zero(t)))
            nothing = b.let("add", nothing, b.let("mul_strong", const(float("nan"), t), own))
    return b.let("select", unused, nothing, adjoint, hint="screened")
