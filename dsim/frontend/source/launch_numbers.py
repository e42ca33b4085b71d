"""Captured numbers that each launch passes to the kernel, and what Python computes from them.

A captured number that has changed becomes a parameter. As a literal does, it takes the type of what it
meets, and arithmetic among such numbers and literals is Python's: each launch does it, with the very
functions that the frontend applies to constants, so that the kernel gets the same bits as if they were
compiled in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dsim.ir.build import Names
from dsim.ir.nodes import Var
from dsim.ir.types import ScalarType, f64, i64, u1, u64
from dsim.records import record

_NAMED = 3  # of the captured numbers in one, those that its parameter is named after
_FAILURES = (ArithmeticError, TypeError, ValueError)  # of arithmetic: the compilation then says what is wrong


@record
class Weak:
    """A number that a launch passes: it takes the type of what it meets, as a literal does.

    Attributes
    ----------
    place : int
        Its position in `LaunchNumbers`.
    value : int, float or bool
        What it is while the kernel is compiled; later launches may pass another one of this Python type.
    """

    place: int
    value: Any = field(compare=False)

    @property
    def kind(self) -> type:
        """int, float or bool."""
        return type(self.value)


@dataclass(slots=True)
class _Number:
    """One of them: `function` of `args` computes it; of a captured number it reads it, without arguments."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    value: Any
    names: tuple[str, ...]  # of the captured numbers in it
    sign: str = ""
    limits: tuple[int, int] | None = None
    pinned: bool = False
    var: Var | None = None


class LaunchNumbers:
    """The numbers of one kernel.

    Each launch computes all of them, and the kernel is compiled again where one is not of its Python type
    any more, outside its `limits`, or `pinned` and changed.

    Attributes
    ----------
    branched : bool
        Whether the kernel branches on the truth of one when it runs.
    mixed : bool
        Whether two branches give values of different types: a constant would have the type of one of them.
    pins : bool
        Whether truth values are pinned instead of branched on.
    """

    def __init__(self, pins: bool = False) -> None:
        self.branched = self.mixed = False
        self.pins = pins
        self._numbers: list[_Number] = []
        self._places: dict[object, int] = {}
        self._now: Callable[[], tuple[Any, ...] | None] | None = None

    def captured(self, name: str, value: Any, read: Callable[[], Any]) -> Weak:
        """The captured number `name`, which `read` returns."""
        label = re.sub(r"\W+", "_", name.rsplit(".", maxsplit=1)[-1]).strip("_")
        return self._weak(name, _Number(read, (), value, (label,)))

    def computed(self, function: Callable[..., Any], *args: Any, sign: str = "") -> Any:
        """``function(*args)`` of numbers and `Weak` ones, a pure function: a number, or a `Weak` one.

        It may raise, as the function does. A `sign` is an operator of Python's that does the same, and whose
        result has a type that only depends on those of its operands.
        """
        value = function(*(a.value if isinstance(a, Weak) else a for a in args))
        weak = [a for a in args if isinstance(a, Weak)]
        if not weak:
            return value
        names = dict.fromkeys(name for a in weak for name in self._numbers[a.place].names)
        key = (function, *(a if isinstance(a, Weak) else (type(a), repr(a)) for a in args))
        return self._weak(key, _Number(function, args, value, tuple(names), sign))

    def _weak(self, key: object, number: _Number) -> Weak:
        place = self._places.setdefault(key, len(self._numbers))
        if place == len(self._numbers):
            self._numbers.append(number)
        return Weak(place, self._numbers[place].value)

    def made(self, number: Weak) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """What computes `number`, and of what."""
        held = self._numbers[number.place]
        return held.function, held.args

    def pin(self, number: Weak) -> Any:
        """The value of `number`, compiled in."""
        self._numbers[number.place].pinned = True
        return number.value

    def limit(self, number: Weak, low: int, high: int) -> None:
        """Notes that the kernel fits integers from `low` to `high` only; outside, `number` as it is."""
        held = self._numbers[number.place]
        if low <= number.value <= high:
            held.limits = (
                (max(low, held.limits[0]), min(high, held.limits[1])) if held.limits else (low, high)
            )
        else:
            held.pinned = True

    def var(self, number: Weak, names: Names) -> Var:
        """The parameter that `number` is."""
        held = self._numbers[number.place]
        if held.var is None:
            hint = "_".join(held.names[:_NAMED])
            held.var = Var(names.fresh(hint), _passed_as(number.kind, held.limits))
        return held.var

    @property
    def params(self) -> tuple[Var, ...]:
        """The kernel's parameters, in order."""
        return tuple(n.var for n in self._numbers if n.var is not None)

    # what a launch does

    def lines(self, scope: dict[str, Any], otherwise: str) -> list[str]:
        """Lines of Python that compute all numbers; `otherwise` runs where the kernel does not fit them."""
        read, made, checks = list[str](), list[str](), list[str]()
        for n, x in enumerate(self._numbers):
            args: list[str] = []
            for k, a in enumerate(x.args):
                args.append(f"h{a.place}" if isinstance(a, Weak) else f"h{n}_{k}")
                if not isinstance(a, Weak):
                    scope[f"h{n}_{k}"] = a
            scope[f"number{n}"], scope[f"kind{n}"], scope[f"value{n}"] = x.function, type(x.value), x.value
            call = f" {x.sign} ".join(args) if x.sign else f"number{n}({', '.join(args)})"
            (made if args else read).append(f"h{n} = {call}")
            unfit = [] if x.sign else [f"type(h{n}) is not kind{n}"]
            if x.limits is not None:
                unfit.append(f"not {x.limits[0]} <= h{n} <= {x.limits[1]}")
            if x.pinned:
                unfit.append(f"h{n} != value{n}")
            if unfit:
                checks.append(f"if {' or '.join(unfit)}: {otherwise}")
        if made:
            scope["FAILURES"] = _FAILURES
            last = made[-1].split(" ", 1)[0]
            made = ["try:", *(f"    {line}" for line in made), "except FAILURES:", f"    {last} = None"]
            made.append(f"if {last} is None: {otherwise}")
        return [*read, *made, *checks]

    @property
    def passed(self) -> list[str]:
        """What these lines call the values of `params`."""
        return [f"h{n}" for n, x in enumerate(self._numbers) if x.var is not None]

    def now(self) -> tuple[Any, ...] | None:
        """The values of `params` now; None where the kernel does not fit them. Only once it is compiled."""
        if self._now is None:
            self._now = self._reader()
        return self._now()

    def _reader(self) -> Callable[[], tuple[Any, ...] | None]:
        scope: dict[str, Any] = {}
        body = [*self.lines(scope, "return None"), f"return ({''.join(f'{h}, ' for h in self.passed)})"]
        exec("def now():\n" + "\n".join(f"    {line}" for line in body), scope)
        return scope["now"]


def _passed_as(kind: type, limits: tuple[int, int] | None) -> ScalarType:
    """The type of a parameter that holds such numbers without loss."""
    if kind is int:
        return u64 if limits is not None and limits[1] >= 1 << 63 else i64
    return u1 if kind is bool else f64
