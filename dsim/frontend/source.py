"""The text of a Python function: its syntax tree, and spans with the person's lines and columns.

Works for functions in files, in notebook cells, and in text that `linecache` knows.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dsim.diagnostics import Diagnostic, KernelSyntaxError, Source, Span
from dsim.diagnostics.places import display_name

# The attribute by which a function brings its text along: one that was not written as a `def` (the body of
# a notebook cell), whose lines and columns are nevertheless a person's.
TEXT = "__dsim_text__"


@dataclass(frozen=True, slots=True)
class FunctionText:
    """A function's syntax tree and the source that its spans point into."""

    source: Source
    node: ast.FunctionDef
    shift: int  # added to a node's line to get the person's
    _spans: dict[ast.AST, Span] = field(default_factory=dict, repr=False, compare=False)

    def span(self, node: ast.AST) -> Span:
        """Where `node` stands, in the person's lines and columns."""
        if node not in self._spans:
            self._spans[node] = self._span(node)
        return self._spans[node]

    def _span(self, node: ast.AST) -> Span:
        line, end_line = node.lineno + self.shift, (node.end_lineno or node.lineno) + self.shift  # type: ignore[attr-defined]
        column = self._column(line, node.col_offset)  # type: ignore[attr-defined]
        end = self._column(end_line, node.end_col_offset or 0)  # type: ignore[attr-defined]
        return Span(self.source, line, column, end_line, end)

    def name_span(self) -> Span:
        """Where the function's name stands."""
        line = self.node.lineno + self.shift
        text, start = self.source.line(line), self._column(line, self.node.col_offset)
        found = re.compile(rf"\b{re.escape(self.node.name)}\b").search(text, start)
        column = start if found is None else found.start()
        return Span(self.source, line, column, line, column + len(self.node.name))

    def _column(self, line: int, offset: int) -> int:
        """A column in characters, from one in UTF-8 bytes."""
        text = self.source.line(line)
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))


def read(function: Callable[..., Any]) -> FunctionText:
    """The text of `function`.

    Raises
    ------
    KernelSyntaxError
        When there is no source (typed at a bare prompt, built by ``exec``), or it is no ``def``.
    """
    given = getattr(function, TEXT, None)
    if given is not None:
        return given
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise KernelSyntaxError(
            Diagnostic(
                "syntax",
                f"the source of `{function.__name__}` cannot be found",
                help="define it in a file or in a notebook cell",
            )
        ) from error
    source = Source(display_name(function.__code__.co_filename), "".join(lines).rstrip("\n"), first)
    return parse(source, function.__name__)


def bring(function: Callable[..., Any], source: Source, node: ast.FunctionDef) -> None:
    """Lets `function` bring its text along: `node`, whose lines are those of `source`."""
    _place_formatted(node)
    setattr(function, TEXT, FunctionText(source, node, 0))


def parse(source: Source, name: str) -> FunctionText:
    """The function `name` in `source`."""
    indented = source.text[:1] in (" ", "\t")
    tree = ast.parse("if 1:\n" + source.text if indented else source.text)
    _place_formatted(tree)
    shift = source.first_line - (2 if indented else 1)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return FunctionText(source, node, shift)
    first = next(ast.walk(tree.body[0]))
    line = getattr(first, "lineno", 1) + shift
    span = Span(source, line, 0, line, len(source.line(line)))
    raise KernelSyntaxError(
        Diagnostic(
            "syntax", f"`{name}` is not written as a `def`", span, help="write it as a function with `def`"
        )
    )


def _place_formatted(tree: ast.AST) -> None:
    """Gives what stands in an f-string the place of the f-string; before 3.12 Python places it wrongly."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for inner in ast.walk(node):
                if hasattr(inner, "lineno"):
                    ast.copy_location(inner, node)
