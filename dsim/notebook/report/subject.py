"""What a report is about: a cell, or the definition of an existing kernel in a file or another cell."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from dsim.diagnostics import Source, Span
from dsim.diagnostics.places import caller
from dsim.frontend.source.source import FunctionText, read
from dsim.runtime.kernels.kernel import Kernel


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
    """The definition of an existing kernel, as the subject of `dsim.report`.

    Attributes
    ----------
    text : FunctionText
        With the lines and columns of its file or cell.
    called : Span or None
        The line that asks for the report.
    """

    text: FunctionText
    called: Span | None

    @classmethod
    def of(cls, kernel: Kernel) -> Definition:
        """That of `kernel`.

        Raises
        ------
        KernelSyntaxError
            When its source cannot be found.
        """
        return cls(read(getattr(kernel.function, "__func__", kernel.function)), caller())

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
        """The file's or cell's lines with the definition."""
        return self.text.source

    @property
    def place(self) -> Span:
        """The name in its ``def``."""
        return self.text.name_span()

    @property
    def tree(self) -> ast.AST:
        """Its syntax tree."""
        return self.text.node

    def span(self, node: ast.AST) -> Span:
        """The span of a node of `tree`."""
        return self.text.span(node)

    def spelt(self, option: str, value: str = "") -> str:
        """An option as it is written: a named argument."""
        return f"`{option}={value}`" if value else f"`{option}`"

    def option(self, option: str, name: str) -> Span:
        """The line of the call."""
        return self.place if self.called is None else self.called

    def refusal(self, told: str) -> Exception:
        """The error about an option."""
        return ValueError(told)

    def launched(self, act: Callable[[], Any]) -> Any:
        """What `act` gives: errors of launches point to the line of the call."""
        return act()

    def plotted(self, kernel: str) -> str:
        """How to draw the comparison with differences."""
        return "`report.check.plot()`"
