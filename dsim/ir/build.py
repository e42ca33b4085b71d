"""Builds kernels: fresh names, statements appended to blocks, and the simplest identities.

Only rewrites that never change a result are done here (``x + 0``, ``x * 1``, constants): everything
that looks at more than one statement is a pass.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

import numpy as np

from dsim.ir import arithmetic
from dsim.ir.nodes import NOWHERE, Atom, Block, Const, For, Let, Load, Memory, Origin, Statement, Store, Var
from dsim.ir.primitive import host
from dsim.ir.primitives import TABLE
from dsim.ir.term import Term
from dsim.ir.types import ScalarType, i32, u1


class Names:
    """Generates names that are unique in one kernel: ``r``, ``r_1``, ``r_2``."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._next: dict[str, int] = dict.fromkeys(taken, 1)

    def fresh(self, hint: str) -> str:
        """`hint` itself if it is free, else with a number appended."""
        if hint not in self._next:
            self._next[hint] = 1
            return hint
        n = self._next[hint]
        while f"{hint}_{n}" in self._next:
            n += 1
        self._next[hint] = n + 1
        self._next[f"{hint}_{n}"] = 1
        return f"{hint}_{n}"


class Builder:
    """Appends statements to the block that is open; blocks nest by `block()`.

    Attributes
    ----------
    names : Names
        Where new names come from; builders of one kernel share it.
    origin : Origin
        Given to every statement that `let` makes.
    """

    def __init__(self, names: Names | None = None) -> None:
        self.names = names if names is not None else Names()
        self.origin: Origin = NOWHERE
        self._open: list[list[Statement]] = [[]]

    @property
    def depth(self) -> int:
        """How many nested blocks are open."""
        return len(self._open)

    @contextmanager
    def block(self, statements: list[Statement] | None = None) -> Generator[list[Statement], None, None]:
        """Opens an inner block: statements are appended to the list given until the ``with`` ends.

        `statements`, when given, is the list of an earlier block, to be continued.
        """
        statements = [] if statements is None else statements
        self._open.append(statements)
        try:
            yield statements
        finally:
            self._open.pop()

    @contextmanager
    def at(self, origin: Origin) -> Generator[None, None, None]:
        """Statements made inside have this origin."""
        before, self.origin = self.origin, origin
        try:
            yield
        finally:
            self.origin = before

    def add(self, statement: Statement) -> None:
        """Appends `statement` to the open block."""
        self._open[-1].append(statement)

    def close(self, yields: tuple[Atom, ...] = ()) -> Block:
        """The finished outermost block; the builder starts a new one."""
        statements, self._open[-1] = self._open[-1], []
        return Block(tuple(statements), yields)

    def fresh(self, hint: str, type: ScalarType) -> Var:
        """A new variable; a dot in `hint`, as in ``p.pos``, becomes an underscore."""
        return Var(self.names.fresh(hint.replace(".", "_")), type)

    def let(self, op: str, *args: Atom, type: ScalarType | None = None, hint: str = "t") -> Atom:
        """The value of primitive `op` of `args`; no statement where it equals a constant or an argument."""
        result = TABLE[op].result_type(tuple(a.type for a in args), type)
        known = simplify(op, args, result)
        if known is not None:
            return known
        var = self.fresh(hint, result)
        self.add(Let(var, op, args, self.origin))
        return var

    def copy_elements(
        self,
        source: Memory,
        source_at: tuple[Atom, ...],
        target: Memory,
        target_at: tuple[Atom, ...],
        shape: Sequence[Atom],
    ) -> None:
        """Appends ``target[*target_at, *i] = source[*source_at, *i]`` for every index `i` of `shape`."""
        if not shape:
            value = self.fresh(source.name, source.type)
            self.add(Load(value, source, source_at, self.origin))
            self.add(Store(target, target_at, value, self.origin))
            return
        i = self.fresh("entry", shape[0].type)
        with self.block() as inner:
            self.copy_elements(source, (*source_at, i), target, (*target_at, i), shape[1:])
        self.add(For(i, const(0, i.type), shape[0], 1, Block(tuple(inner)), origin=self.origin))

    def term(self, atom: Atom) -> Term:
        """`atom` as a `Term`: its operators append to this builder."""
        return Term(self, atom)


