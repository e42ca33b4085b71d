"""The columns of `primitives.TABLE`: what a row says of its primitive.

Every fact about a primitive is in its row; frontend, passes, derivatives, backends and documentation read it
there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cache
from typing import Any

import numpy as np

from dsim.ir import arithmetic
from dsim.ir.kinks import Kink
from dsim.ir.nodes import AccumulateOp, Atom
from dsim.ir.term import OfTerms, Term
from dsim.ir.types import ScalarType, u1, u32
from dsim.records import record

Times = OfTerms[Term]


@record
class Spelling:
    """The function of the dialect that calls a primitive.

    Attributes
    ----------
    name : str
        Its name in kernels, in `dsim` and in `dsim.math`.
    doc : str
        What it returns, in one line.
    math, numpy, special : tuple of str
        The functions of Python's `math`, of `numpy` and of `scipy.special` that kernels may use for it.
    """

    name: str
    doc: str
    math: tuple[str, ...] = ()
    numpy: tuple[str, ...] = ()
    special: tuple[str, ...] = ()


@record
class Ends:
    """Why a primitive stops derivatives, and what the person can do about it."""

    why: str
    advice: str


@record
class Libm:
    """A function of C's mathematical library: ``name`` for f64, ``namef`` for f32; f16 is computed in f32.

    Vectorised loops call its vector variant where the target's library has one.
    """

    name: str


@record
class Intrinsic:
    """LLVM's intrinsic ``llvm.name``, one instruction on most machines; `rounds` if it may round."""

    name: str
    rounds: bool = False


@record
class Instruction:
    """LLVM's binary instruction: for floats, and for integers and bools."""

    floats: str
    integers: str


@record
class Formula:
    """A formula over other primitives of floats that computes the value."""

    of: OfTerms[Term]


Lowering = Libm | Intrinsic | Instruction | Formula


@record
class Primitive:
    """One row of the table.

    Attributes
    ----------
    name : str
        The `op` of a `Let`.
    signature : str
        Parameter and result types, as in ``"bTT->T"``: ``T`` the one type that all T's share, ``b`` u1,
        ``i`` any integer, ``n`` a compile-time constant integer, ``*`` the type of the result variable,
        ``r`` u32.
    over : str
        The kinds of type that T may be: ``F`` float, ``I`` integer, ``B`` bool.
    python : str
        Its Python expression over NumPy scalars; ``{0}`` the first argument, ``{to}`` the name of
        the result's type. Names in it are `np` and the functions of `arithmetic.py`.
    times : tuple
        Per argument the product with its partial derivative, or None if that is 0.
    kink : Kink or None
        The points where it has no derivative; None if it is smooth on its domain.
    domain : tuple of (float, float)
        Per argument an interval away from kinks and poles, for numeric checks.
    spelling : Spelling or None
        The function of the dialect that calls this primitive.
    lowering : Lowering or None
        How it becomes machine code; None if the backend has an algorithm for it.
    cost : int
        Its approximate cost in simple instructions.
    pole : callable or None
        Whether value or derivative can be infinite or NaN for finite values of the arguments; None if never.
    guarded : bool
        Whether its products are 0 where `t` is 0, for all arguments: its partials are -1, 0 or 1, or its row
        sees to it.
    ends : Ends or None
        The message for a primitive without a derivative where people may expect one.
    kept : bool
        Whether it is never folded, even if its arguments are constants.
    commutative : bool
        Whether its two arguments may be exchanged, and the result is the same to the bit.
    reduction : AccumulateOp or None
        The accumulation that it repeats if its first argument is its last result, or, where it is itself
        that accumulation, any argument; None if there is none.
    full_width : bool
        Whether LLVM takes an integer result for one of few bits only if it takes an argument for one.
    """

    name: str
    signature: str
    over: str
    python: str
    times: tuple[Times | None, ...] = ()
    kink: Kink | None = None
    domain: tuple[tuple[float, float], ...] = ()
    spelling: Spelling | None = field(default=None, kw_only=True)
    lowering: Lowering | None = field(default=None, kw_only=True)
    cost: int = field(default=1, kw_only=True)
    pole: Callable[[tuple[Atom, ...]], bool] | None = field(default=None, kw_only=True)
    guarded: bool = field(default=False, kw_only=True)
    ends: Ends | None = field(default=None, kw_only=True)
    kept: bool = field(default=False, kw_only=True)
    commutative: bool = field(default=False, kw_only=True)
    reduction: AccumulateOp | None = field(default=None, kw_only=True)
    full_width: bool = field(default=False, kw_only=True)

    @property
    def parameters(self) -> str:
        """The parameter part of the signature, one letter per argument."""
        return self.signature.split("->")[0]

    def has_pole(self, args: tuple[Atom, ...]) -> bool:
        """Whether value or derivative can be infinite or NaN at finite values of `args`."""
        return self.pole is not None and self.pole(args)

    def result_type(self, args: tuple[ScalarType, ...], wanted: ScalarType | None = None) -> ScalarType:
        """The type of the result for arguments of types `args`.

        Raises
        ------
        TypeError
            When the arguments do not fit the signature.
        """
        if len(args) != len(self.parameters):
            raise TypeError(f"{self.name} takes {len(self.parameters)} arguments, got {len(args)}")
        shared = {t for p, t in zip(self.parameters, args, strict=True) if p == "T"}
        if len(shared) > 1:
            raise TypeError(f"{self.name}: arguments of different types {[str(t) for t in args]}")
        for p, t in zip(self.parameters, args, strict=True):
            if not self._fits(p, t):
                raise TypeError(f"{self.name} does not take a {t}")
        result = self.signature.split("->")[1]
        if result == "*":
            if wanted is None:
                raise TypeError(f"{self.name} needs a result type")
            return wanted
        return {"T": next(iter(shared), u1), "b": u1, "r": u32}[result]

    def _fits(self, parameter: str, t: ScalarType) -> bool:
        if parameter == "b":
            return t is u1 or t == u1
        letter = "F" if t.is_float else "I" if t.is_integer else "B"
        return letter in ("I" if parameter in "in" else self.over)


_NAMESPACE = {
    "np": np,
    **{n: f for n, f in vars(arithmetic).items() if callable(f) and not n.startswith("_")},
}


@cache
def host(python: str, count: int, to: str = "") -> Callable[..., Any]:
    """The text `python` of a row as a function of `count` arguments; `to` names the result's type."""
    names = [f"a{i}" for i in range(count)]
    text = f"lambda {', '.join(names)}: {python.format(*names, to=to)}"
    return eval(text, dict(_NAMESPACE))  # the table's own text
