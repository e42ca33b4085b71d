"""The text of a `%%kernel` cell, and the Python functions that it makes.

Lines are those of the cell, with the `%%kernel` line, and columns those of its text: syntax trees are made
such that nothing has to be shifted. `request.py` uses the functions.
"""

from __future__ import annotations

import ast
import linecache
import re
import textwrap
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from IPython.core.compilerop import PyCF_MASK
from IPython.core.error import UsageError

from dsim.diagnostics import Diagnostic, KernelSyntaxError, Source, Span
from dsim.diagnostics.places import display_name
from dsim.frontend.source import lambdas
from dsim.frontend.source.source import bring
from dsim.notebook.cell.nesting import room
from dsim.notebook.cell.options import Header, header
from dsim.notebook.cell.raw_text import MAGIC, raw_text, with_newlines

_NO_PYTHON = "Python cannot parse this: check here, and directly before it"
_DEFINITIONS = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell.

    Attributes
    ----------
    source : Source
        Its whole text, as the editor shows it, without a newline at the end.
    first : int
        The line of `%%kernel`: 1, unless empty lines or another cell magic stand before it.
    margin : int
        The columns by which all lines from there on are indented.
    filename : str
        What Python calls it in tracebacks.
    body : str
        What stands below the `%%kernel` line, without the margin.
    """

    source: Source
    first: int
    margin: int
    filename: str
    body: str

    @property
    def line(self) -> str:
        """The `%%kernel` line."""
        return self.source.line(self.first)

    @property
    def padded(self) -> str:
        """The body, with its lines at their numbers in the cell, but without the margin."""
        return "\n" * self.first + self.body

    # -- as the subject of a report (`report/subject.py`)

    @property
    def kind(self) -> str:
        """That of the report."""
        return "kernel"

    @property
    def noun(self) -> str:
        """What messages call it."""
        return "cell"

    @property
    def parts(self) -> tuple[tuple[int, int], ...]:
        """Its lines."""
        return ((1, len(self.source.lines)),)

    @property
    def place(self) -> Span:
        """The `%%kernel` line."""
        return self.whole_line(self.first)

    @property
    def tree(self) -> ast.AST:
        """Its syntax tree."""
        return indented(ast.parse(self.padded), self.margin)

    def span(self, node: ast.AST) -> Span:
        """The span of a node of `tree`."""
        return place(self, node)

    def spelt(self, option: str, value: str = "") -> str:
        """An option as it stands in the `%%kernel` line."""
        return f"--{option} {value}".rstrip()

    def option(self, option: str, name: str) -> Span:
        """Where `name` stands in the values of `option`."""
        start = self.line.index(f"--{option}")
        found = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])").search(self.line, start)
        if found is None:  # it is written in quotes
            return self.place
        return Span(self.source, self.first, found.start(), self.first, found.end())

    def refusal(self, told: str) -> Exception:
        """The error about an option, in one line."""
        return UsageError(told)

    def launched(self, act: Callable[[], Any]) -> Any:
        """What `act` gives: errors of launches point to the `%%kernel` line."""
        return from_cell(self, act)

    def plotted(self, kernel: str) -> str:
        """How to draw the comparison with differences."""
        return f"`%check {kernel} --plot`"

    def whole_line(self, line: int) -> Span:
        """The text of a line, as a place."""
        text = self.source.line(line)
        start = len(text) - len(text.lstrip())
        return Span(self.source, line, min(start, len(text.rstrip())), line, len(text.rstrip()))


def cell_of(shell: Any, line: str, body: str) -> Cell:
    """The cell that runs, from what IPython gives a magic: `line` behind the name, and the rest."""
    raw = raw_text(shell, line, body)
    text, body = raw.text.rstrip("\n"), with_newlines(body).rstrip("\n")
    filename = shell.compile.cache(text, raw.number, raw_code=raw.text)
    source = Source(display_name(filename), text, file=filename)
    return Cell(source, raw.first, len(raw.margin), filename, body)


def header_of(cell: Cell) -> Header:
    """The parts of the cell's `%%kernel` line."""
    return header(cell.line, cell.margin + len(MAGIC))


