"""Integer powers, and the counter-based random bits: the two primitives that are algorithms."""

from __future__ import annotations

from dsim.backends.llvm.arithmetic.integers import widened
from dsim.backends.llvm.text import TYPE, Function, number
from dsim.ir.types import ScalarType, i64, u64

_UNROLLED = 1 << 16  # exponents up to this are written out as multiplications


def power(f: Function, t: ScalarType, a: str, n: str, kind: ScalarType, known: int | None) -> str:
    """`a` to the integer `n` of type `kind`, by squaring; `known` is `n` where it is a constant."""
    if known is None or abs(known) > _UNROLLED:
        exponent = widened(f, n, kind, u64 if kind.kind == "uint" else i64)
        signed = "i1 true" if kind.kind == "int" else "i1 false"
        return f.call(TYPE[t], _function(f, t), f"{TYPE[t]} {a}", f"i64 {exponent}", signed)
    result = _multiplied(f, t, a, abs(known))
    if known >= 0:
        return result
    return _inverse(f, t, a, result, number(known & 1, t))


def _multiply(f: Function, t: ScalarType) -> str:
    return f"fmul{f.module.flags('fmul')} {TYPE[t]}" if t.is_float else f"mul {TYPE[t]}"


def _multiplied(f: Function, t: ScalarType, a: str, count: int) -> str:
    result, square = "", a
    while count:
        if count & 1:
            result = f.let(f"{_multiply(f, t)} {result}, {square}") if result else square
        count >>= 1
        if count:
            square = f.let(f"{_multiply(f, t)} {square}, {square}")
    return result or number(1, t)


def _inverse(f: Function, t: ScalarType, a: str, result: str, odd: str) -> str:
    """``1 / result``; for integers 0 unless `a` is 1 or -1, whose powers are their own inverses."""
    ty = TYPE[t]
    if t.is_float:
        return f.let(f"fdiv{f.module.flags('fdiv')} {ty} {number(1, t)}, {result}")
    one = f.let(f"icmp eq {ty} {a}, 1")
    if t.kind == "uint":
        return f.let(f"select i1 {one}, {ty} 1, {ty} 0")
    minus = f.let(f"icmp eq {ty} {a}, -1")
    either = f.let(f"or i1 {one}, {minus}")
    return f.let(f"select i1 {either}, {ty} {result}, {ty} 0")


def _function(f: Function, t: ScalarType) -> str:
    """The helper for exponents known only at run time."""
    ty, name = TYPE[t], f"dsim_powi_{t.name}"
    if t.is_float:
        end = f"  %inverse = fdiv {ty} {number(1, t)}, %done\n"
    else:
        minus = "false" if t.kind == "uint" else "%is_minus"
        end = f"""  %is_one = icmp eq {ty} %x, 1
  %is_minus = icmp eq {ty} %x, -1
  %unit = or i1 %is_one, {minus}
  %inverse = select i1 %unit, {ty} %done, {ty} 0
"""
    text = f"""define internal {ty} @{name}({ty} %x, i64 %n, i1 %signed) {{
entry:
  %below = icmp slt i64 %n, 0
  %negative = and i1 %below, %signed
  %minus_n = sub i64 0, %n
  %size = select i1 %negative, i64 %minus_n, i64 %n
  br label %test
test:
  %count = phi i64 [ %size, %entry ], [ %half, %more ]
  %done = phi {ty} [ {number(1, t)}, %entry ], [ %result, %more ]
  %square = phi {ty} [ %x, %entry ], [ %next, %more ]
  %some = icmp ne i64 %count, 0
  br i1 %some, label %more, label %end
more:
  %low = trunc i64 %count to i1
  %product = {_multiply(f, t)} %done, %square
  %result = select i1 %low, {ty} %product, {ty} %done
  %next = {_multiply(f, t)} %square, %square
  %half = lshr i64 %count, 1
  br label %test
end:
{end}  %chosen = select i1 %negative, {ty} %inverse, {ty} %done
  ret {ty} %chosen
}}"""
    return f.module.helper(name, text)


def random_bits(f: Function, args: tuple[str, ...], types: tuple[ScalarType, ...]) -> str:
    """32 bits of (launch, iteration, draw): a call of the Threefry helper."""
    wide = [widened(f, a, t, i64) for a, t in zip(args, types, strict=True)]
    return f.call("i32", _threefry(f), *(f"i64 {w}" for w in wide))


def _threefry(f: Function) -> str:
    name = "dsim_random_bits"
    if name in f.module.helpers:
        return name
    lines = [
        f"define internal i32 @{name}(i64 %launch, i64 %iteration, i64 %draw) {{",
        "%k0 = trunc i64 %launch to i32",
        "%high = lshr i64 %launch, 32",
        "%k = trunc i64 %high to i32",
        "%d = trunc i64 %draw to i32",
        "%k1 = xor i32 %k, %d",
        "%mixed = xor i32 %k0, %k1",
        f"%k2 = xor i32 %mixed, {0x1BD11BDA}",
        "%c0 = trunc i64 %iteration to i32",
        "%up = lshr i64 %iteration, 32",
        "%c1 = trunc i64 %up to i32",
        "%a0 = add i32 %c0, %k0",
        "%b0 = add i32 %c1, %k1",
    ]
    f.module.declare("llvm.fshl.i32", "declare i32 @llvm.fshl.i32(i32, i32, i32)")
    step = 0
    for group in range(5):
        for r in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            step += 1
            lines += [
                f"%a{step} = add i32 %a{step - 1}, %b{step - 1}",
                f"%r{step} = call i32 @llvm.fshl.i32(i32 %b{step - 1}, i32 %b{step - 1}, i32 {r})",
                f"%b{step} = xor i32 %r{step}, %a{step}",
            ]
        step += 1
        lines += [
            f"%a{step} = add i32 %a{step - 1}, %k{(group + 1) % 3}",
            f"%s{step} = add i32 %b{step - 1}, %k{(group + 2) % 3}",
            f"%b{step} = add i32 %s{step}, {group + 1}",
        ]
    return f.module.helper(name, "\n".join([*lines, f"ret i32 %a{step}", "}"]))
