"""Accumulations that several threads make to one element: one instruction, or compare and exchange."""

from __future__ import annotations

from dsim.backends.llvm.text import TYPE, Function, Module
from dsim.ir.nodes import AccumulateOp
from dsim.ir.types import ScalarType


def accumulate(
    f: Function, op: AccumulateOp, t: ScalarType, address: str, value: str, old: bool
) -> str | None:
    """``*address = op(*address, value)`` in one step for all threads; the old value if `old`.

    `atomicrmw` where it has the operation, else a loop of compare and exchange.
    """
    name = _atomic_name(op, t)
    if name:
        before = f.let(f"atomicrmw {name} ptr {address}, {TYPE[t]} {value} monotonic")
        return before if old else None
    before = f.call(TYPE[t], _exchange(f.module, op, t), f"ptr {address}", f"{TYPE[t]} {value}")
    return before if old else None


def _atomic_name(op: AccumulateOp, t: ScalarType) -> str | None:
    if t.kind == "bool":
        return None
    if op == "add":
        return None if t.bits == 16 and t.is_float else "fadd" if t.is_float else "add"
    if t.is_float or op == "mul":
        return None
    if op in ("min", "max"):
        return op if t.kind == "int" else f"u{op}"
    return {"band": "and", "bor": "or", "bxor": "xor"}[op]


def _exchange(module: Module, op: AccumulateOp, t: ScalarType) -> str:
    """The helper that does `op` by compare and exchange; `op` on bits as the table has it."""
    name, ty = f"dsim_atomic_{op}_{t.name}", TYPE[t]
    held = "i8" if t.kind == "bool" else f"i{t.bits}"
    if name in module.helpers:
        return name
    read = f"bitcast {held} %bits to {ty}" if t.is_float else f"trunc {held} %bits to {ty}"
    write = f"bitcast {ty} %new to {held}" if t.is_float else f"zext {ty} %new to {held}"
    if t.is_integer:
        read, write = f"add {held} %bits, 0", f"add {held} %new, 0"
    text = f"""define internal {ty} @{name}(ptr %at, {ty} %value) noinline nounwind {{
entry:
  %first = load atomic {held}, ptr %at monotonic, align {max(1, t.bits // 8)}
  br label %try
try:
  %bits = phi {held} [ %first, %entry ], [ %seen, %try ]
  %old = {read}
{_step(op, t)}
  %put = {write}
  %pair = cmpxchg ptr %at, {held} %bits, {held} %put monotonic monotonic
  %seen = extractvalue {{ {held}, i1 }} %pair, 0
  %ok = extractvalue {{ {held}, i1 }} %pair, 1
  br i1 %ok, label %done, label %try
done:
  ret {ty} %old
}}"""
    return module.helper(name, text)


def _step(op: AccumulateOp, t: ScalarType) -> str:
    ty = TYPE[t]
    if op in ("min", "max"):
        test = f"fcmp o{'lt' if op == 'min' else 'gt'}"
        return f"  %better = {test} {ty} %old, %value\n  %new = select i1 %better, {ty} %old, {ty} %value"
    names = {"add": "fadd", "mul": "fmul" if t.is_float else "mul", "band": "and", "bor": "or", "bxor": "xor"}
    return f"  %new = {names[op]} {ty} %old, %value"
