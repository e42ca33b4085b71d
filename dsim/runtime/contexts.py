"""What every differentiating context has: a place on the stack, and Python's writes as launches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError
from dsim.runtime import hostops
from dsim.runtime.changes import CLOCK
from dsim.runtime.fields import Field
from dsim.runtime.forms import Form
from dsim.runtime.hostops import HostForm, Operand
from dsim.runtime.mirrors import Mirrors
from dsim.runtime.stack import STACK

Args = tuple[Any, ...]


class Context:
    """A `with` block that sees every launch inside it.

    Attributes
    ----------
    outer : Context or None
        The context that was innermost when this one was entered.
    mirrors : Mirrors
        Of the outermost context, the fields of the NumPy arrays that launches inside were given.
    """

    def __init__(self) -> None:
        self.outer: Context | None = None
        self.mirrors = Mirrors()
        self._open = False

    # -- on the stack

    def push(self) -> None:
        """Makes this the innermost context."""
        if self._open:
            message, advice = (
                "this tape or forward mode is open already",
                "make a second one for a block inside",
            )
            raise GradientError(Diagnostic("argument", message, help=advice))
        self.outer = STACK.open[-1] if STACK.open else None
        STACK.open.append(self)
        self._open = True

    def pop(self) -> None:
        """Takes it off the stack again, with what was left open inside it."""
        if not self._open:
            message = (
                "a tape or forward mode around this one ended first: it has not seen all that came after"
            )
            advice = "leave the blocks in the order of `with` statements, the innermost first"
            raise GradientError(Diagnostic("argument", message, help=advice))
        while STACK.open:
            top = STACK.open.pop()
            top._open = False
            if top is self:
                break
            top.closed()

    def __enter__(self) -> Any:
        self.push()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pop()
        self.closed()

    def closed(self) -> None:
        """Gives back what it needed while it was open, and going backwards after."""
        self.mirrors.release()

    # -- what happens inside it

    def launch(self, form: Form, args: Args) -> Args:
        """What becomes of a launch; gives what the kernel returns."""
        return self.pass_on(form, args)

    def pass_on(self, form: Form, args: Args) -> Args:
        """The launch as the next outer context sees it; with none, it runs."""
        return form.run(args) if self.outer is None else self.outer.launch(form, args)

    def set_all(self, field: Field, value: float) -> None:
        """Sets every number of `field` to `value`, as this context's own doing: the outer one sees it."""
        if self.outer is None:
            field.require_memory().fill(value)
            field.changed = CLOCK.now
        else:
            self.pass_on(hostops.form(hostops.Fill, field), (value,) * field.numbers)
        field.touched = value != 0

    def python_writes(self, form: HostForm, args: Args) -> None:
        """What becomes of a write of Python's."""
        self.launch(form, args)

    def element_written(self, field: Field, index: tuple[int, ...], value: Any) -> None:
        """Writes one number of `field`'s memory, on behalf of Python."""
        self.python_writes(hostops.form(hostops.Put, field), (*index, value))

    def filled(self, field: Operand, values: Args) -> None:
        """Sets every entry of `field` to `values`, on behalf of Python."""
        self.python_writes(hostops.form(hostops.Fill, field), values)

    def copied(self, field: Operand, source: Operand) -> None:
        """Sets `field` to `source`, on behalf of Python."""
        self.python_writes(hostops.form(hostops.Copy, field, source), ())

    def given(self, field: Operand, array: np.ndarray) -> None:
        """Sets `field` to the numbers in `array`, on behalf of Python."""
        staging = self.staging(field)
        staging.require()[...] = array
        self.copied(field, staging)

    def staging(self, field: Operand) -> Field:
        """A field for the numbers that `field` is to get: the same each time.

        Copying is linear, so that nobody reads what it holds again.
        """
        key = ("staging", field.component)
        found = field.operations.get(key)
        if found is None:
            found = field.operations[key] = Field(field.dtype, field.entry_shape, "given")
            found.allocate(field.shape)
        return found

    def element_read(self, field: Field) -> None:
        """Takes notice that Python read values of `field`: nothing, unless a tape is further out."""
        if self.outer is not None:
            self.outer.element_read(field)


def dispatch(form: Form, args: Args) -> Args:
    """Launches `form` in whatever context is innermost."""
    contexts = STACK.open
    return contexts[-1].launch(form, args) if contexts else form.run(args)


class Stopped(Context):
    """Inside it launches happen, and nothing that they write depends on anything (`no_grad`)."""

    _stops = True

    def launch(self, form: Form, args: Args) -> Args:
        """The same launch without derivatives."""
        return self.pass_on(form.stopped() if self._stops else form, args)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """In the block, launches are passed on as they are."""
        self._stops = False
        try:
            yield
        finally:
            self._stops = True
