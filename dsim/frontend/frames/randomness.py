"""Counter-based random numbers, functions of (launch, iteration, draw), so that a replay draws the same ones.

The launch is a hidden parameter; the iteration numbers the trips of the outermost loops; the draw is a
hidden local that begins at 0 in each of them.
"""

from __future__ import annotations

import math

from dsim.frontend.frames.frame import Frame, Nest
from dsim.frontend.frames.scope import DRAWS
from dsim.frontend.values.emit import Emitter
from dsim.frontend.values.values import Value
from dsim.ir.build import const, index
from dsim.ir.nodes import Atom, Const
from dsim.ir.types import ScalarType, f32, f64, i64, u1, u32, u64

_ORDINAL_SHIFT = 48  # iterations of different top-level loops never meet


def bits(f: Frame) -> Atom:
    """32 random bits, and one draw more."""
    c, e = f.c, f.emit
    if c.launch is None:
        c.launch = e.builder.fresh("launch", u64)
    drawn = f.scope.values[DRAWS]
    f.scope.values[DRAWS] = e.let("add", drawn, index(1), hint="draws")
    return e.let("random_bits", c.launch, _iteration(e, c.nest), drawn, hint="bits")


def _iteration(e: Emitter, nest: Nest | None) -> Atom:
    """The number of this trip through the outermost loops, in row order."""
    if nest is None:
        return const(0, i64)
    number: Atom = const(0, i64)
    for at, start, stop, step in nest.axes:
        trips = e.let("sub", e.atom(stop, i64), e.atom(start, i64))
        trip = e.let("sub", e.atom(at, i64), e.atom(start, i64))
        if step != 1:
            size, away = const(abs(step), i64), const(abs(step) - 1, i64)
            trips = e.let("floordiv", e.let("add", trips if step > 0 else e.let("neg", trips), away), size)
            trip = e.let("floordiv", trip, const(step, i64))
        number = e.let("add", e.let("mul", number, trips), trip)
    return e.let("add", number, Const(nest.ordinal << _ORDINAL_SHIFT, i64), hint="iteration")


def random(f: Frame, type: ScalarType, hint: str = "t") -> Atom:
    """A random number: of a float type evenly in [0, 1), of an integer type any."""
    e = f.emit
    if type == f64:
        high, low = (e.let("cast", bits(f), type=f64) for _ in range(2))
        high = e.let("floor", e.let("mul", high, const(2.0**-5, f64)))
        low = e.let("floor", e.let("mul", low, const(2.0**-6, f64)))
        return e.let(
            "mul", e.let("add", e.let("mul", high, const(2.0**26, f64)), low), const(2.0**-53, f64), hint=hint
        )
    if type.is_float:
        kept = min(24, 24 if type == f32 else 11)
        top = e.let("cast", e.let("shr", bits(f), const(32 - kept, u32)), type=type)
        return e.let("mul", top, const(2.0**-kept, type), hint=hint)
    if type == u1:
        return e.let("eq", e.let("band", bits(f), const(1, u32)), const(1, u32), hint=hint)
    if type.bits == 64:
        high, low = (e.let("cast", bits(f), type=u64) for _ in range(2))
        both = e.let("bor", e.let("shl", high, const(32, u64)), low)
        return e.let("cast", both, type=type, hint=hint)
    return e.let("cast", bits(f), type=type, hint=hint)


def normal(f: Frame, type: ScalarType, hint: str = "t") -> Value:
    """A normally distributed number (Box and Muller)."""
    e = f.emit
    away = e.let("sub", const(1.0, type), random(f, type))
    angle = e.let("mul", const(2.0 * math.pi, type), random(f, type))
    radius = e.let("sqrt", e.let("mul", const(-2.0, type), e.let("log", away)))
    return e.let("mul", radius, e.let("cos", angle), hint=hint)
