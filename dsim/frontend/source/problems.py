"""Collects the diagnostics of a kernel, so that all are reported at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from dsim.diagnostics import (
    CompilationError,
    Diagnostic,
    KernelSyntaxError,
    KernelTypeError,
    Label,
    Level,
    Span,
)

_TYPE_CODES = {"type", "shape", "index", "argument", "return"}


T = TypeVar("T")


class RefusedError(Exception):
    """Leaves the statement that cannot be lowered; its diagnostic has been noted (internal)."""


def asked(act: Callable[[], T], refuse: Callable[[str], NoReturn]) -> T:
    """What `act` returns, which runs a method of a Python object, such as ``__bool__``.

    `refuse` reports the exception that the method raises, so that the error is at the kernel's line.
    """
    try:
        return act()
    except RefusedError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a method of a person raises
        refuse(f"{type(error).__name__}: {error}")


class Problems:
    """The diagnostics of one compilation.

    Attributes
    ----------
    found : list of Diagnostic
        In the order in which they were found.
    """

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []

    def note(self, diagnostic: Diagnostic) -> None:
        """Keeps `diagnostic`, once per location: an error in a func occurs at every call."""
        said = ((d.code, d.message, d.span) for d in self.found)
        if (diagnostic.code, diagnostic.message, diagnostic.span) not in said:
            self.found.append(diagnostic)

    def refuse(
        self,
        code: str,
        message: str,
        span: Span | None,
        here: str = "",
        *,
        help: str = "",
        labels: tuple[Label, ...] = (),
    ) -> NoReturn:
        """Notes an error and leaves the statement."""
        self.note(Diagnostic(code, message, span, here, labels, help))
        raise RefusedError

    def sorted(self) -> tuple[Diagnostic, ...]:
        """All of them in the order of the source."""
        return tuple(sorted(self.found, key=_place))

    @property
    def failed(self) -> bool:
        """Whether there is an error among them."""
        return any(d.level is Level.ERROR for d in self.found)

    def check(self) -> None:
        """Raises all of them when there is an error among them.

        Raises
        ------
        CompilationError
            `KernelSyntaxError` or `KernelTypeError` when the first error is of that kind.
        """
        errors = [d for d in self.sorted() if d.level is Level.ERROR]
        if not errors:
            return
        first = errors[0].code
        kind = (
            KernelSyntaxError
            if first == "syntax"
            else KernelTypeError
            if first in _TYPE_CODES
            else CompilationError
        )
        raise kind(*errors)


def _place(d: Diagnostic) -> tuple[str, int, int]:
    return (d.span.source.name, d.span.line, d.span.column) if d.span else ("", 0, 0)
