"""The processor that runs this program, as a target: glibc's math, vectors of it, printing.

The vectoriser may replace a call of ``sinf`` by glibc's ``libmvec``, eight at a time, when the
declaration says so; where that library is missing the calls stay scalar.
"""

from __future__ import annotations

import ctypes
from functools import cache

import llvmlite.binding as llvm

from dsim.backends.cpu import images
from dsim.backends.cpu.heap import HEAP
from dsim.backends.llvm import float_mode, frame
from dsim.backends.llvm.float_mode import AARCH64, X86
from dsim.backends.llvm.text import TYPE, Function, Module
from dsim.ir.types import ScalarType

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
    """The vector function variants for which code is generated: their letter, and bytes of a vector.

    Those of the target, not of the processor: `NUMBA_CPU_NAME` and `NUMBA_ENABLE_AVX` leave out instructions
    that it has, and code without them passes long vectors in several registers.
    """
    given = str(images.target_options(images.SPEED)["features"])
    features = {name[1:]: name[0] == "+" for name in given.split(",") if name}
    if not features:
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


def _flushed(f: Function, t: ScalarType, a: str) -> str:
    """`a`, or 0 of its sign if it is subnormal, as arithmetic does in the mode in which kernels run.

    LLVM 22 has no instructions for `llvm.canonicalize` of two 32-bit numbers on x86, and ends the process.
    A comparison takes a subnormal number for 0, too; where it does, only the bit of the sign is kept.
    """
    if t.bits == 64:
        name = "llvm.canonicalize.f64"
        f.module.declare(name, f"declare double @{name}(double)")
        return f.call("double", name, f"double {a}")
    differs = f.let(f"fcmp une float {a}, 0.0")
    kept = f.let(f"or i32 {f.let(f'sext i1 {differs} to i32')}, {-(1 << 31)}")
    bits = f.let(f"and i32 {f.let(f'bitcast float {a} to i32')}, {kept}")
    return f.let(f"bitcast i32 {bits} to float")


class CpuTarget:
    """See `Target`."""

    float_mode = FLOAT_MODE
    heap = HEAP
    polls = True

    def libm(self, f: Function, name: str, t: ScalarType, args: tuple[str, ...]) -> str:
        """A call of glibc."""
        name += "f" if t.bits == 32 else ""
        if not f.module.exact:  # glibc looks at the bits of a subnormal number that arithmetic takes for zero
            args = tuple(_flushed(f, t, a) for a in args)
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
        # LLVM folds calls of constants by functions of its own, which round otherwise.
        attribute += " nobuiltin" if module.exact else ""
        args = ", ".join([ty] * arity)
        module.declare(name, f"declare {ty} @{name}({args}) memory(none) nounwind willreturn{attribute}")

    def fmod(self, module: Module, t: ScalarType) -> str:
        """Nothing: LLVM makes a call of it from `frem`."""
        return ""

    def lanes(self, t: ScalarType) -> tuple[int, ...]:
        """Those of its registers, for functions of dsim's own that the vectoriser may call."""
        return tuple(width * 8 // t.bits for _, width in _widths())

    def print(self, f: Function, which: int, values: list[str]) -> None:
        """Calls back into Python with the statement's number and the values' bits."""
        array = f.slot(f"[{max(1, len(values))} x i64]")
        for i, value in enumerate(values):
            f.do(f"store i64 {value}, ptr {frame.address(f, i, array)}, align 8")
        runtime = frame.read(f, frame.RUNTIME, "ptr")
        printer = frame.read(f, frame.PRINTER, "ptr", runtime)
        owner = frame.read(f, frame.OWNER, "i64")
        float_mode.restore(f, self.float_mode)
        f.do(f"call void {printer}(i64 {owner}, i64 {which}, ptr {array})")
        float_mode.resume(f, self.float_mode)

    def finish(self, module: Module) -> None:
        """Keeps the vector functions until the vectoriser has run."""
        if module.vectors:
            kept = ", ".join(f"ptr @{v}" for v in dict.fromkeys(module.vectors))
            count = len(dict.fromkeys(module.vectors))
            module.declare(
                "llvm.compiler.used",
                f'@llvm.compiler.used = appending global [{count} x ptr] [{kept}], section "llvm.metadata"',
            )
