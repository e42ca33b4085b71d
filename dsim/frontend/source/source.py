"""The source of a Python function: its syntax tree, and spans with the user's lines and columns.

Works for functions in files, in notebook cells, and in text registered with `linecache`. The text is compared
with the function's code: a text that was edited after the function was created is rejected.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import sys
import tokenize
import types
import weakref
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

from dsim.diagnostics import Diagnostic, KernelSyntaxError, Source, Span
from dsim.diagnostics.places import display_name
from dsim.frontend.source import lambdas, private_names
from dsim.frontend.source.same_code import is_code_of
from dsim.frontend.source.timed_cells import magic_of, timed_texts
from dsim.records import record
from dsim.weak_mappings import WeakKeys

# The attribute that carries the source of a function that was not written as a `def` (the body of
# a notebook cell), whose lines and columns are nevertheless a user's.
TEXT = "__dsim_text__"

_NO_FILE = "<string>"  # of `exec`, and of `python -c`, whose lines Python keeps under that name since 3.13

# The lines of the file of each function that has a decorator of dsim's, as they were when it was made.
_LINES: WeakKeys[types.FunctionType, list[str]] = WeakKeys()

# What was found for a code object, by its `id`, as long as it lives: equal ones may have other annotations. A
# kernel is lowered once for each choice of settings and templates, and each call of a factory makes it anew.
_FOUND: dict[int, FunctionText] = {}
_MOST_FOUND = 1000


@record
class FunctionText:
    """A function's syntax tree and the source that its spans point into."""

    source: Source
    node: ast.FunctionDef
    shift: int  # added to a node's line to get the user's
    _spans: dict[ast.AST, Span] = field(default_factory=dict, repr=False, compare=False)

    def span(self, node: ast.AST) -> Span:
        """The span of `node`, in the user's lines and columns."""
        if node not in self._spans:
            self._spans[node] = self._span(node)
        return self._spans[node]

    def _span(self, node: ast.AST) -> Span:
        line, end_line = node.lineno + self.shift, (node.end_lineno or node.lineno) + self.shift  # type: ignore[attr-defined]
        column = self._column(line, node.col_offset)  # type: ignore[attr-defined]
        end = self._column(end_line, node.end_col_offset or 0)  # type: ignore[attr-defined]
        return Span(self.source, line, column, end_line, end)

    def name_span(self) -> Span:
        """The span of the function's name, or of its `lambda`."""
        name = "lambda" if self.node.name == lambdas.NAME else self.node.name
        line = self.node.lineno + self.shift
        text, start = self.source.line(line), self._column(line, self.node.col_offset)
        found = re.compile(rf"\b{re.escape(name)}\b").search(text, start)
        column = start if found is None else found.start()
        return Span(self.source, line, column, line, column + len(name))

    def _column(self, line: int, offset: int) -> int:
        """A column in characters, from one in UTF-8 bytes."""
        text = self.source.line(line)
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))


def remember(function: object) -> None:
    """Stores the present lines of the file of `function`, for `read` at its first launch."""
    if isinstance(function, types.FunctionType) and not hasattr(function, TEXT):
        lines = _lines_now(function)
        if lines:
            _LINES[function] = lines


def _lines_now(function: types.FunctionType) -> list[str]:
    filename = function.__code__.co_filename
    linecache.checkcache(filename)
    return linecache.getlines(filename, function.__globals__)


def _possible_lines(function: types.FunctionType) -> Iterator[list[str]]:
    """Versions of the function's file: that at its creation, the present one, and older ones."""
    filename = function.__code__.co_filename
    if function in _LINES:
        yield _LINES[function]
    before = linecache.cache.get(filename)
    now = _lines_now(function)
    if now:
        yield now
    if before is not None and len(before) > 2 and before[2]:
        yield list(before[2])
    for other, lines in list(_LINES.items()):
        if other.__code__.co_filename == filename:
            yield lines


def read(function: Callable[..., Any]) -> FunctionText:
    """The text of `function`, a Python function.

    Raises
    ------
    KernelSyntaxError
        When there is no source (typed at Python's prompt, built by ``exec``), or the source was changed after
        the function was created.
    """
    given = getattr(function, TEXT, None)
    if given is not None:
        return given
    assert isinstance(function, types.FunctionType)
    code = function.__code__
    found = _FOUND.get(id(code))
    if found is None:
        found = _read(function)
        if len(_FOUND) >= _MOST_FOUND:
            _FOUND.clear()
        _FOUND[id(code)] = found
        weakref.finalize(code, _FOUND.pop, id(code), None).atexit = False
    return found


