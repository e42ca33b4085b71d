"""Lambdas: finding a function's lambda in a source text, and converting it to a `def`."""

from __future__ import annotations

import ast
import functools
import types

NAME = "<lambda>"  # what Python calls all of them

# Syntax trees of files that are not valid Python as a whole, such as a cell with a magic, by file name, which
# is all that a lambda knows of its text. Only those with lambdas are kept, as long as IPython keeps their
# texts.
_TREES: dict[str, ast.Module] = {}


def bring(filename: str, tree: ast.Module) -> None:
    """Registers `tree`, compiled as `filename` with the lines of that file, so that its lambdas are found."""
    if any(isinstance(node, ast.Lambda) for node in ast.walk(tree)):
        _TREES[filename] = tree


def find(code: types.CodeType, lines: list[str]) -> list[ast.Lambda]:
    """The lambdas in `lines` that begin in the line of `code`, by its columns the likely ones first."""
    try:
        tree = _TREES.get(code.co_filename) or _parsed("".join(lines))
    except SyntaxError:
        return []
    places = set(code.co_positions())
    nodes = (n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno)
    return sorted(nodes, key=lambda n: (_place(n.body) not in places, not _within(n.body, places)))


@functools.lru_cache(maxsize=8)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


_Place = tuple[int | None, int | None, int | None, int | None]


def _place(node: ast.expr) -> _Place:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _within(node: ast.expr, places: set[_Place]) -> bool:
    """Whether all `places` lie in `node`, except those at column 0, which carry no information."""
    first, last, start, end = _place(node)
    for a, b, c, d in places:
        if a is None or b is None or c is None or d is None or c == d == 0:
            continue
        if (a, c) < (first, start) or (b, d) > (last, end):
            return False
    return True


def as_def(node: ast.Lambda) -> ast.FunctionDef:
    """``lambda a: e`` as a function that returns `e`, with the places of the lambda."""
    result = ast.copy_location(ast.Return(node.body), node.body)
    return ast.copy_location(
        ast.FunctionDef(name=NAME, args=node.args, body=[result], decorator_list=[], returns=None), node
    )
