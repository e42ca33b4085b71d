"""Scalars in the IR: types of untyped numbers, casts, primitives, and refusals at the current place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from dsim.diagnostics import Diagnostic, Label, Span
from dsim.diagnostics.places import outside
from dsim.frontend.source.lowered import LoweringSettings
from dsim.frontend.source.problems import Problems
from dsim.frontend.values.values import Scalar, Weak, is_number
from dsim.ir.build import Builder, const
from dsim.ir.nodes import Atom, Const, MemoryKey, Statement, Var
from dsim.ir.types import ScalarType, i32, i64, promote, u1, u64

DEEPEST = 200  # nesting: derivatives and machine code walk through it by recursion
_SHALLOWER = "halve a long chain, `if n < 100: … else: …`, or look the values up in a field"


class Emitter:
    """Appends scalar operations to a kernel; knows the default types.

    Attributes
    ----------
    builder : Builder
        Where statements go; its origin says which expression is being lowered.
    settings : LoweringSettings
        The default types.
    problems : Problems
        Where refusals go.
    stopped : frozenset of MemoryKey
        The memories whose values are constants to derivatives where they are read now.
    """

    def __init__(self, settings: LoweringSettings) -> None:
        self.builder = Builder()
        self.settings = settings
        self.problems = Problems()
        self.stopped: frozenset[MemoryKey] = frozenset()

    @contextmanager
    def block(self, statements: list[Statement]) -> Iterator[None]:
        """Within it, statements go to `statements`, the block of a branch or a loop."""
        if self.builder.depth >= DEEPEST:
            self.refuse("limit", f"branches and loops are nested more than {DEEPEST} deep", help=_SHALLOWER)
        stopped = self.stopped
        try:
            with self.builder.block(statements):
                yield
        finally:
            self.stopped = stopped

    # refusals

    def refuse(
        self,
        code: str,
        message: str,
        here: str = "",
        *,
        help: str = "",
        span: Span | None = None,
        labels: tuple[Label, ...] = (),
    ) -> NoReturn:
        """Notes an error, by default at the expression being lowered, and leaves the statement."""
        origin = self.builder.origin
        place, calls = outside(span or origin.span, origin.inlined)
        called = tuple(Label(s, "called here") for s in calls)
        self.problems.refuse(code, message, place, here, help=help, labels=labels or called)

    def warn(
        self, code: str, message: str, here: str = "", *, help: str = "", span: Span | None = None
    ) -> None:
        """Notes a warning, by default at the expression being lowered."""
        place, _ = outside(span or self.builder.origin.span, self.builder.origin.inlined)
        self.problems.note(Diagnostic(code, message, place, here, (), help))

    # types

    def type_of(self, s: Scalar) -> ScalarType:
        """The type of `s`; for an untyped number its default type."""
        match s:
            case Var(type=t) | Const(type=t):
                return t
            case bool():
                return u1
            case int():
                return self._integer_type(s)
            case Weak(kind=kind):
                return self.settings.default_ip if kind is int else self.settings.default_fp
            case _:
                return self.settings.default_fp

    def _integer_type(self, value: int) -> ScalarType:
        for t in (self.settings.default_ip, i64, u64):
            low, high = (-(1 << t.bits - 1), 1 << t.bits - 1) if t.kind == "int" else (0, 1 << t.bits)
            if low <= value < high:
                return t
        self.refuse(
            "type", f"{shortly(value)} is too large for an integer of 64 bits", help="write it as a float"
        )

    def common(self, scalars: Iterable[Scalar]) -> ScalarType:
        """The type in which an operation on all of `scalars` is done; truth values alone stay u1."""
        types = [self.type_of(s) for s in scalars]
        if all(t == u1 for t in types):
            return u1
        result = types[0]
        for t in types[1:]:
            result = promote(result, t)
        return promote(result, result)

    def float_like(self, t: ScalarType) -> ScalarType:
        """`t` if it is a float, else the default float type."""
        return t if t.is_float else self.settings.default_fp

    # values

    def atom(self, s: Scalar, type: ScalarType | None = None, hint: str = "t") -> Atom:
        """`s` in the IR, as a `type` when given."""
        if isinstance(s, Weak):
            return self.let("cast", s.var, type=type or self.type_of(s), hint=hint)
        if is_number(s):
            return self._constant(s, type or self.type_of(s))  # type: ignore[arg-type]
        assert isinstance(s, Var | Const)
        if type is None or s.type == type:
            return s
        if type == u1:
            return self.let("ne", s, const(0, s.type), hint=hint)
        return self.let("cast", s, type=type, hint=hint)

    def _constant(self, value: float, to: ScalarType) -> Const:
        """The Python number `value` as a `to`; warns where it becomes infinite."""
        made = const(value, to)
        if to.is_float and math.isinf(made.value) and not (isinstance(value, float) and math.isinf(value)):
            message = f"{shortly(value)} exceeds the range of {to}: it becomes {made.value}"
            self.warn(
                "type-change", message, help="take a wider type, or write `math.inf` if infinity is intended"
            )
        return made

    def number(self, s: Scalar, type: ScalarType | None = None) -> Atom:
        """`s` in the IR as a number: truth values become i32."""
        t = type or self.type_of(s)
        return self.atom(s, i32 if t == u1 else t)

    def floating(self, *scalars: Scalar) -> list[Atom]:
        """All of `scalars` in the float type that they share."""
        t = self.float_like(self.common(scalars))
        return [self.atom(s, t) for s in scalars]

    def truth(self, s: Scalar) -> Atom | bool:
        """Whether `s` is not 0."""
        return (
            bool(s)
            if is_number(s)
            else self.atom(s, u1)
            if not isinstance(s, Weak)
            else self.truth(self.atom(s))
        )

    def let(self, op: str, *args: Atom, type: ScalarType | None = None, hint: str = "t") -> Atom:
        """Primitive `op` of `args`."""
        return self.builder.let(op, *args, type=type, hint=hint)

    def rounds(self, s: Scalar, to: ScalarType) -> bool:
        """Whether converting `s` to `to` may lose its fraction."""
        if not to.is_integer or isinstance(s, int) or (isinstance(s, float) and s.is_integer()):
            return False
        if isinstance(s, Const):
            return s.type.is_float and s.value != int(s.value)
        return self.type_of(s).is_float

    def unfit(self, s: Scalar, to: ScalarType) -> int | None:
        """`s` as an integer, where it is a Python number that the integer type `to` does not hold."""
        if not is_number(s) or not to.is_integer or to == u1 or not math.isfinite(s):  # type: ignore[arg-type]
            return None
        low, high = (-(1 << to.bits - 1), 1 << to.bits - 1) if to.kind == "int" else (0, 1 << to.bits)
        whole = int(s)  # type: ignore[arg-type]
        return None if low <= whole < high else whole

    def warn_unfit(self, s: Scalar, to: ScalarType, name: str) -> None:
        """Warns where converting the Python number `s` to `to` changes its value."""
        value = self.unfit(s, to)
        if value is not None:
            message = f"{value} does not fit into {name} of type {to}: it becomes {const(value, to).value}"
            self.warn(
                "type-change", message, help=f"use a wider type, or write `ds.{to}(…)` if this is intended"
            )

    def narrows(self, s: Scalar, to: ScalarType) -> bool:
        """Whether `s` is of a wider type than the default one `to`, which literals have, and loses digits."""
        if is_number(s) or to not in (self.settings.default_fp, self.settings.default_ip):
            return False
        of = self.type_of(s)
        return of.is_float == to.is_float and of.bits > to.bits


def shortly(value: float) -> str:
    """A number for messages."""
    if isinstance(value, int) and abs(value) >= 10**30:
        return f"this integer of {value.bit_length()} bits"
    return str(value)
