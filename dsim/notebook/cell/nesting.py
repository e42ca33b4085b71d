"""Expressions that are nested deeper than Python compiles them: the error, at the statement with the deepest.

Python nests a sum as deep as it has terms. A file is compiled with three times the frames of the recursion
limit; `room` gives the same to syntax trees.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dsim.diagnostics import Diagnostic, KernelSyntaxError, Source, Span

_FRAMES = 3000


@contextmanager
def room(source: Source, first: int, tree: ast.Module | None = None) -> Iterator[None]:
    """Lets Python parse or compile what is below line `first` of `source`, of which there may be a `tree`.

    Raises
    ------
    KernelSyntaxError
        When it is nested too deeply even so.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    except (RecursionError, MemoryError):  # the latter is what the parser raises
        line = _longest(source, first) if tree is None else _deepest(tree)
        message = "an expression is nested too deeply"
        help = "split its longest expressions"
        raise KernelSyntaxError(Diagnostic("limit", message, _line(source, line), help=help)) from None
    finally:
        sys.setrecursionlimit(before)


def _longest(source: Source, first: int) -> int:
    return max(range(first + 1, len(source.lines) + 1), key=lambda n: len(source.line(n)))


def _deepest(tree: ast.Module) -> int:
    """The line of the statement with the most deeply nested expression."""
    most, line = 0, 1
    left: list[tuple[ast.AST, int, int]] = [(tree, 0, 1)]
    while left:
        node, depth, at = left.pop()
        if isinstance(node, ast.stmt):
            depth, at = 0, node.lineno
        if depth > most:
            most, line = depth, at
        left.extend((inner, depth + 1, at) for inner in ast.iter_child_nodes(node))
    return line


def _line(source: Source, line: int) -> Span:
    text = source.line(line)
    return Span(source, line, len(text) - len(text.lstrip()), line, len(text.rstrip()))