def read_at_once(cell: Cell) -> Iterator[str]:
    """The names, and paths like ``cfg.dt``, that the cell itself reads when it runs, outside its functions.

    That is in parameters' defaults and annotations, and on the right of assignments.
    """
    head = header_of(cell)
    text = cell.body if head.name is None else f"def {head.name}{head.signature}: pass"
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            yield from _paths(node.args)
            yield from () if node.returns is None else _paths(node.returns)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            yield from _paths(node)


def _paths(node: ast.AST) -> Iterator[str]:
    """The names that are read in `node`, each with its attributes."""
    names, at = [], node
    while isinstance(at, ast.Attribute):
        names.append(at.attr)
        at = at.value
    if isinstance(at, ast.Name):
        if isinstance(at.ctx, ast.Load):
            yield ".".join([at.id, *reversed(names)])
        return
    for inner in ast.iter_child_nodes(at):
        yield from _paths(inner)


# ------------------------------------------------------------------ the functions


def body_function(cell: Cell, head: Header, shell: Any) -> types.FunctionType:
    """The function whose body the cell is.

    Raises
    ------
    KernelSyntaxError
        When the cell is not valid Python.
    """
    assert head.name is not None
    tree = parsed(cell, cell.padded, shell, cell.margin)
    if not tree.body:
        raise KernelSyntaxError(
            Diagnostic("syntax", "the kernel has no statements", cell.whole_line(cell.first))
        )
    node = _definition(cell, head, shell)
    node.body = tree.body
    namespace: dict[str, Any] = {}
    run(cell, ast.Module([node], []), shell, namespace)
    function = namespace[head.name]
    _write_out(cell, head, function)
    bring(function, cell.source, node)
    return function


def _write_out(cell: Cell, head: Header, function: types.FunctionType) -> None:
    """Lets `inspect` find the text of `function` as a ``def``; of a cell it finds the first line only."""
    text = f"def {head.name}{head.signature.rstrip()}:  # {cell.line}\n{textwrap.indent(cell.body, '    ')}\n"
    filename = f"{cell.filename} {head.name}"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    function.__code__ = function.__code__.replace(co_filename=filename, co_firstlineno=1)


def _definition(cell: Cell, head: Header, shell: Any) -> ast.FunctionDef:
    """``def`` with the signature of the `%%kernel` line, where it stands there."""
    assert head.name is not None
    text = f"{'def':<{head.column}}{head.name}{head.signature}: pass"
    tree = parsed(cell, "\n" * (cell.first - 1) + text, shell)
    node = tree.body[0]
    assert isinstance(node, ast.FunctionDef)
    node.col_offset = head.column
    node.end_lineno, node.end_col_offset = cell.first, len(cell.line.encode())
    behind = cell.line[head.column + len(head.name) :]
    if node.returns is not None and not behind.lstrip().startswith("("):
        for part in ast.walk(node.returns):  # the line has no parentheses before it
            if isinstance(part, ast.expr) and part.end_col_offset is not None:
                part.col_offset -= len("()")
                part.end_col_offset -= len("()")
    return node


def definitions(cell: Cell, shell: Any) -> tuple[ast.Module, list[str], list[str]]:
    """The tree of a cell of functions, the names that it gives, and those of its undecorated functions.

    Raises
    ------
    KernelSyntaxError
        When it is not valid Python, or has statements other than definitions.
    """
    tree = parsed(cell, cell.padded, shell, cell.margin)
    wrong = [node for node in tree.body if not _defines(node)]
    if wrong:
        raise KernelSyntaxError(*(Diagnostic(*_outside(cell, node)) for node in wrong[:1]))
    plain = [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and not n.decorator_list]
    return tree, [name for node in tree.body for name in _bound(node)], plain


