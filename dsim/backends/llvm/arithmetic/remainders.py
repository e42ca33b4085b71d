"""Floor division of floats, and its remainder: exactly as in Python.

The quotient of two floats is rounded, so its floor may be one too large, and ``a - b * floor(a / b)`` is then
outside its range. With one rounding for product and difference (`fma`) the remainder of a quotient of not
too many digits is exact but for such a step of one, which its sign gives away. All others go through C's
`fmod`, which `frem` is on processors, and Python's formula. That one rounds; the limit is where it surely
gives the same.

The functions are called, not inlined: for a loop that is vectorised there is one for many lanes, which calls
`fmod` only when a lane needs it.
"""

from __future__ import annotations

from dsim.backends.llvm.arithmetic.integers import resized
from dsim.backends.llvm.target import Target
from dsim.backends.llvm.text import TYPE, Function
from dsim.ir.types import ScalarType, f16, f64

_LIMITS = {32: 2.0**21, 64: 2.0**50}
_HEAD = """define internal {ty} @{name}({ty} %a, {ty} %b) {attributes} {{
entry:
  %q = fdiv {ty} %a, %b
  %n = call {ty} @llvm.floor.{suffix}({ty} %q)
  %turns = call {ty} @llvm.fabs.{suffix}({ty} %n)
  %few = fcmp olt {ty} %turns, {limit}
  %size = call {ty} @llvm.fabs.{suffix}({ty} %b)
  %finite = fcmp olt {ty} %size, {infinity}
  %easy = and {truth} %few, %finite
  %minus = fneg {ty} %n
  %rest = call {ty} @llvm.fma.{suffix}({ty} %minus, {ty} %b, {ty} %a)
{together}  br i1 %all, label %end, label %far
far:
  %left = {fmod}
  %other = select {truth} %easy, {ty} %rest, {ty} %left
{far}  br label %end
end:
  %r = phi {ty} [ %rest, %entry ], [ %other, %far ]
{end}  %below = fcmp olt {ty} %r, {zero}
  %down = fcmp olt {ty} %b, {zero}
  %some = fcmp one {ty} %r, {zero}
  %apart = xor {truth} %below, %down
  %wrong = and {truth} %apart, %some
"""
_REMAINDER = """  %more = fadd {ty} %r, %b
  %fixed = select {truth} %wrong, {ty} %more, {ty} %r
  %none = fcmp oeq {ty} %r, {zero}
  %signed = call {ty} @llvm.copysign.{suffix}({ty} {zero}, {ty} %b)
  %result = select {truth} %none, {ty} %signed, {ty} %fixed
  ret {ty} %result
}}"""
_QUOTIENT_FAR = """  %over = fsub {ty} %a, %left
  %ratio = fdiv {ty} %over, %b
  %by_zero = fcmp oeq {ty} %b, {zero}
  %plain = select {truth} %by_zero, {ty} %q, {ty} %ratio
  %whole = select {truth} %easy, {ty} %n, {ty} %plain
"""
_QUOTIENT_END = "  %d = phi {ty} [ %n, %entry ], [ %whole, %far ]\n"
_QUOTIENT = """  %less = fsub {ty} %d, {one}
  %fixed = select {truth} %wrong, {ty} %less, {ty} %d
  %low = call {ty} @llvm.floor.{suffix}({ty} %fixed)
  %gap = fsub {ty} %fixed, %low
  %nearer = fcmp ogt {ty} %gap, {half}
  %high = fadd {ty} %low, {one}
  %nearest = select {truth} %nearer, {ty} %high, {ty} %low
  %none = fcmp oeq {ty} %fixed, {zero}
  %signed = call {ty} @llvm.copysign.{suffix}({ty} {zero}, {ty} %q)
  %result = select {truth} %none, {ty} %signed, {ty} %nearest
  ret {ty} %result
}}"""


def divide(f: Function, target: Target, t: ScalarType, a: str, b: str, *, remainder: bool) -> str:
    """``a % b`` or ``a // b`` of floats of type `t`."""
    if t == f16:  # a quotient of halves, and what it leaves, are exact in doubles
        a, b = (f.let(f"fpext half {v} to double") for v in (a, b))
        return resized(f, divide(f, target, f64, a, b, remainder=remainder), f64, f16)
    module, name = f.module, f"dsim_{'mod' if remainder else 'floordiv'}_{t.name}"
    if name not in module.helpers:
        variants: list[str] = []
        for lanes in () if module.exact else target.lanes(t):
            vector = f"{name}_{lanes}"
            module.helper(vector, _text(f, vector, t, lanes, "", remainder=remainder))
            module.vectors.append(vector)
            variants.append(f"_ZGV_LLVM_N{lanes}vv_{name}({vector})")
        attribute = f'"vector-function-abi-variant"="{",".join(variants)}"' if variants else ""
        module.helper(name, _text(f, name, t, 1, attribute, target.fmod(module, t), remainder=remainder))
        if variants:  # LLVM would remove a constant argument, and then misread `variants`
            module.vectors.append(name)
    return f.call(TYPE[t], name, f"{TYPE[t]} {a}", f"{TYPE[t]} {b}")


def _text(
    f: Function, name: str, t: ScalarType, lanes: int, attribute: str, fmod: str = "", *, remainder: bool
) -> str:
    scalar = TYPE[t]
    ty, truth, suffix = scalar, "i1", f"f{t.bits}"
    together = "  %all = and i1 %easy, true\n"
    if lanes > 1:
        ty, truth, suffix = f"<{lanes} x {scalar}>", f"<{lanes} x i1>", f"v{lanes}f{t.bits}"
        reduce = f"llvm.vector.reduce.and.v{lanes}i1"
        f.module.declare(reduce, f"declare i1 @{reduce}({truth})")
        together = f"  %all = call i1 @{reduce}({truth} %easy)\n"
    for intrinsic, arity in (("floor", 1), ("fabs", 1), ("copysign", 2), ("fma", 3)):
        full = f"llvm.{intrinsic}.{suffix}"
        f.module.declare(full, f"declare {ty} @{full}({', '.join([ty] * arity)})")

    def constant(value: float | str) -> str:
        text = value if isinstance(value, str) else repr(value)
        return text if lanes == 1 else f"<{', '.join([f'{scalar} {text}'] * lanes)}>"

    parts = {
        "ty": ty, "truth": truth, "suffix": suffix, "name": name, "together": together,
        "attributes": f"noinline memory(none) nounwind willreturn {attribute}",
        "limit": constant(_LIMITS[t.bits]), "infinity": constant("0x7FF0000000000000"),
        "fmod": f"call {ty} @{fmod}({ty} %a, {ty} %b)" if fmod else f"frem {ty} %a, %b",
        "zero": constant(0.0), "one": constant(1.0), "half": constant(0.5),
    }  # fmt: skip
    far, end, tail = ("", "", _REMAINDER) if remainder else (_QUOTIENT_FAR, _QUOTIENT_END, _QUOTIENT)
    return (_HEAD + tail).format(far=far.format(**parts), end=end.format(**parts), **parts)
