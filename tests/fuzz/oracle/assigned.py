"""The values that each line of a program assigns, and their adjoints, by the plain interpreter.

Each number that a line assigns gets a direction of its own, at each of the times that it is assigned: the
loss's derivative along it is that number's adjoint. Nothing of dsim takes part.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tests.fuzz.drawing.program import Program
from tests.fuzz.oracle import plain
from tests.fuzz.oracle.numbers import Dual, dual
from tests.fuzz.oracle.vectors import Array

CHUNK = 400  # directions at a time
MOST = 4000  # numbers that a program may assign

Place = tuple[int, int]  # line and column in the program's text


@dataclass(frozen=True)
class Assigned:
    """What one line assigned once.

    Attributes
    ----------
    kernel : str
        The kernel that was launched.
    place : tuple of int
        Line and column of what was assigned to.
    at : tuple of int
        The iteration of the outermost loop; empty outside of loops.
    values, adjoints : ndarray
        The numbers, entry by entry; the loss's derivative by each of them. There are none by integers.
    tangents : ndarray
        The derivatives of each number by all inputs.
    """

    kernel: str
    place: Place
    at: tuple[int, ...]
    values: np.ndarray
    adjoints: np.ndarray | None
    tangents: np.ndarray | None


@dataclass
class Recorder:
    """Notes what is assigned in one run.

    The numbers from `first` on get directions, `count` of them; `step` is added to the number `disturbed`.
    """

    first: int = 0
    count: int = 0
    disturbed: int = -1
    step: float = 0.0
    numbers: int = 0
    kernel: str = ""
    loop: int | None = None
    at: tuple[int, ...] = ()
    noted: list[tuple[str, Place, tuple[int, ...], list]] = field(default_factory=list)

    def launched(self, function: Callable[..., None]) -> Callable[..., None]:
        """A kernel that says so when it is launched."""

        def launch(*args) -> None:
            self.kernel = function.__name__
            function(*args)

        return launch

    def trip(self, loop: int, *at) -> None:
        """A trip of a loop begins; the outermost one counts. A `while` has no index."""
        if self.loop in (None, loop):
            index = at[0] if at and isinstance(at[0], tuple) else at
            self.loop, self.at = loop, tuple(map(int, index))

    def left(self, loop: int) -> None:
        """A loop has ended."""
        if self.loop == loop:
            self.loop, self.at = None, ()

    def shown(self, line: int, column: int, value, base=None):
        """`value`, as what the line assigns, or adds, to an entry of `base` or to a local."""
        if isinstance(base, plain.Field):
            value = base.kept(value)
        elif base is not None:
            value = dual(value)
        parts = value.entries if isinstance(value, Array) else [value]
        parts = [self._directed(p) for p in parts]
        self.noted.append((self.kernel, (line, column), self.at, parts))
        return Array(parts, value.shape) if isinstance(value, Array) else parts[0]

    def _directed(self, number):
        if not isinstance(number, Dual):
            return number
        if self.numbers == self.disturbed:
            number = Dual(number.v + self.step, number.d)
        n, self.numbers = self.numbers - self.first, self.numbers + 1
        if not 0 <= n < self.count:
            return number
        direction = np.zeros(self.count)
        direction[n] = 1.0
        return Dual(number.v, number.d + direction)

    def functions(self) -> dict:
        """The names that a rewritten text uses."""
        ti = type(plain.TI)(**{**vars(plain.TI), "kernel": self.launched})
        return {"ti": ti, "_trip": self.trip, "_left": self.left, "_shown": self.shown}


class Rewriting(plain.Rewriting):
    """Makes each assignment tell of itself, and each loop of its trips."""

    def __init__(self, recorder: Recorder) -> None:
        self.loops = itertools.count()
        self.names, self.directions = recorder.functions(), recorder.count

    def visit_Module(self, node: ast.Module):
        node.body = [self._function(s) if isinstance(s, ast.FunctionDef) else s for s in node.body]
        return node

    def _function(self, s: ast.FunctionDef):
        """Kernels and funcs tell, `run` does not."""
        return (self if s.decorator_list else plain.Rewriting()).visit(s)

    def visit_Assign(self, node: ast.Assign):
        (target,) = node.targets
        super().visit_Assign(node)
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Call):
            (pair,) = node.value.args
            assert isinstance(pair, ast.Tuple)
            node.value = ast.Tuple(
                [_shown(t, t, plain.call("_value", v)) for t, v in zip(target.elts, pair.elts, strict=True)],
                ast.Load(),
            )
        else:
            node.value = _shown(target, target, node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        target = node.target
        if isinstance(target, ast.Subscript) and isinstance(node.op, ast.Add | ast.Sub) and _in_field(target):
            # what comes in is shown
            self.generic_visit(node)
            value = node.value if isinstance(node.op, ast.Add) else ast.UnaryOp(ast.USub(), node.value)
            return ast.Expr(self.update(target, "Add", _shown(target, target, value)))
        read = ast.parse(ast.unparse(target), mode="eval").body
        made = ast.Assign([target], ast.BinOp(read, node.op, node.value))
        return self.visit_Assign(ast.copy_location(made, node))

    def visit_Call(self, node: ast.Call):
        if not (isinstance(node.func, ast.Attribute) and node.func.attr.startswith("atomic_")):
            return super().visit_Call(node)
        self.generic_visit(node)
        target = node.args[0]
        assert isinstance(target, ast.Subscript)
        return self.update(target, node.func.attr, _shown(node, target, node.args[1]))

    def visit_For(self, node: ast.For):
        self.generic_visit(node)
        if isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "ti.static":
            return node
        return self._told(node, ast.parse(ast.unparse(node.target), mode="eval").body)

    def visit_While(self, node: ast.While):
        self.generic_visit(node)
        return self._told(node)

    def _told(self, node: ast.For | ast.While, *indices: ast.expr) -> ast.Try:
        number = ast.Constant(next(self.loops))
        node.body.insert(0, ast.Expr(plain.call("_trip", number, *indices)))
        return ast.Try([node], [], [], [ast.Expr(plain.call("_left", number))])


def _shown(place: ast.expr, target: ast.expr, value: ast.expr) -> ast.Call:
    at = [ast.Constant(place.lineno), ast.Constant(place.col_offset)]
    return plain.call("_shown", *at, value, *([target.value] if isinstance(target, ast.Subscript) else []))


def _in_field(target: ast.Subscript) -> bool:
    """Whether this is an element of a field, or an entry of one; else it is an entry of a local."""
    base = ast.unparse(target.value)
    return not re.fullmatch(r"[pq]\d*", base)


def places(text: str) -> list[Place]:
    """Where the program `text` assigns, in an order that is the same when names change."""
    tree = Rewriting(Recorder()).visit(ast.parse(text))
    calls = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "_shown")
    return [ast.literal_eval(ast.Tuple(call.args[:2], ast.Load())) for call in calls]


def assigned(program: Program) -> list[Assigned] | None:
    """All that the lines of `program` assign, in order; None when it is too much."""
    inputs = sum(program.start[name].size for name in program.inputs)
    first = Recorder()
    recorded(program, program.inputs, first)
    if first.numbers > MOST:
        return None
    adjoints = []
    for n in range(0, first.numbers, CHUNK):
        some = Recorder(n, min(CHUNK, first.numbers - n))
        adjoints.append(recorded(program, (), some).tangents["loss"])
    row, begin, found = np.concatenate([*adjoints, np.zeros(0)]), 0, []
    for kernel, place, at, parts in first.noted:
        if not isinstance(parts[0], Dual):
            found.append(Assigned(kernel, place, at, np.array(parts, np.int64), None, None))
            continue
        values = np.array([p.v for p in parts])
        tangents = np.array([np.broadcast_to(p.d, inputs) for p in parts])
        end = begin + len(parts)
        found.append(Assigned(kernel, place, at, values, row[begin:end], tangents))
        begin = end
    return found


def recorded(program: Program, inputs: tuple[str, ...], recorder: Recorder) -> plain.Result:
    """What the program gives; the loss's last derivatives are those along the directions."""
    return plain.run(program.text, program.start, inputs, Rewriting(recorder))
