"""The public tape: a `with` block that computes the gradient of a loss, and queries after the block.

`launch_recorder.py` records, `sweep.py` runs the backward sweep.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

import numpy as np

from dsim.diagnostics import ArgumentError, Diagnostic, GradientError, left
from dsim.diagnostics.frames import outermost, trimmed
from dsim.runtime.checking.differences import GradientCheck, check_tape, listed
from dsim.runtime.checking.replays import Recorder
from dsim.runtime.fields.fields import Field, begin_turn
from dsim.runtime.fields.loss import check as check_loss
from dsim.runtime.inspection import revisit, tape_summary, trajectories
from dsim.runtime.inspection.calls import Calls, RecordedCall
from dsim.runtime.inspection.finite import Finder, FirstNonFinite
from dsim.runtime.inspection.profiling import CallTimer, Profiler
from dsim.runtime.inspection.trajectories import GradientTrajectory
from dsim.runtime.recording import leftover, write_history, zeros
from dsim.runtime.recording.claims import needed
from dsim.runtime.recording.profile import Profile
from dsim.runtime.saving import overwrite_messages
from dsim.runtime.saving.snapshots import Report
from dsim.runtime.state.interruption import undisturbed
from dsim.runtime.state.stack import opened
from dsim.runtime.state.write_clock import CLOCK
from dsim.runtime.sweeping.sweep import Observer, TapeSweep
from dsim.runtime.tapes.ahead import AheadRecorder
from dsim.runtime.tapes.loops import bytes_of


class Tape(AheadRecorder):
    """Records launches, and at its end computes the gradient of `loss` into the fields' `.grad`.

    Parameters
    ----------
    loss : Field
        A single number, of shape ``()`` or ``(1,)``, with ``needs_grad=True``. It is set to 0 on entry.
    clear_gradients : bool, default True
        Whether all gradients are set to 0 on entry; otherwise the tape's result is added to them.
    validation : bool, default False
        Taichi's name for ``on_overwrite="error"``.
    grad_check : sequence of Field, optional
        Fields for which the gradient is compared with finite differences, at the end. The launches of the
        block are repeated many times; then all fields are restored.
    on_overwrite : {"save", "error"}
        The treatment of overwrites of values that the backward pass needs. With ``"save"``, the
        default, the value is saved and restored when the backward pass needs it: a program may change its
        state in place. With ``"error"`` the overwriting call raises `AccessRuleError` instead of
        running, and nothing is ever saved.
    find_nan : bool, default False
        Whether to check for NaN and infinities after every call, in both directions: the first one raises
        `NonFiniteError`, which names the call, the element and the lines. Calls take a few times as long.
    budget : int or str, optional
        The limit on saved overwritten values, in bytes or as ``"200MB"``; None for no limit. When a part of
        it is spent, the tape keeps states in the rest, and runs calls again.
    profile : bool, default False
        Whether to measure the time of every call and the norm of its gradient; see `profile`.

    Attributes
    ----------
    saved_bytes : int
        The size of the saved overwritten values, in bytes.
    saved : Report
        What was saved, by which line, for which reader; print it.
    calls : sequence of RecordedCall
        What was recorded; ``print(tape)`` shows it as a table, with repeats folded.
    check : GradientCheck or None
        What `grad_check` has found.

    Raises
    ------
    GradientError
        When `loss` is no single number with a gradient; inside the block, when the budget does not hold one
        state of what is overwritten.
    GradientError
        At the end, when a gradient of `grad_check` does not agree with differences.
    AccessRuleError
        Inside the block, with ``on_overwrite="error"``, or where a value cannot be saved.

    Notes
    -----
    ``x.grad`` is the gradient with respect to the values of `x` when the tape was entered. After an
    exception in the block there is no backward pass: gradients stay as they were cleared on entry.
    A tape inside a tape, or inside a forward mode, is differentiated like everything else; the outer
    tape's result then takes the place of the inner one's. After the backward pass every field but the
    gradients holds what it held at the end of the block.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f32, shape=(), needs_grad=True)
    >>> y = ti.field(ti.f32, shape=(), needs_grad=True)
    >>> @ti.kernel
    ... def square():
    ...     y[None] = x[None] ** 2
    >>> x[None] = 3.0
    >>> with ti.ad.Tape(y):
    ...     square()
    >>> x.grad[None]
    6.0
    """

    _for_people = frozenset(
        [
            *("backward", "calls", "check", "gradient", "gradients", "loss"),
            *("not_finite", "profile", "saved", "saved_bytes", "step", "steps", "trajectory"),
        ]
    )

    _timer: CallTimer | None = None
    _finder: Finder | None = None
    _recorder: Recorder | None = None
    _checked: tuple[Field, ...] = ()
    check: GradientCheck | None = None

    def __init__(  # noqa: PLR0913 (the first four are Taichi's)
        self,
        loss: Field | None = None,
        clear_gradients: bool = True,
        validation: bool = False,
        grad_check: Field | Sequence[Field] | None = None,
        *,
        on_overwrite: str = "save",
        find_nan: bool = False,
        budget: int | str | None = None,
        profile: bool = False,
    ) -> None:
        try:
            loss = check_loss(loss)
            if on_overwrite not in ("save", "error"):
                message = f'`on_overwrite` is "save" or "error", not {on_overwrite!r}'
                raise ArgumentError(Diagnostic("argument", message, help='on_overwrite="error"'))
            checked = () if grad_check is None else listed(grad_check, "grad_check")
            size = None if budget is None else bytes_of(budget)
        except BaseException as error:
            trimmed(error)
            raise
        super().__init__((loss,), clear_gradients, on_overwrite == "save" and not validation, size)
        if profile:
            self._timer = CallTimer(self.entries)
        if find_nan:
            self._finder = Finder(self)
        if profile or find_nan:
            self.observe([o for o in (self._timer, self._finder) if o is not None])
        if checked:
            self._checked, self._recorder = checked, Recorder()

    # -- entering and leaving

    def __enter__(self) -> Self:
        try:
            self._refuse_to_enter()
            self.enter(self._begin)
        except BaseException as error:
            trimmed(error)
            raise
        return self

    def _refuse_to_enter(self) -> None:
        if self.entries:
            message, advice = "a tape can be used once", "make a new one: `with ds.Tape(loss) as tape:`"
            raise GradientError(Diagnostic("argument", message, help=advice)) from None
        if self._recorder is not None and opened():
            message = "`grad_check` needs a tape outside all other `with` blocks"
            advice = "check the inner program on its own: `ds.check_grad(run, wrt=, loss=)`"
            raise GradientError(Diagnostic("argument", message, help=advice))

    def _begin(self) -> None:
        left = begin_turn("bar")
        if self.clears:
            spared = self._spared = needed(left)
            cleared = [f for f in left if f not in spared] if spared else left
            zeros.note_cleared()
            for f in cleared:
                self.set_all(f, 0.0)
        else:
            zeros.forget("bar")
        self.set_all(self.loss, 0.0)
        if self._recorder is not None:
            self._recorder.push()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            try:
                self.pop()
                if kind is None:
                    self._go_back()
            finally:
                if not self.is_open:  # Ctrl-C may come before it has left the stack
                    if self._recorder is not None:
                        self._recorder = None  # it refers to this tape as the enclosing one
                    undisturbed((self.closed,))
        except KeyboardInterrupt as stop:
            self.abandon()
            raise left(stop) from None
        except BaseException as failure:
            trimmed(failure)
            raise

    def closed(self) -> None:
        """Releases the resources of the open block and of the backward pass."""
        self.snapshots.release()
        for loop in self.loops:
            loop.store.release()
        super().closed()

    def _go_back(self) -> None:
        self.refuse_failed()
        if self._hidden:
            self.refuse_hidden(self.outputs)
        if self.loops:
            self.end_steps()
        launched = [form for form in self._watched if not isinstance(form, tuple)]
        left = leftover.look(self, launched, self._sums) if self._sums else []
        self.ended = write_history.ended(self)
        zeros.forget("bar")  # in the backward pass gradients start at 0
        observers: list[Observer] = []
        if self._timer is not None:
            self.profiled = Profile(self.calls.starts, self._timer.seconds)
            observers.append(Profiler(self.profiled, self.calls))
        if self._finder is not None:
            observers.append(self._finder)
        if self._trajectories:
            observers += self.begin_trajectories()
        sweep = TapeSweep(self, 1.0, observers)
        self.goes_back = sweep
        try:
            self.left = sweep.run()
        finally:
            self._has_gone_back()
        if self.profiled is not None and not sweep.reaches:
            self.profiled.unreached()
        if self._recorder is not None:
            self.check = check_tape(self, self._recorder, self._checked)
        if self._sums:
            leftover.note(self, self._sums, left)
        if self._trajectories:
            self.finish_trajectories()

    def _has_gone_back(self) -> None:
        self.goes_back = None
        if self.inner_results:
            self.swept = CLOCK.tick()

    # -- queries after the block

    @property
    def calls(self) -> Calls:
        """The recorded calls."""
        return Calls(self)

    @property
    def not_finite(self) -> FirstNonFinite | None:
        """The result of `find_nan`."""
        return None if self._finder is None else self._finder.found

    @outermost
    def backward(self, seed: float = 1.0) -> None:
        """Repeats the backward sweep, after the block.

        Parameters
        ----------
        seed : float, default 1.0
            The gradient of the loss itself, a factor of all others.

        Raises
        ------
        GradientError
            When a field that the adjoints read has changed since the block's end; inside the block,
            and of others.

        Notes
        -----
        Gradients are replaced; with ``clear_gradients=False`` the result is added to them again. All
        other fields are unchanged.
        """
        revisit.backward(self, seed)

    @outermost
    def gradient(self, field: Field, after: int | RecordedCall | None = None) -> np.ndarray:
        """The gradient of the loss with respect to the values of `field` at a point inside the tape.

        Parameters
        ----------
        field : Field
            A float field with a gradient, or one that depends on such a field inside the tape.
        after : int or RecordedCall, optional
            The call after which to take the values; -1 is the last one. None means the beginning.

        Returns
        -------
        ndarray
            Of the field's shape and type. No field changes, including gradients.

        Examples
        --------
        >>> import dsim as ti
        >>> x = ti.field(ti.f32, shape=(), needs_grad=True)
        >>> y = ti.field(ti.f32, shape=(), needs_grad=True)
        >>> @ti.kernel
        ... def double():
        ...     x[None] = 2 * x[None]
        >>> @ti.kernel
        ... def end():
        ...     y[None] = x[None]
        >>> with ti.ad.Tape(y) as tape:
        ...     double()
        ...     double()
        ...     end()
        >>> float(tape.gradient(x, after=0)), float(tape.gradient(x, after=1))
        (2.0, 1.0)
        """
        return revisit.gradient(self, field, after)

    @outermost
    def gradients(
        self,
        field: Field,
        every: int | None = None,
        after: Iterable[int | RecordedCall] | None = None,
        out: np.ndarray | None = None,
    ) -> GradientTrajectory:
        """The gradients with respect to the values of `field` after many calls, by one backward sweep.

        Parameters
        ----------
        field : Field
            As in `gradient`.
        every : int, default 1
            Counts calls as `calls` does: 3 takes the values after the calls 2, 5, 8 and so on, the last ones
            of each step of three kernels.
        after : iterable of int or RecordedCall, optional
            The calls themselves, in any order.
        out : ndarray, optional
            Takes the gradients: one along the first axis for each call, each of the field's shape and type.
            An array that is used again costs less than new memory. Without `out`, a tape uses the memory of
            its last large result again once nothing refers to that any more.

        Returns
        -------
        GradientTrajectory
            Its `values` have one gradient for each of its `calls`, along the first axis. No field changes.

        Examples
        --------
        >>> import dsim as ti
        >>> x = ti.field(ti.f64, shape=(), needs_grad=True)
        >>> y = ti.field(ti.f64, shape=(), needs_grad=True)
        >>> @ti.kernel
        ... def double():
        ...     x[None] = 2 * x[None]
        >>> @ti.kernel
        ... def end():
        ...     y[None] = x[None]
        >>> with ti.ad.Tape(y) as tape:
        ...     for _ in range(4):
        ...         double()
        ...     end()
        >>> found = tape.gradients(x, every=2)
        >>> found.calls.tolist(), found.values.tolist()
        ([1, 3], [4.0, 1.0])
        """
        return trajectories.gradients(self, field, every, after, out)

    @outermost
    def profile(self, again: bool = False) -> Profile:
        """Repeats the backward sweep to measure the time and the gradient of each call.

        Under ``Tape(profile=True)`` this was measured in the block, with the calls' own times. Nothing
        else changes, including gradients. The result is cached; `again` measures anew.
        """
        if again or self.profiled is None or np.isnan(self.profiled.backward_seconds).all():
            revisit.profile(self)
        assert self.profiled is not None
        return self.profiled

    def __repr__(self) -> str:
        return tape_summary.text(self)

    # -- saved values

    @property
    def saved(self) -> Report:
        """The saved values, each with the line that overwrites it and the line that reads it.

        Of a loop with checkpoints it has one row: the most that it held at one time.
        """
        return overwrite_messages.saved(self.snapshots.all, (loop.row for loop in self.loops))