def _read(function: types.FunctionType) -> FunctionText:
    seen: list[list[str]] = []
    for lines in _possible_lines(function):
        if not any(lines is other or lines == other for other in seen):
            seen.append(lines)
            found = _in_lines(function, lines)
            if found is not None:
                return found
    found = _on_the_command_line(function) or _under_a_magic(function)
    if found is not None:
        return found
    raise KernelSyntaxError(_without_source(function, changed=bool(seen)))


def _without_source(function: types.FunctionType, changed: bool) -> Diagnostic:
    """The error about a function whose text is not there, or was `changed`."""
    filename, help = function.__code__.co_filename, "define it in a file or in a notebook cell"
    magic = magic_of(filename)
    message = f"the source of {_called(function)} cannot be found"
    if changed and filename != _NO_FILE:
        message = f"the source of {_called(function)} was changed after its definition"
        help = "define it again: run its cell, or restart Python"
    elif magic is not None:
        message += f": `{magic}` compiles code without keeping its source"
        help = f"define it in a cell of its own, without `{magic}`"
    elif filename.startswith("<"):
        message += ": Python keeps no source for code typed at its prompt or given to `exec`"
    return Diagnostic("syntax", message, help=help)


def _under_a_magic(function: types.FunctionType) -> FunctionText | None:
    """The text of `function` in a notebook cell under ``%%time`` or ``%%timeit``."""
    texts = (
        _in_lines(function, t.lines, t.above, t.file) for t in timed_texts(function.__code__.co_filename)
    )
    return next((text for text in texts if text is not None), None)


def _on_the_command_line(function: types.FunctionType) -> FunctionText | None:
    """The text of `function` in what ``python -c`` was given; before 3.13 Python itself does not keep it."""
    if function.__code__.co_filename != _NO_FILE:
        return None
    texts = (_in_lines(function, text.splitlines(keepends=True)) for text in sys.orig_argv[1:])
    return next((text for text in texts if text is not None), None)


def _called(function: types.FunctionType) -> str:
    code = function.__code__
    if code.co_name != lambdas.NAME:
        return f"`{code.co_name}`"
    return f"the `lambda` of line {code.co_firstlineno} of {display_name(code.co_filename)}"


def _in_lines(
    function: types.FunctionType, lines: list[str], above: int = 0, file: str = ""
) -> FunctionText | None:
    """The text of `function` in `lines`; None when it is not there.

    They are the lines of its file; or those that Python compiled of another `file`, with others `above` them.
    """
    code = function.__code__
    file, first = file or code.co_filename, code.co_firstlineno
    name = display_name(file)
    if code.co_name == lambdas.NAME:
        found = lambdas.find(code, lines)
        found = next((n for n in found if is_code_of(function, n)), None)
        if found is None:
            return None
        text = "".join(lines[found.lineno - 1 : found.end_lineno]).rstrip("\n")
        return FunctionText(Source(name, text, found.lineno + above, file), lambdas.as_def(found), above)
    try:
        block = inspect.getblock(lines[first - 1 :])
        text = parse(Source(name, "".join(block).rstrip("\n"), first + above, file), code.co_name)
    except (SyntaxError, tokenize.TokenError, KernelSyntaxError):
        return None
    if not is_code_of(function, text.node):
        return None
    private_names.spell_out(text.node, code)
    return text


def bring(function: Callable[..., Any], source: Source, node: ast.FunctionDef) -> None:
    """Attaches its source to `function`: `node`, whose lines are those of `source`."""
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
    first = tree.body[0] if tree.body else tree
    line = getattr(first, "lineno", 1) + shift
    span = Span(source, line, 0, line, len(source.line(line)))
    raise KernelSyntaxError(
        Diagnostic(
            "syntax", f"`{name}` is not written as a `def`", span, help="write it as a function with `def`"
        )
    )


def _place_formatted(tree: ast.AST) -> None:
    """Sets the locations inside an f-string to that of the f-string; before 3.12 Python's are wrong."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for inner in ast.walk(node):
                if hasattr(inner, "lineno"):
                    ast.copy_location(inner, node)
