"""What a report is about: a cell, or the definition of an existing kernel in a file or another cell."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from dsim.diagnostics import ArgumentError, Diagnostic, Source, Span
from dsim.diagnostics.places import caller
from dsim.frontend.source.source import FunctionText, read
from dsim.live.dependency import python_function
from dsim.runtime.kernels.kernel import Kernel

_WITHIN = "without `probe=`, an iteration that reaches many lines is inspected"

Lines = tuple[int, int]  # from the first to the last one


class Subject(Protocol):
    """The text that a report is about, and how its options are written; a `Cell` is one."""

    @property
    def kind(self) -> str:
        """That of the report."""
        ...

    @property
    def noun(self) -> str:
        """What messages call it."""
        ...

    @property
    def source(self) -> Source:
        """Its text."""
        ...

    @property
    def parts(self) -> tuple[Lines, ...]:
        """Which of its lines it is about, from the first to the last of each part; others are empty."""
        ...

    @property
    def place(self) -> Span:
        """Where things stand that have no line of their own."""
        ...

    @property
    def tree(self) -> ast.AST:
        """Its syntax tree."""
        ...

    def span(self, node: ast.AST) -> Span:
        """The span of a node of `tree`."""
        ...

    def spelt(self, option: str, value: str = "") -> str:
        """An option as it is written."""
        ...

    def option(self, option: str, name: str) -> Span:
        """Where `name` stands in the values of `option`."""
        ...

    def refusal(self, told: str) -> Exception:
        """The error about an option."""
        ...

    def launched(self, act: Callable[[], Any]) -> Any:
        """What `act` gives, with the line that errors of launches point to."""
        ...

    def plotted(self, kernel: str) -> str:
        """How to draw the comparison with differences."""
        ...


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of an existing kernel, with its funcs of the same file: the subject of `dsim.report`.

    Attributes
    ----------
    text : FunctionText
        The kernel's, with the lines and columns of its file or cell.
    others : tuple of FunctionText
        Those of its funcs.
    called : Span or None
        The line that asks for the report.
    """

    text: FunctionText
    others: tuple[FunctionText, ...]
    called: Span | None

    @classmethod
    def of(cls, kernel: Kernel, captured: Iterable[Any]) -> Definition:
        """That of `kernel`; `captured` are the objects compiled into it.

        Raises
        ------
        KernelSyntaxError
            When its source cannot be found.
        """
        text = read(getattr(kernel.function, "__func__", kernel.function))
        functions = dict.fromkeys(f for f in map(python_function, captured) if f is not None)
        file = text.source.file
        others = (read(f) for f in functions if f.__code__.co_filename == file)
        return cls(text, tuple(t for t in others if t.source.file == file), caller())

    @property
    def kind(self) -> str:
        """That of the report."""
        return "function"

    @property
    def noun(self) -> str:
        """What messages call it."""
        return "kernel"

    @property
    def source(self) -> Source:
        """The file's or cell's lines with the definitions; those between them are empty."""
        whole = self.text.source
        if not self.others:
            return whole
        parts = self.parts
        lines = {n: t.source.line(n) for t in self._texts for n in range(*_ends(t.source))}
        text = "\n".join(lines.get(n, "") for n in range(parts[0][0], parts[-1][1] + 1))
        return Source(whole.name, text, parts[0][0], whole.file)

    @property
    def parts(self) -> tuple[Lines, ...]:
        """The lines of the definitions; those that touch are one part."""
        found: list[Lines] = []
        for first, end in sorted(_ends(t.source) for t in self._texts):
            if found and first <= found[-1][1] + 1:
                found[-1] = found[-1][0], max(found[-1][1], end - 1)
            else:
                found.append((first, end - 1))
        return tuple(found)

    @property
    def _texts(self) -> tuple[FunctionText, ...]:
        return (self.text, *self.others)

    @property
    def place(self) -> Span:
        """The name in its ``def``."""
        return self.text.name_span()

    @property
    def tree(self) -> ast.AST:
        """Its syntax tree."""
        return ast.Module([t.node for t in self._texts], [])

    def span(self, node: ast.AST) -> Span:
        """The span of a node of `tree`."""
        own = next(t for t in self._texts if any(n is node for n in ast.walk(t.node)))
        return own.span(node)

    def spelt(self, option: str, value: str = "") -> str:
        """An option as it is written: a named argument."""
        return f"`{option}={value}`" if value else f"`{option}`"

    def option(self, option: str, name: str) -> Span:
        """The line of the call."""
        return self.place if self.called is None else self.called

    def refusal(self, told: str) -> Exception:
        """The error about an option."""
        return ArgumentError(Diagnostic("argument", told, self.called, help=_WITHIN))

    def launched(self, act: Callable[[], Any]) -> Any:
        """What `act` gives: errors of launches point to the line of the call."""
        return act()

    def plotted(self, kernel: str) -> str:
        """How to draw the comparison with differences."""
        return "`report.check.plot()`"


def _ends(source: Source) -> Lines:
    """The first line of a text, and the line behind it."""
    return source.first_line, source.first_line + len(source.lines)
