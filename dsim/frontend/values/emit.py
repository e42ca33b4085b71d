"""Scalars in the IR: types of untyped numbers, casts, primitives, and refusals at the current place."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from dsim.diagnostics import Diagnostic, Label, Span
from dsim.diagnostics.places import outside
from dsim.frontend.source.launch_numbers import LaunchNumbers, Weak
from dsim.frontend.source.lowered import LoweringSettings
from dsim.frontend.source.problems import Problems
from dsim.frontend.values.values import Scalar, is_number, is_open
from dsim.ir.build import Builder, const, nearest
from dsim.ir.nodes import Atom, Const, MemoryKey, Statement, Var
from dsim.ir.types import ScalarType, f64, i32, i64, promote, u1, u64

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
    launch_numbers : LaunchNumbers
        The captured numbers that launches pass, and what is computed from them.
    stopped : frozenset of MemoryKey
        The memories whose values are constants to derivatives where they are read now.
    """

    def __init__(self, settings: LoweringSettings, pins: bool = False) -> None:
        self.builder = Builder()
        self.launch_numbers = LaunchNumbers(pins)
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
            case Weak() if s.kind is not int:
                return self.settings.default_fp if s.kind is float else u1
            case Weak():
                t = self._integer_type(s.value)
                self.launch_numbers.limit(s, *limits(t))
                return t
            case _:
                return self.settings.default_fp

    def _integer_type(self, value: int) -> ScalarType:
        for t in (self.settings.default_ip, i64, u64):
            low, high = limits(t)
            if low <= value <= high:
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

    def by_value(self, scalars: Sequence[Scalar]) -> ScalarType:
        """The common type of `scalars`, or i64 where it is unsigned and one of them may be negative.

        No type holds a negative number and all of u64: there it warns.
        """
        t = self.common(scalars)
        if t.kind != "uint" or not any(map(self.may_be_negative, scalars)):
            return t
        if t.bits < 64:
            return i64
        message = "a signed integer meets a u64 here: a negative one becomes a large number"
        self.warn("type-change", message, help="cast both to i64, or to a float")
        return t

    def may_be_negative(self, s: Scalar) -> bool:
        """Whether `s` is a signed integer, and not a number that is known to be at least 0."""
        return s < 0 if isinstance(s, int) else self.type_of(s).kind == "int"

    def float_like(self, t: ScalarType) -> ScalarType:
        """`t` if it is a float, else the default float type."""
        return t if t.is_float else self.settings.default_fp

    # values

    def atom(self, s: Scalar, type: ScalarType | None = None, hint: str = "t") -> Atom:
        """`s` in the IR, as a `type` when given."""
        if isinstance(s, Weak):
            return self._passed(s, type or self.type_of(s), hint)
        if is_number(s):
            return self._constant(s, type or self.type_of(s))  # type: ignore[arg-type]
        assert isinstance(s, Var | Const)
        if type is None or s.type == type:
            return s
        if type == u1:
            return self.let("ne", s, const(0, s.type), hint=hint)
        return self.let("cast", s, type=type, hint=hint)

    def _passed(self, s: Weak, to: ScalarType, hint: str) -> Atom:
        """A number that each launch passes, rounded and wrapped as `const` does with the same number."""
        if to == u1 or (to.is_float and s.kind is not float):
            s = self.computed(bool if to == u1 else nearest, s)
        self.type_of(s)  # an integer of another type is for another compilation
        function, args = self.launch_numbers.made(s)
        if to.is_integer and function in _WRAPPING and all(map(_is_integer, args)):
            return self.let(_WRAPPING[function], *(self.atom(a, to) for a in args), hint=hint)
        return self.let("cast", self.launch_numbers.var(s, self.builder.names), type=to, hint=hint)

    def _constant(self, value: float, to: ScalarType) -> Const:
        """The Python number `value` as a `to`; warns where it becomes infinite."""
        made = const(value, to)
        if to.is_float and math.isinf(made.value) and not (isinstance(value, float) and math.isinf(value)):
            message = f"{shortly(value)} exceeds the range of {to}: it becomes {made.value}"
            self.warn(
                "type-change", message, help="take a wider type, or write `math.inf` if infinity is intended"
            )
        return made

    def whole(self, s: Scalar) -> Atom:
        """`s` in the IR with all its digits; Python's numbers are not rounded to a default type."""
        if isinstance(s, Weak) and s.kind is float:
            return self.atom(s, f64)
        return self.atom(s)

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
        if not is_open(s):
            return self.atom(s, u1)
        holds = s if isinstance(s, Weak) and s.kind is bool else self.computed(bool, s)
        if not isinstance(holds, Weak):
            return holds
        if self.launch_numbers.pins:
            return self.known(holds)
        self.launch_numbers.branched = True
        return self.atom(holds)

    # numbers of open type

    def computed(self, function: Callable[..., Any], *args: Any, sign: str = "") -> Any:
        """``function(*args)`` of numbers of open type, as Python computes it; see `LaunchNumbers`."""
        return self.launch_numbers.computed(function, *args, sign=sign)

    def known(self, s: Any) -> Any:
        """`s`; the value of a number that each launch passes, and another value needs another compilation."""
        return self.launch_numbers.pin(s) if isinstance(s, Weak) else s

    def is_known(self, s: Scalar, sign: Callable[..., bool], other: float) -> bool:
        """Whether `s` is of open type and ``sign(s, other)``, which is decided at compile time."""
        return is_open(s) and bool(self.known(self.computed(sign, s, other)))

    def joins(self, a: Scalar, b: Scalar) -> None:
        """Notes that a branch at run time chooses between `a` and `b`."""
        if is_open(a) or is_open(b) or self.type_of(a) != self.type_of(b):
            self.launch_numbers.mixed = True

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

    def is_truth(self, s: Scalar) -> bool:
        """Whether `s` is true, false, or one of their numbers."""
        value = s.value if isinstance(s, Weak | Const) else s
        return (is_number(value) and value in (0, 1)) or self.type_of(s) == u1

    def unfit(self, s: Scalar, to: ScalarType) -> int | None:
        """`s` as an integer, where it is a Python number that the integer type `to` does not hold."""
        if isinstance(s, Weak) and s.kind is int:
            self.launch_numbers.limit(s, *limits(to))
            s = s.value
        if not is_number(s) or not to.is_integer or to == u1 or not math.isfinite(s):  # type: ignore[arg-type]
            return None
        low, high = limits(to)
        whole = int(s)  # type: ignore[arg-type]
        return None if low <= whole <= high else whole

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
        if is_open(s) or to not in (self.settings.default_fp, self.settings.default_ip):
            return False
        of = self.type_of(s)
        return of.is_float == to.is_float and of.bits > to.bits


# What gives the same when its operands are wrapped before. Left to the kernel, analyses see it in indices.
_WRAPPING = {operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.neg: "neg"}


def _is_integer(s: Scalar) -> bool:
    """Whether `s`, of open type, is an integer that some type holds."""
    value = s.value if isinstance(s, Weak) else s
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 64


def limits(t: ScalarType) -> tuple[int, int]:
    """The least and the greatest number of an integer type."""
    return (-(1 << t.bits - 1), (1 << t.bits - 1) - 1) if t.kind == "int" else (0, (1 << t.bits) - 1)


def shortly(value: float) -> str:
    """A number for messages."""
    if isinstance(value, int) and abs(value) >= 10**30:
        return f"this integer of {value.bit_length()} bits"
    return str(value)
