"""Loops of a tape that keep checkpoints: `Tape.steps`, `Tape.step`, and `checkpoint`."""

from __future__ import annotations

import itertools
import operator
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sized
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar, overload

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.frames import outermost
from dsim.diagnostics.places import caller
from dsim.runtime.checking import runs
from dsim.runtime.fields.fields import kind_of
from dsim.runtime.recording.recorded_sequences import SequenceRecorder
from dsim.runtime.saving.checkpoint_store import CheckpointStore
from dsim.runtime.saving.memory_limits import MemoryLimit
from dsim.runtime.saving.step_progress import StepProgress
from dsim.runtime.saving.steps import Steps
from dsim.runtime.state.stack import opened

T = TypeVar("T")
Directory = str | os.PathLike[str]

_SLOTS = 30
_SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


class CheckpointedLoops(SequenceRecorder):
    """The loops of a tape that keep checkpoints in place of what the adjoint of each step needs."""

    @overload
    def steps(
        self,
        items: Iterable[T],
        *,
        slots: int | None = None,
        budget: int | str | None = None,
        directory: Directory | None = None,
        progress: bool = False,
    ) -> Iterator[T]: ...

    @overload
    def steps(
        self,
        items: None = None,
        *,
        slots: int | None = None,
        budget: int | str | None = None,
        directory: Directory | None = None,
        progress: bool = False,
    ) -> Iterator[int]: ...

    @outermost
    def steps(
        self,
        items: Iterable[Any] | None = None,
        *,
        slots: int | None = None,
        budget: int | str | None = None,
        directory: Directory | None = None,
        progress: bool = False,
    ) -> Iterator[Any]:
        """A loop whose gradient takes bounded memory: the tape keeps some states, and runs steps again.

        Parameters
        ----------
        items : iterable, optional
            What the loop goes over. With a length, as of a range or a list, the schedule is the best one for
            it. None means 0, 1, 2, … without end, for a loop that is left by ``break``.
        slots : int, optional
            How many copies of the state the memory holds at a time. A state is all that the steps overwrite.
            Without `slots` and `budget` there are 30, or as many as the tape's own budget has room for.
        budget : int or str, optional
            The memory in bytes in the place of `slots`, also as ``"200MB"`` or ``"1.5GiB"``.
        directory : path, optional
            A folder for the states, in the place of memory.
        progress : bool, default False
            Whether tqdm draws a bar, forwards and backwards.

        Yields
        ------
        object
            The items.

        Raises
        ------
        GradientError
            Outside the block, under ``on_overwrite="error"``, in a function under `grad_replaced`, or when
            one state does not fit into `budget`.

        Notes
        -----
        On the way back the *launches* of steps run again, with the arguments that they had, from a state
        that was kept; Python does not. So what Python decided, computed or drew stays as it was. The
        gradients are those of a loop without steps; with ``init(deterministic=True)`` bit for bit. What is
        left of a step by ``break`` or an exception is a step, too. The steps of a loop inside a step are
        steps of the outer loop, which alone says how many states there are.

        Examples
        --------
        >>> import dsim as ti
        >>> x = ti.field(ti.f64, shape=(), needs_grad=True)
        >>> y = ti.field(ti.f64, shape=(), needs_grad=True)
        >>> @ti.kernel
        ... def grow():
        ...     x[None] += 0.001 * x[None] ** 2
        >>> @ti.kernel
        ... def end():
        ...     y[None] = x[None]
        >>> x[None] = 0.5
        >>> with ti.ad.Tape(y) as tape:
        ...     for t in tape.steps(range(1000), slots=20):
        ...         grow()
        ...     end()
        >>> round(x.grad[None], 3)
        3.992
        """
        if items is not None and not isinstance(items, Iterable):
            message = f"`steps` takes what a loop goes over, not {kind_of(items)}"
            raise GradientError(Diagnostic("argument", message, caller(), help="`tape.steps(range(n))`"))
        self._check_steps()
        given = itertools.count() if items is None else items
        if self.open_loop is not None and not self._automatic:
            return self._inner_items(given, self.open_loop)
        length = len(items) if isinstance(items, Sized) else None
        self._begin_loop(length, slots, budget, directory, progress)
        assert self.open_loop is not None
        return self._items(given, self.open_loop)

    def _items(self, items: Iterable[T], loop: Steps) -> Iterator[T]:
        self._counted = True
        try:
            for item in items:
                yield item
                if self.open_loop is loop:
                    loop.end_step()
        finally:
            if self.open_loop is loop:
                self.end_steps()

    def _inner_items(self, items: Iterable[T], loop: Steps) -> Iterator[T]:
        """Those of a loop in a step of another one."""
        if self.open_loop is loop:
            loop.split()
        for item in items:
            yield item
            if self.open_loop is loop:
                loop.end_step()

    @outermost
    def step(
        self,
        *,
        slots: int | None = None,
        budget: int | str | None = None,
        directory: Directory | None = None,
    ) -> None:
        """Begins a step of a ``while`` loop, as `steps` does of a ``for`` loop.

        The first call begins the loop. The steps end with the block, or where `steps` begins another loop:
        calls behind the loop belong to its last step.

        Parameters
        ----------
        slots, budget, directory
            See `steps`; of the first call.

        Examples
        --------
        >>> import dsim as ti
        >>> x = ti.field(ti.f64, shape=(), needs_grad=True)
        >>> y = ti.field(ti.f64, shape=(), needs_grad=True)
        >>> @ti.kernel
        ... def halve():
        ...     x[None] *= 0.5
        >>> @ti.kernel
        ... def end():
        ...     y[None] = x[None] ** 2
        >>> x[None] = 1.0
        >>> n = 0
        >>> with ti.ad.Tape(y) as tape:
        ...     while n < 10:
        ...         tape.step(slots=3)
        ...         halve()
        ...         n += 1
        ...     end()
        >>> x.grad[None] == 2 * 0.25**10
        True
        """
        self._check_steps()
        if self.open_loop is None or self._automatic:
            self._begin_loop(None, slots, budget, directory, False)
        elif self._counted:
            message = "`step()` inside a loop over `steps`, which begins its steps itself"
            raise GradientError(Diagnostic("argument", message, caller(), help="leave one of them out"))
        else:
            self.open_loop.end_step()

    def _begin_loop(
        self,
        length: int | None,
        slots: int | None,
        budget: int | str | None,
        directory: Directory | None,
        progress: bool,
    ) -> None:
        size = _checked(slots, budget)
        self.end_steps()
        shared = slots is None and size is None and self._policy.budget is not None
        if shared:
            size = self._policy.budget
        elif slots is None and size is None:
            slots = _SLOTS
        store = CheckpointStore(self, _folder(directory))
        limit = MemoryLimit(slots, size, self.held_beside(store)) if shared else MemoryLimit(slots, size)
        self._counted = False
        loop = self.new_loop(limit, length, store, StepProgress(progress, length), shared)
        self.begin_steps(loop, automatic=False)

    def _check_steps(self) -> None:
        if not self.is_open:
            message, advice = (
                "steps belong inside the block of their tape",
                "`with ds.Tape(loss) as tape:` around them",
            )
        elif not self._policy.saves:
            message = 'this tape saves nothing (`on_overwrite="error"`), and steps keep states'
            advice = "leave `on_overwrite` out"
        elif self._custom is not None:
            message = "steps inside a function under `grad_replaced`, whose launches are not recorded"
            advice = "put the loop around calls of that function"
        else:
            return
        raise GradientError(Diagnostic("argument", message, caller(), help=advice))