def const(value: float, type: ScalarType) -> Const:
    """The number `value` as a constant of `type`: rounded and wrapped as by a cast."""
    with np.errstate(all="ignore"):
        if isinstance(value, int) and not isinstance(value, bool) and type.is_integer:
            wrapped = value & (1 << type.bits) - 1
            signed = type.kind == "int" and wrapped >> (type.bits - 1)
            return Const(wrapped - (1 << type.bits) if signed else wrapped, type)
        if type.kind == "bool":
            return Const(bool(value), type)
        if type.is_float:
            return Const(float(type.numpy.type(nearest(value))), type)
        return Const(int(arithmetic.cast(np.float64(value), type.name)), type)


def nearest(value: float) -> float:
    """The f64 nearest to `value`; infinity for an integer that exceeds every f64."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value > 0 or -1)


def scalar(c: Const) -> np.generic:
    """The constant as a NumPy scalar of its type."""
    return c.type.numpy.type(c.value)


def evaluate(op: str, args: tuple[Const, ...], result: ScalarType) -> Const:
    """Primitive `op` of constants, evaluated by its Python text in the table."""
    function = host(TABLE[op].python, len(args), result.name)
    with np.errstate(all="ignore"):
        value = function(*map(scalar, args))
        return Const(np.asarray(value).astype(result.numpy).item(), result)


def simplify(op: str, args: tuple[Atom, ...], result: ScalarType) -> Atom | None:
    """The atom that ``op(*args)`` is known to equal, or None; the sign of a zero may change."""
    if TABLE[op].kept:
        return None
    if op == "cast" and args[0].type == result:
        return args[0]
    if all(isinstance(a, Const) for a in args):
        return evaluate(op, args, result)  # type: ignore[arg-type]
    if op == "select":
        return _simplify_select(args)
    if len(args) == 2:
        return _simplify_binary(op, args[0], args[1])
    return None


def _simplify_select(args: tuple[Atom, ...]) -> Atom | None:
    cond, yes, no = args
    if isinstance(cond, Const):
        return yes if cond.value else no
    return yes if yes == no else None


def _is(a: Atom, value: float) -> bool:
    return isinstance(a, Const) and a.value == value and a.type != u1


def _simplify_binary(op: str, a: Atom, b: Atom) -> Atom | None:  # noqa: PLR0911 (a table)
    match op:
        case "add" if _is(a, 0):
            return b
        case "add" | "sub" | "shl" | "shr" if _is(b, 0):
            return a
        case "mul" | "mul_strong" if _is(b, 1):
            return a
        case "mul" | "mul_strong" if _is(a, 1):
            return b
        case "mul" if a.type.is_integer and (_is(a, 0) or _is(b, 0)):
            return const(0, a.type)
        case "mul_strong" if _is(b, 0):
            return b
        case "div" | "div_strong" | "powi" if _is(b, 1):
            return a
        case "floordiv" if _is(b, 1) and a.type.is_integer:
            return a
        case "band" | "bor" if a.type == u1:
            return _simplify_truth(op, a, b)
        case _:
            return None


def _simplify_truth(op: str, a: Atom, b: Atom) -> Atom | None:
    for known, other in ((a, b), (b, a)):
        if isinstance(known, Const):
            decides = known.value == (op == "bor")
            return known if decides else other
    return a if a == b else None


TRUE = Const(True, u1)
FALSE = Const(False, u1)


def index(value: int) -> Const:
    """The i32 constant `value`, the usual type of an index."""
    return Const(value, i32)
