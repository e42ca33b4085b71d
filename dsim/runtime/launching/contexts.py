"""The base of all differentiating contexts: the stack of open ones, and Python's writes as launches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import get_ident, main_thread
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.frames import outermost
from dsim.diagnostics.places import caller
from dsim.runtime.fields.fields import Field, zeros_like
from dsim.runtime.fields.whole_memory import SMALL, zero
from dsim.runtime.launching import host_kernels
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.host_kernels import HostForm, Operand
from dsim.runtime.launching.launch_sequence import LaunchSequence
from dsim.runtime.launching.shadow_arrays import Mirrors
from dsim.runtime.state import turns
from dsim.runtime.state.once import kept
from dsim.runtime.state.references import uncopied
from dsim.runtime.state.stack import STACK, leave, left, opened
from dsim.runtime.state.write_clock import CLOCK

Args = tuple[Any, ...]


class System(Protocol):
    """Equations ``residual(unknown, wrt) = 0`` whose unknowns have just been found.

    Attributes
    ----------
    name : str
        What the solving function is called.
    unknown, wrt : tuple of Field
        The unknowns, and what they depend on.
    """

    name: str
    unknown: tuple[Field, ...]
    wrt: tuple[Field, ...]

    def launches(self) -> Sequence[tuple[Form, Args]]:
        """The launches that compute the residual."""
        ...

    def lost(self, varies: Callable[[Field], bool]) -> frozenset[Field]:
        """What the solving function computed beside the unknowns from what varies: without a derivative."""
        ...

    def needed(self, matters: Callable[[Field], bool]) -> Collection[Field]:
        """The fields that matter of those, beside the unknowns, whose values the residual needs."""
        ...

    def refuse_missing(self, varies: Callable[[Field], bool]) -> None:
        """Refuses a residual that reads what varies beside `wrt`, and a function that writes to `wrt`."""
        ...

    def pull(self, label: str, bars: Mapping[Field, Field]) -> None:
        """Turns the adjoints of the unknowns into those of `wrt`."""
        ...

    def push(self, label: str, active: Sequence[Field]) -> None:
        """Computes the tangents of the unknowns from those of `active`, some of `wrt`."""
        ...

    def cut(self, label: str, derivatives: Mapping[Field, Field]) -> None:
        """Sets the derivatives of the unknowns to 0, where nothing that they depend on varies; as `pull`."""
        ...


# The contexts of all threads that are open or run backwards, in order: two threads may not use the gradients
# of one field at once, and neither sees the other's stack (claims.py). A context enters itself, and leaves at
# its end.
OPENED: dict[Context, None] = {}


class Context:
    """A `with` block that sees every launch inside it.

    Attributes
    ----------
    outer : Context or None
        The context that was innermost when this one was entered.
    is_open : bool
        Whether it is on a stack.
    claimed : set of Field
        The roots of those whose derivatives are its own (claims.py).
    claims : str
        Which derivatives these are: ``bar`` or ``dot``.
    claimed_in : Thread
        In which thread.
    """

    outer: Context | None = None
    differentiates = True  # or it keeps what launches overwrite, and may miss some
    is_open = False
    claims = ""
    claimed_in = main_thread()
    _mirrors: Mirrors | None = None
    _thread = 0

    def __init__(self) -> None:
        self.claimed: set[Field] = set()

    _for_people: frozenset[str] = frozenset()  # the names offered by completion
    _keeps_mirrors = False  # recorded launches stay bound to them after its end

    def __dir__(self) -> list[str]:
        return [n for n in object.__dir__(self) if n.startswith("__") or n in self._for_people]

    @outermost
    def __reduce__(self) -> tuple[Any, ...]:
        uncopied("a tape or forward mode", "copy its results: `x.grad.to_numpy()`, `print(tape)`")

    @property
    def mirrors(self) -> Mirrors:
        """Of the outermost context, the fields of the NumPy arrays that launches inside were given."""
        if self._mirrors is None:
            self._mirrors = Mirrors()
        return self._mirrors

    # -- on the stack

    def push(self) -> None:
        """Makes this the innermost context."""
        if self.is_open:
            message, advice = (
                "this tape or forward mode is already open",
                "make a second one for a block inside",
            )
            raise GradientError(Diagnostic("argument", message, help=advice))
        around = opened()
        self.outer = around[-1] if around else None
        if self.outer is not None and self.outer._thread != get_ident():
            message = (
                "a tape or forward mode of another thread is open here, and it records its own thread only"
            )
            advice = "start the thread outside that block, or without its context variables"
            raise GradientError(Diagnostic("not-differentiable", message, caller(), help=advice))
        self.is_open, self._thread = True, get_ident()
        STACK.set((*around, self))  # open before: a signal handler that launches drops closed contexts
        OPENED[self] = None

    def related(self, other: Context) -> bool:
        """Whether one of the two is inside the other one, or both are the same."""
        return any(other is c for c in self._around()) or any(self is c for c in other._around())

    @property
    def is_differentiated(self) -> bool:
        """Whether it, or a context around it, differentiates."""
        return self.differentiates or (self.outer is not None and self.outer.is_differentiated)

    def _around(self) -> Iterator[Context]:
        """This context and those around it."""
        context: Context | None = self
        while context is not None:
            yield context
            context = context.outer

    def pop(self) -> None:
        """Removes it from the stack, with the contexts left open inside it."""
        was_open = self.is_open and (self.outer is None or self.outer.is_open)
        around = STACK.get()
        if around and around[-1] is self:
            STACK.set(around[:-1])
            self.over()
        else:
            self._pop_with_inner(around)
        if was_open:  # it keeps its claims until `closed`
            leave(self)
            return
        OPENED.pop(self, None)
        message, advice = "this tape or forward mode is not open", "leave a block once, after entering it"
        if self.outer is not None and not self.outer.is_open:
            message = (
                "a tape or forward mode around this one ended first: it has not recorded what came after"
            )
            advice = "leave the blocks in the order of `with` statements, the innermost first"
        raise GradientError(Diagnostic("argument", message, help=advice))

    def _pop_with_inner(self, around: tuple[Any, ...]) -> None:
        """Removes it with the contexts left open inside it, or where another task has opened it."""
        place = around.index(self) if self in around else None
        STACK.set(around[:place])
        for context in (self,) if place is None else around[place:]:
            context.over()
            if context is not self:
                context.closed()

    def over(self) -> None:
        """Marks it as ended. Tasks that began inside it may still hold it."""
        self.is_open, self._thread = False, 0

    def elsewhere(self, form: Form, args: Args) -> Args:
        """Handles a launch of another thread, or after its end.

        Raises
        ------
        GradientError
            When it is open: concurrent calls have no order to reverse.
        """
        if self.is_open:
            message = f"`{form.kernel.name}` is launched in a tape or forward mode of another thread"
            advice = "launch it in the thread that opened it, or open one here"
            raise GradientError(Diagnostic("not-differentiable", message, caller(), help=advice))
        return self.pass_on(form, args)

    def enter(self, begin: Callable[[], None]) -> None:
        """Pushes it and calls `begin`, the rest of the entry; pops it if that fails."""
        self.push()
        try:
            begin()
        except BaseException:  # an error, or Ctrl-C
            self.pop()
            self.closed()
            raise

    def __enter__(self) -> Any:
        self.push()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.pop()
            self.closed()
        except KeyboardInterrupt:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Leaves the stack and releases what it held, whatever of this was done before Ctrl-C came."""
        if self.is_open:
            self.pop()
        self.closed()

    def closed(self) -> None:
        """Releases what it held while it was open and in the backward pass."""
        OPENED.pop(self, None)
        left(self)
        if self._mirrors is not None and not self._keeps_mirrors:
            self._mirrors.release()

    # -- events inside it

    def launch(self, form: Form, args: Args) -> Args:
        """Handles a launch; returns the kernel's result."""
        return self.pass_on(form, args)

    def launch_all(self, sequence: LaunchSequence) -> None:
        """Handles the launches of `sequence`, one after the other."""
        for form, args in sequence.launches:
            self.launch(form, args)

    def pass_on(self, form: Form, args: Args) -> Args:
        """The launch as the next outer context sees it; with none, it runs."""
        return form.run(args) if self.outer is None else self.outer.launch(form, args)

    def snapshot(self, form: Form, args: Args) -> None:
        """A launch that copies values for this context's own use, as the next outer one sees it."""
        self.pass_on(form, args)

    def set_all(self, field: Field, value: float) -> None:
        """Sets every number of `field` to `value`, as an action of this context that the outer one sees."""
        if self.outer is None:
            memory = field.buffer if field.buffer is not None else field.require_memory()
            if value or memory.nbytes <= SMALL:
                memory.fill(value)
            else:
                zero(memory)
            field.changed = CLOCK.now
        else:
            self.pass_on(host_kernels.form(host_kernels.Fill, field), (value,) * field.numbers)
        if value:
            field.touched = turns.current()
        elif field.touched:
            field.touched, field.cleared = 0, turns.current()

    def python_writes(self, form: HostForm, args: Args) -> None:
        """Handles a write from Python."""
        self.launch(form, args)

    def element_written(self, field: Field, index: tuple[int, ...], value: Any) -> None:
        """Writes one number of `field`'s memory, on behalf of Python."""
        self.python_writes(host_kernels.form(host_kernels.Put, field), (*index, value))

    def filled(self, field: Operand, values: Args) -> None:
        """Sets every entry of `field` to `values`, on behalf of Python."""
        self.python_writes(host_kernels.form(host_kernels.Fill, field), values)

    def copied(self, field: Operand, source: Operand) -> None:
        """Sets `field` to `source`, on behalf of Python."""
        self.python_writes(host_kernels.form(host_kernels.Copy, field, source), ())

    def given(self, field: Operand, array: np.ndarray) -> None:
        """Sets `field` to the numbers in `array`, on behalf of Python."""
        staging = self.staging(field)
        staging.require()[...] = array
        self.copied(field, staging)

    @property
    def launches_again(self) -> bool:
        """Whether what is launched now may be launched once more, with the same numbers from Python."""
        return self.outer is not None and self.outer.launches_again

    @property
    def blocks_of_loop(self) -> dict[Field, list[Any]] | None:
        """The free memory for saved values of tapes in a step that runs again; None outside of steps.

        A log has the launches that fill this memory: what is saved elsewhere must not be in it.
        """
        return None if self.outer is None else self.outer.blocks_of_loop

    def staging(self, field: Operand) -> Field:
        """A field for the numbers to be written to `field`, reused each time if launches are not repeated.

        Copying is linear, so no adjoint reads it again.
        """
        if self.launches_again:
            return zeros_like(field, "given")
        return kept(field.operations, ("staging", field.component), lambda: zeros_like(field, "given"))

    def solved(self, system: System) -> None:
        """Notes that fields hold a solution: their derivatives follow from the system's residual."""
        if self.outer is not None:
            self.outer.solved(system)

    def failed(self, name: str, written: Collection[Field]) -> None:
        """The function `name`, which has a derivative of its own, failed when it had written these fields."""

    def replaced(self, name: str) -> None:
        """Notes that the function `name`, whose backward pass a user gives, is about to be called."""
        if self.outer is not None:
            self.outer.replaced(name)

    def array_changed(self, mirror: Field) -> None:
        """Notes that Python changed numbers of an array, whose field is `mirror`, between launches."""
        if self.outer is not None:
            self.outer.array_changed(mirror)

    def array_read(self, array: np.ndarray) -> None:
        """Handles that Python sets a field to the numbers of `array`, which kernels may have written."""
        if self.outer is not None:
            self.outer.array_read(array)

    def element_read(self, field: Field) -> None:
        """Handles a read of `field` by Python: passes it on to outer contexts."""
        if self.outer is not None and self.outer.is_open:
            self.outer.element_read(field)


def dispatch(form: Form, args: Args) -> Args:
    """Launches `form` in the innermost context."""
    contexts = opened()
    return contexts[-1].launch(form, args) if contexts else form.run(args)


class Stopped(Context):
    """Runs launches inside it as constants: their results have no derivatives (`no_grad`)."""

    _stops = True

    def launch(self, form: Form, args: Args) -> Args:
        """The same launch without derivatives."""
        if get_ident() != self._thread:
            return self.elsewhere(form, args)
        return self.pass_on(form.stopped() if self._stops else form, args)

    def solved(self, system: System) -> None:
        """Nothing: what solves equations inside is constant, too."""

    def array_changed(self, mirror: Field) -> None:
        """Nothing: what Python computes inside is constant, too."""

    def array_read(self, array: np.ndarray) -> None:
        """Nothing: it is constant inside, too."""

    def replaced(self, name: str) -> None:
        """Nothing: functions with derivatives of their own are constant inside, too."""

    @contextmanager
    def paused(self) -> Iterator[None]:
        """In the block, launches are passed on as they are."""
        self._stops = False
        try:
            yield
        finally:
            self._stops = True