def _checked(slots: Any, budget: Any) -> int | None:
    """The bytes of `budget`, if that and `slots` say how many states there are.

    Raises
    ------
    GradientError
        When both are given, or one is no such number.
    """
    size = None if budget is None else bytes_of(budget)
    if slots is not None and size is not None:
        message = "`slots` and `budget` are two ways to say the same"
        raise GradientError(Diagnostic("argument", message, caller(), help="give one"))
    if slots is not None and (not isinstance(slots, Integral) or slots < 1):
        message = f"`slots` is a number of states, at least 1, not {slots!r}"
        advice = "leave it out for the usual number of states, or pass a larger one"
        raise GradientError(Diagnostic("argument", message, caller(), help=advice))
    return size


def _folder(directory: Any) -> Path | None:
    if directory is None or isinstance(directory, str | os.PathLike):
        return None if directory is None else Path(directory)
    message = f"`directory` is the path of a folder, not {kind_of(directory)}"
    raise GradientError(Diagnostic("argument", message, caller(), help='`directory="/scratch"`'))


def bytes_of(size: int | str) -> int:
    """A number of bytes, also given as text.

    Examples
    --------
    >>> bytes_of(512), bytes_of("200MB"), bytes_of("1.5 GiB")
    (512, 200000000, 1610612736)
    """
    if isinstance(size, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]i?|)b?\s*", size.lower())
        number = 0 if found is None else int(float(found[1]) * _SIZES[found[2]])
    else:
        number = int(size) if isinstance(size, Integral) else 0
    if number < 1:
        message = f"a budget is a number of bytes, not {size!r}"
        raise GradientError(
            Diagnostic("argument", message, caller(), help='write it as 200_000_000 or "200MB"')
        )
    return number


