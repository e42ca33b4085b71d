"""A tape after its block: further backward passes, and gradients in the middle.

Another backward pass needs the values that fields held at the end of the block. The tape has the saved ones;
for the others, it is an error if anything wrote to them since.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError
from dsim.runtime.fields.fields import Field, kind_of
from dsim.runtime.fields.memory_places import like
from dsim.runtime.fields.whole_memory import copy, zero
from dsim.runtime.inspection.calls import Calls, RecordedCall
from dsim.runtime.inspection.profiling import Profiler
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.shadow_arrays import Mirror
from dsim.runtime.recording import write_history, zeros
from dsim.runtime.recording.claims import elsewhere, needed, refuse_needed
from dsim.runtime.recording.profile import Profile
from dsim.runtime.recording.record import TapeRecord
from dsim.runtime.saving.entries import Custom, Solved
from dsim.runtime.saving.steps import Steps
from dsim.runtime.state import turns
from dsim.runtime.state.interruption import undisturbed
from dsim.runtime.state.stack import opened
from dsim.runtime.state.write_clock import LastRun
from dsim.runtime.sweeping import private_gradients
from dsim.runtime.sweeping.adjoint_rows import AdjointRows
from dsim.runtime.sweeping.going_back import goes_back_again
from dsim.runtime.sweeping.sweep import Observer, TapeSweep
from dsim.runtime.sweeping.sweep_plan import SweepPlan


def backward(tape: TapeRecord, seed: float) -> None:
    """Runs the adjoints again, from `seed` as the loss's adjoint, and leaves the gradients.

    They replace the present ones, or with ``clear_gradients=False`` are added to them.
    """
    sweep = TapeSweep(tape, _number(seed))
    if tape.ended is not None and sweep.reaches and sweep.plan.label != "bar":
        message = "the kernels of this tape use gradients as values, so it can run backwards only once"
        advice = "run the block again"
        raise GradientError(Diagnostic("not-differentiable", message, help=advice))
    _check(tape, sweep)
    replaces = sweep.reaches and tape.clears
    if replaces:
        bars = [bar for bar in sweep.plan.bars.values() if bar.touched]
        refuse_needed(needed(bars), [bar.root for bar in bars])
    with goes_back_again(tape):
        if replaces:
            zeros.forget("bar")  # those of a sweep that is stopped have no reason but that
            undisturbed([partial(_zero, tape, sweep.plan)])
        sweep.run()
        if tape.clears:
            for bar, kept in tape.left:
                np.add(bar.require_memory(), kept.require_memory(), out=bar.require_memory())
                bar.touched = turns.current()
        for field, bar in sweep.plan.bars.items() if sweep.reaches else ():
            if isinstance(field.root, Mirror):  # it was released, and its companions are zero
                tape.set_all(bar, 0.0)


def _number(seed: Any) -> float:
    """The seed of a sweep, which is one real number."""
    if isinstance(seed, float | int | np.floating | np.integer):
        return float(seed)
    message = f"`seed` is the gradient of the loss itself, a number, not {kind_of(seed)}"
    raise GradientError(Diagnostic("argument", message, help="tape.backward(seed=2.0)"))


def profile(tape: TapeRecord) -> None:
    """Measures each call in the backward pass."""
    made = tape.profiled or Profile(Calls(tape).starts, [])
    with swept(tape, (Profiler(made, Calls(tape)),)) as plan:
        if plan is None:
            made.unreached()
    tape.profiled = made


def gradient(tape: TapeRecord, field: Field, after: int | RecordedCall | None) -> np.ndarray:
    """The gradient with respect to the values that `field` had after a call."""
    check_field(field)
    at = 0 if after is None else Calls(tape).starts[number_of(tape, after) + 1]
    with swept(tape, (), at) as plan:
        bar = None if plan is None else plan.bars.get(field)
        if at < first_active(tape, field):
            message = f"{field.quoted} has no gradient up to here"
            advice = "declare it with `needs_grad=True`, or pass `after=` a call that computes it"
            raise GradientError(Diagnostic("missing-gradient", message, help=advice))
        if bar is None:
            return np.zeros(field.full_shape, field.dtype.numpy)
        return bar.require_memory().astype(field.dtype.numpy)


def check_field(field: Field) -> None:
    """Refuses what has no gradient on any tape."""
    if not isinstance(field, Field):
        message = f"the gradient is taken with respect to a field, not to {kind_of(field)}"
        raise GradientError(Diagnostic("argument", message, help="tape.gradient(some_field, after=3)"))
    field.require()
    if not field.dtype.is_float:
        _ = field.grad  # says that integers have none


def number_of(tape: TapeRecord, after: int | RecordedCall) -> int:
    """The number of a call, which may be counted from the end."""
    try:
        number = after.index if isinstance(after, RecordedCall) else operator.index(after)
    except TypeError:
        message = f"`after` names calls by their numbers, not by {kind_of(after)}"
        raise GradientError(Diagnostic("argument", message, help="after=3, or after=tape.calls[3]")) from None
    calls = len(Calls(tape))
    if not -calls <= number < calls:
        message = f"there is no call {number}: the tape has {calls:,} calls, counted from 0"
        raise GradientError(Diagnostic("argument", message))
    return number % calls


def first_active(tape: TapeRecord, field: Field) -> int:
    """The number of entries after which `field` has a gradient; more than there are if it never has one.

    A field without a gradient of its own has one once an entry has written values to it that depend on a
    field with one. What a kernel wrote earlier counted as constant.
    """
    if field.needs_grad:
        return 0
    for number, entry in enumerate(tape.entries, 1):
        if isinstance(entry, Solved) and field in entry.differentiated:
            return number
        if any(field in adjoint.fields for adjoint in tape.adjoints(number - 1, number)):
            return number
    return len(tape.entries) + 1


@contextmanager
def swept(tape: TapeRecord, observers: Sequence[Observer] = (), to: int = 0) -> Iterator[SweepPlan | None]:
    """The adjoints when the sweep has reached call number `to`; None if all are zero.

    After the block everything is restored, gradients too.
    """
    sweep = TapeSweep(tape, 1.0, observers)
    _check(tape, sweep)
    if not sweep.reaches:
        yield None
        return
    with goes_back_again(tape), _put_aside(tape, sweep.plan, {}):
        sweep.down(to)
        yield sweep.plan


def fill(tape: TapeRecord, rows: AdjointRows, again: bool) -> None:
    """Fills `rows` by a sweep; no gradient changes.

    With `again`, the tape keeps the memory that gradients were in: new memory takes the time of several
    copies.
    """
    sweep = TapeSweep(tape, 1.0, (), rows)
    _check(tape, sweep)
    if not sweep.reaches:
        rows.clear()
        return
    spare = tape.spare if again else {}
    with goes_back_again(tape):
        known = sweep.known(rows.to)
        if known is not None and known.moving:
            seeds = [sweep.plan.bars[output] for output in tape.outputs]
            private_gradients.run(known, seeds, rows.address, spare)
            return
        with _put_aside(tape, sweep.plan, spare):
            sweep.down_by(known, rows.to)
            rows.take(sweep.plan)


@contextmanager
def _put_aside(tape: TapeRecord, plan: SweepPlan, spare: dict[Field, np.ndarray]) -> Iterator[None]:
    """Makes the gradients of a sweep 0, and afterwards what they were; `spare` gives and takes memory."""
    kept = [(f, _values(f, spare), turns.whose(f.touched)) for f in _gradients(plan)]
    put_back = [partial(_put_back, tape, *gradient) for gradient in kept]
    try:
        _zero(tape, plan)
        yield
    finally:
        undisturbed(put_back)
        spare.update((f, values) for f, values, _ in kept if values is not None)


def _put_back(tape: TapeRecord, gradient: Field, values: np.ndarray | None, touched: int) -> None:
    if elsewhere(tape, gradient):  # another thread has written to it meanwhile
        return
    if values is None:
        zero(gradient.require_memory())
    else:
        copy(gradient.require_memory(), values)
    gradient.touched = turns.again(touched)


def _gradients(plan: SweepPlan) -> Iterator[Field]:
    """All gradients, of every label, of the fields of a sweep."""
    for root in dict.fromkeys(f.root for f in plan.bars):
        for f in root.companions.values():
            if f.buffer is not None and f.derivative[-1].startswith("bar"):
                yield f


def _values(field: Field, spare: dict[Field, np.ndarray]) -> np.ndarray | None:
    if not field.touched:
        return None
    memory = field.require_memory()
    kept = spare.pop(field, None)  # not to be shared with a sweep of another thread
    if kept is None:
        kept = like(memory)
    copy(kept, memory)
    return kept


def _zero(tape: TapeRecord, plan: SweepPlan) -> None:
    for bar in plan.bars.values():
        if bar.touched and not elsewhere(tape, bar):
            zero(bar.require_memory())
            bar.touched = 0


# -- checks


def _check(tape: TapeRecord, sweep: TapeSweep) -> None:
    """Refuses a sweep that would compute another gradient than that of the block."""
    tape.loss.require()  # or it was dropped since
    problem = _problem(tape)
    if problem is not None:
        message, advice = problem
        raise GradientError(Diagnostic("not-differentiable", message, help=advice))
    assert tape.ended is not None
    lost = next((f for f in _needed(tape) if f in tape.lost), None)
    if lost is not None:
        message = f"{lost.quoted} was restored after the tape's block, and its values there are needed"
        raise GradientError(Diagnostic("overwritten", message, help="run the block again"))
    found = write_history.since(tape.ended, _needed(tape), _adjoints(tape, sweep.plan.label))
    if found is not None:
        raise GradientError(_changed(tape, *found))


def _problem(tape: TapeRecord) -> tuple[str, str] | None:
    if tape.ended is None:
        if tape.entries and not tape.is_open:
            return "the block of this tape ended with an error, so it has no gradient", "run the block again"
        return "the block of this tape has not ended", "leave the `with` block first"
    if tape.outer is not None and tape.outer.is_differentiated:
        advice = "compute the gradient again inside the outer block"
        return "a tape inside another `with` block runs backwards with that block", advice
    if any(context.differentiates for context in opened()):
        advice = "leave that block first, or record the calls in it"
        return "an open `with` block would not see what this tape does", advice
    with_arrays = (c for c in tape.functions if any(isinstance(f.root, Mirror) for f in c.fields()))
    call = next(with_arrays, None)
    if call is not None:
        solved = isinstance(call, Solved)
        where = f"the residual of `{call.name}`" if solved else "a function under `grad_replaced`"
        message = f"a tape with NumPy arrays in {where} can run backwards only once"
        return message, "pass an `ndarray`, or run the block again"
    return None


def _needed(tape: TapeRecord) -> Iterator[Field]:
    """The fields whose values the adjoints read."""
    for a in tape.distinct_adjoints():
        yield from a.reads.fields
    for entry in tape.entries if tape.functions or tape.loops else ():
        if isinstance(entry, Custom):
            yield from entry.needed()
        elif isinstance(entry, Steps):
            yield from entry.fields()


def _adjoints(tape: TapeRecord, label: str) -> frozenset[Form]:
    """The adjoints, which may write values again that the primal wrote, and take them back."""
    distinct = tape.distinct_adjoints()
    other = (a.primal.adjoint(a.active, label, a.entry) for a in distinct if a.label != label)
    return frozenset(a.form for a in (*distinct, *other))


def _changed(tape: TapeRecord, field: Any, run: LastRun | None) -> Diagnostic:
    by, span, advice = "from Python", None, "run the block again"
    if run is not None and run.kernel is not None:
        by, span = f"by `{run.kernel}`", run.span
    if isinstance(field.root, Mirror):
        message = "a NumPy array that this tape's kernels read may have changed since the block's end"
    elif span is None and field.derivative and _by_the_sweep(tape, field, run):
        message = f"the backward pass of this block changed {field.quoted}, which a tape inside it reads"
        advice = "use the gradients that it left in the fields, or run the block again"
    else:
        message = f"{field.quoted} was changed {by} after the tape's block, and its values there are needed"
    return Diagnostic("overwritten", message, span, "this one" if span else "", help=advice)


def _by_the_sweep(tape: TapeRecord, gradient: Any, run: LastRun | None) -> bool:
    """Whether the backward pass of the block has changed `gradient`, and nobody else since."""
    when = gradient.changed if run is None else run.moment
    return gradient.root is tape.loss.root or when < tape.swept
