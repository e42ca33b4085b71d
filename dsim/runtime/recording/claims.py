"""Which open tape or forward mode the derivatives of a field belong to.

The gradients of a tape lie in the fields' own ``.grad``. Two tapes that are open at once, in two threads or
tasks, and work with one field would write there at once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.places import caller
from dsim.runtime.fields.fields import Field, foreign
from dsim.runtime.launching import host_kernels
from dsim.runtime.launching.contexts import OPENED, Context
from dsim.runtime.state import turns
from dsim.runtime.state.evaluations import OPTIMIZER, evaluates
from dsim.runtime.state.stack import is_aside, working
from dsim.runtime.state.workers import work_on

_WORDS = {"bar": "gradient", "dot": "tangent"}


def claim(context: Context, roots: Sequence[Field], last: str) -> None:
    """Claims the gradients (``bar``) or tangents (``dot``) of fields, given by their roots, for a context.

    Raises
    ------
    GradientError
        When another thread or task has claimed one of them, or an optimisation works on it.
    """
    context.claims, context.claimed_in = last, threading.current_thread()
    context.claimed.update(roots)  # before it looks at the others, who do the same
    if not turns.several():
        return
    if not evaluates():  # else what works in another thread waits
        busy = next((r for r in roots if work_on(r)), None)
        if busy is not None:
            raise _worked_on(busy)
    for other in tuple(OPENED):
        if other.claims != last or other.related(context) or is_aside(other):
            continue
        shared = next((r for r in roots if r in other.claimed), None)
        if shared is not None and not other.claimed_in.is_alive():
            other.over()  # its thread ended inside its block: nobody can leave it any more
            other.closed()
        elif shared is not None:
            raise _taken(shared, _WORDS[last], other.claimed_in)


def clear_foreign(context: Context, roots: Sequence[Field], last: str) -> None:
    """Sets to 0 what other threads or tasks have left in the gradients or tangents of these fields."""
    if not turns.several():
        return
    for f in [f for root in roots for f in list(root.companions.values())]:
        if f.derivative[-1] == last and foreign(f):
            context.pass_on(host_kernels.form(host_kernels.Fill, f), (0.0,) * f.numbers)
            f.touched, f.cleared = 0, turns.current()


def elsewhere(context: Context, bar: Field) -> bool:
    """Whether a gradient is another thread's or task's: written there last, and claimed by no call here."""
    return foreign(bar) and bar.root not in context.claimed


def needed(bars: Iterable[Field]) -> set[Field]:
    """The gradients among these that belong to an enclosing tape's backward pass."""
    at_work = working()
    return {f for f in bars for context in at_work if f.root in context.claimed} if at_work else set()


def refuse_needed(bars: Iterable[Field], roots: Sequence[Field]) -> None:
    """Refuses fields whose gradients would have to be cleared, but belong to a backward pass.

    Raises
    ------
    GradientError
        When one of `roots` is such a field.
    """
    shared = next((f.root for f in bars if f.root in roots), None)
    if shared is not None:
        message = f"the tape that is going backwards needs the gradient of {shared.quoted}"
        advice = "use separate fields in the inner tape, or `clear_gradients=False` to add to that gradient"
        raise GradientError(Diagnostic("not-differentiable", message, caller(), help=advice))


def _taken(root: Field, what: str, thread: threading.Thread) -> GradientError:
    if thread.name == OPTIMIZER:
        return _worked_on(root)
    message = f"{root.quoted} has a {what} in a block that is open in another thread or task"
    advice = "use separate fields (without needs_grad if only read), or let one block end first"
    return GradientError(Diagnostic("not-differentiable", message, caller(), help=advice))


def _worked_on(root: Field) -> GradientError:
    message = f"an optimisation that is still running in another thread uses {root.quoted}"
    advice = "stop it, by its Stop button or its `stop()`; another `ds.optimize` of these fields does, too"
    return GradientError(Diagnostic("not-differentiable", message, caller(), help=advice))


def refused_in_forward_mode(what: str, advice: str) -> GradientError:
    """The error of what a user's function does inside a forward mode inside a tape."""
    message = f"{what}, under `grad_replaced`, inside a forward mode inside a tape"
    return GradientError(Diagnostic("not-differentiable", message, caller(), help=f"{advice} outside of it"))
