"""The processor that runs this program, as a target: glibc's math, vectors of it, atomics.

The vectoriser may replace a call of ``sinf`` by glibc's ``libmvec``, eight at a time, when the
declaration says so; where that library is missing the calls stay scalar.
"""

from __future__ import annotations

import ctypes
from functools import cache

import llvmlite.binding as llvm

from dsim.backends.llvm.float_mode import AARCH64, X86
from dsim.backends.llvm.text import TYPE, Function, Module
from dsim.ir.nodes import AccumulateOp
from dsim.ir.primitive import Intrinsic, Libm
from dsim.ir.types import ScalarType, f32

_SUFFIX = {16: "f16", 32: "f32", 64: "f64"}


# The register with the mode of floating point, on the processors whose instructions for it are known here.
_MODES = {"x86_64": X86, "aarch64": AARCH64, "arm64": AARCH64}
FLOAT_MODE = _MODES.get(llvm.get_process_triple().partition("-")[0])


@cache
def _libmvec() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libmvec.so.1")
    except OSError:
        return None
    llvm.load_library_permanently("libmvec.so.1")
    return library


@cache
def _widths() -> tuple[tuple[str, int], ...]:
    """The vector function variants that this processor runs: their letter, and bytes of a vector."""
    try:
        features = llvm.get_host_cpu_features()
    except RuntimeError:
        return ()
    found = [("b", 16)]
    if features.get("avx2") and features.get("fma"):
        found.append(("d", 32))
    if features.get("avx512f") and features.get("avx512dq"):
        found.append(("e", 64))
    return tuple(found)


@cache
def vector_variants(name: str, t: ScalarType, arity: int) -> tuple[tuple[str, int, str], ...]:
    """The variants of `name` in libmvec: letter, lanes and name of each."""
    library = _libmvec()
    if library is None:
        return ()
    found = []
    for letter, width in _widths():
        lanes = width * 8 // t.bits
        vector = f"_ZGV{letter}N{lanes}{'v' * arity}_{name}"
        if hasattr(library, vector):
            found.append((letter, lanes, vector))
    return tuple(found)


def _canonical(f: Function, t: ScalarType, a: str) -> str:
    name = f"llvm.canonicalize.{_SUFFIX[t.bits]}"
    f.module.declare(name, f"declare {TYPE[t]} @{name}({TYPE[t]})")
    return f.call(TYPE[t], name, f"{TYPE[t]} {a}")


class CpuTarget:
    """See `Target`."""

    name = "cpu"
    recent = True
    float_mode = FLOAT_MODE

    def header(self) -> str:
        """Nothing: the compiler sets data layout and triple to its own."""
        return ""

    def math(self, f: Function, lowering: Libm | Intrinsic, t: ScalarType, args: tuple[str, ...]) -> str:
        """An intrinsic where LLVM has an instruction for it, else a call of glibc."""
        if isinstance(lowering, Intrinsic):
            name = f"llvm.{lowering.name}.{_SUFFIX[t.bits]}"
            f.module.declare(name, f"declare {TYPE[t]} @{name}({TYPE[t]})")
            flags = f.module.flags if lowering.rounds else ""
            return f.let(f"call{flags} {TYPE[t]} @{name}({TYPE[t]} {args[0]})")
        if t.bits == 16:
            wide = tuple(f.let(f"fpext half {a} to float") for a in args)
            return f.let(f"fptrunc float {self.math(f, lowering, f32, wide)} to half")
        name = lowering.name + ("f" if t.bits == 32 else "")
        if not f.module.exact:  # glibc looks at the bits of a subnormal number that arithmetic takes for zero
            args = tuple(_canonical(f, t, a) for a in args)
        self._declare(f.module, name, t, len(args))
        return f.call(TYPE[t], name, *(f"{TYPE[t]} {a}" for a in args))

    def _declare(self, module: Module, name: str, t: ScalarType, arity: int) -> None:
        if name in module.declarations:
            return
        ty = TYPE[t]
        variants = vector_variants(name, t, arity)
        attribute = ""
        if variants and not module.exact:
            spelled = [f"_ZGV_LLVM_N{n}{'v' * arity}_{name}({vector})" for _, n, vector in variants]
            attribute = f' "vector-function-abi-variant"="{",".join(spelled)}"'
        for _, lanes, vector in () if module.exact else variants:
            lane = f"<{lanes} x {ty}>"
            module.declare(
                vector, f"declare {lane} @{vector}({', '.join([lane] * arity)}) memory(none) nounwind"
            )
            module.vectors.append(vector)
        args = ", ".join([ty] * arity)
        module.declare(name, f"declare {ty} @{name}({args}) memory(none) nounwind willreturn{attribute}")

    def lanes(self, t: ScalarType) -> tuple[int, ...]:
        """Those of its registers, for functions of dsim's own that the vectoriser may call."""
        return tuple(width * 8 // t.bits for _, width in _widths())

    def negate(self, f: Function, t: ScalarType, a: str) -> str:
        """`fneg`."""
        return f.let(f"fneg {TYPE[t]} {a}")

    def saturate(self, f: Function, a: str, source: ScalarType, to: ScalarType) -> str:
        """The saturating conversion that LLVM has."""
        sign = "s" if to.kind == "int" else "u"
        name = f"llvm.fpto{sign}i.sat.i{to.bits}.{_SUFFIX[source.bits]}"
        f.module.declare(name, f"declare i{to.bits} @{name}({TYPE[source]})")
        return f.call(f"i{to.bits}", name, f"{TYPE[source]} {a}")

    def accumulate(
        self, f: Function, op: AccumulateOp, t: ScalarType, address: str, value: str, old: bool
    ) -> str | None:
        """`atomicrmw` where it has the operation, else a loop of compare and exchange."""
        name = _atomic_name(op, t)
        if name:
            before = f.let(f"atomicrmw {name} ptr {address}, {TYPE[t]} {value} monotonic")
            return before if old else None
        before = f.call(TYPE[t], _exchange(f.module, op, t), f"ptr {address}", f"{TYPE[t]} {value}")
        return before if old else None

    def finish(self, module: Module) -> None:
        """Keeps the vector functions until the vectoriser has run."""
        if module.vectors:
            kept = ", ".join(f"ptr @{v}" for v in dict.fromkeys(module.vectors))
            count = len(dict.fromkeys(module.vectors))
            module.declare(
                "llvm.compiler.used",
                f'@llvm.compiler.used = appending global [{count} x ptr] [{kept}], section "llvm.metadata"',
            )


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