@outermost
def checkpoint(
    step: Callable[[int], Any],
    n: int,
    *,
    slots: int | None = None,
    budget: int | str | None = None,
    directory: Directory | None = None,
    progress: bool = False,
) -> None:
    """Calls ``step(0)`` to ``step(n - 1)``, under a tape as the steps of a loop with checkpoints.

    Parameters
    ----------
    step : callable
        Runs one step, given its number.
    n : int
        How many steps there are, 0 or more.
    slots, budget, directory, progress
        See `Tape.steps`.

    Raises
    ------
    GradientError
        When `step` is a generator or coroutine function, which launches nothing when it is called; when `n`,
        `slots`, `budget` or `directory` are not such numbers or paths, also outside of a tape.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f64, shape=(), needs_grad=True)
    >>> y = ti.field(ti.f64, shape=(), needs_grad=True)
    >>> @ti.kernel
    ... def double():
    ...     x[None] *= 2.0
    >>> @ti.kernel
    ... def end():
    ...     y[None] = x[None]
    >>> with ti.ad.Tape(y):
    ...     ti.ad.checkpoint(lambda t: double(), 10, slots=2)
    ...     end()
    >>> x.grad[None]
    1024.0
    """
    try:
        items: Iterable[int] = range(n)
    except TypeError:
        message = f"`n` of `checkpoint` is a number of steps, an integer, not {kind_of(n)}"
        advice = "pass an integer: `checkpoint(step, 100)`"
        raise GradientError(Diagnostic("argument", message, caller(), help=advice)) from None
    if operator.index(n) < 0:
        message = f"`n` of `checkpoint` is a number of steps, 0 or more, not {n}"
        raise GradientError(Diagnostic("argument", message, caller(), help="pass how many steps there are"))
    if not callable(step):
        message = f"`step` of `checkpoint` is a function of the number of a step, not {kind_of(step)}"
        advice = "pass the function itself: `checkpoint(step, 100)`"
        raise GradientError(Diagnostic("argument", message, caller(), help=advice))
    _checked(slots, budget)
    _folder(directory)
    tapes = [c for c in opened() if isinstance(c, CheckpointedLoops)]
    if tapes:
        items = tapes[-1].steps(items, slots=slots, budget=budget, directory=directory, progress=progress)
    for t in items:
        runs.call(step, t)