def _outside(cell: Cell, node: ast.stmt) -> tuple[Any, ...]:
    advice = "name the kernel whose body this is, as in `%%kernel step`, or move this to a separate cell"
    return (
        "syntax",
        "a `%%kernel` cell without a name contains functions",
        place(cell, node),
        "no function",
        (),
        advice,
    )


def _defines(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        return all(isinstance(t, ast.Name) for t in node.targets)
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name)
    return isinstance(node, _DEFINITIONS) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _bound(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (a.asname or a.name.split(".")[0] for a in names)
        case ast.Assign(targets=targets):
            yield from (t.id for t in targets if isinstance(t, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def parsed(cell: Cell, text: str, shell: Any, margin: int = 0) -> ast.Module:
    """The syntax tree of `text`, whose lines are the cell's without `margin`; an error as a diagnostic."""
    try:
        # The notebook's `from __future__` applies; incomplete input is an error here.
        flags = shell.compile.flags & PyCF_MASK | ast.PyCF_ONLY_AST
        with room(cell.source, cell.first):
            tree = compile(text + "\n", cell.filename, "exec", flags, dont_inherit=True)
        return indented(tree, margin)
    except SyntaxError as error:
        raise _syntax(cell, error, margin) from None
    except ValueError as error:  # null characters
        raise KernelSyntaxError(Diagnostic("syntax", str(error), cell.whole_line(cell.first))) from None


def indented(tree: ast.Module, margin: int) -> ast.Module:
    """`tree`, with its columns moved to the right by `margin`."""
    for node in ast.walk(tree) if margin else ():
        if isinstance(node, ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias | ast.excepthandler):
            node.col_offset += margin
            if node.end_col_offset is not None:
                node.end_col_offset += margin
    return tree


def run(cell: Cell, tree: ast.Module, shell: Any, namespace: dict[str, Any] | None = None) -> None:
    """Runs definitions in the notebook's namespace; what they define goes to `namespace` if it is given."""
    try:
        with room(cell.source, cell.first, tree):
            code = shell.compile(ast.fix_missing_locations(tree), cell.filename, "exec")
    except SyntaxError as error:  # a misplaced `return`, a name that is global and local
        raise _syntax(cell, error) from None
    lambdas.bring(cell.filename, tree)
    exec(code, shell.user_ns, shell.user_ns if namespace is None else namespace)


def _syntax(cell: Cell, error: SyntaxError, margin: int = 0) -> KernelSyntaxError:
    line = min(error.lineno or cell.first, len(cell.source.lines))
    text = cell.source.line(line)
    start = min(max((error.offset or 1) - 1, 0) + margin, len(text))
    end = error.end_offset - 1 + margin if error.end_offset and error.end_lineno == line else start + 1
    span = Span(cell.source, line, start, line, max(end, start + 1))
    return KernelSyntaxError(
        Diagnostic(
            "syntax",
            error.msg,
            span,
            help=_NO_PYTHON,
        )
    )


def place(cell: Cell, node: ast.AST) -> Span:
    """The span of `node` in the cell."""
    line, end_line = node.lineno, node.end_lineno or node.lineno  # type: ignore[attr-defined]
    start = _column(cell, line, node.col_offset)  # type: ignore[attr-defined]
    return Span(cell.source, line, start, end_line, _column(cell, end_line, node.end_col_offset or 0))  # type: ignore[attr-defined]


def _column(cell: Cell, line: int, offset: int) -> int:
    """A column in characters, from one in UTF-8 bytes."""
    return len(cell.source.line(line).encode()[:offset].decode(errors="replace"))


def from_cell(cell: Cell, act: Callable[[], Any]) -> Any:
    """What `act` gives, called by the cell's `%%kernel` line: it is what errors of launches point to."""
    code = compile("\n" * (cell.first - 1) + "result = act()", cell.filename, "exec")
    namespace: dict[str, Any] = {"act": act, "__name__": "__main__"}
    exec(code, namespace)
    return namespace["result"]
