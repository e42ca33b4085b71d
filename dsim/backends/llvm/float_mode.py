"""The mode in which a thread computes with floats, in machine code: kept, set for a launch, restored.

Subnormal numbers cost a processor a hundred times what others do. Unless a kernel is exact, its launch
treats them as zeros, as operands and as results. Each launch restores the mode of its caller at its end, and
around whatever it calls back in Python. A thread that helps adopts the mode of the launch, so that results
do not depend on which thread computed them.
"""

from __future__ import annotations

from typing import NamedTuple

from dsim.backends.llvm import frame
from dsim.backends.llvm.text import Function, Module


class FloatMode(NamedTuple):
    """The register that holds a processor's mode: the instructions that read and write it.

    Attributes
    ----------
    declarations : dict
        The declarations of what they call, by name.
    read, write : str
        LLVM that stores it at the address ``{at}``, and that sets it from there; ``{value}`` is a free name.
    zeros : int
        Its bits that make zeros of subnormal numbers.
    """

    declarations: dict[str, str]
    read: str
    write: str
    zeros: int


# MXCSR: its bits FTZ (of results) and DAZ (of operands)
X86 = FloatMode(
    {
        "llvm.x86.sse.stmxcsr": "declare void @llvm.x86.sse.stmxcsr(ptr)",
        "llvm.x86.sse.ldmxcsr": "declare void @llvm.x86.sse.ldmxcsr(ptr)",
    },
    "  call void @llvm.x86.sse.stmxcsr(ptr {at})",
    "  call void @llvm.x86.sse.ldmxcsr(ptr {at})",
    1 << 15 | 1 << 6,
)
# FPCR: its bit FZ means both
AARCH64 = FloatMode(
    {
        "llvm.aarch64.get.fpcr": "declare i64 @llvm.aarch64.get.fpcr()",
        "llvm.aarch64.set.fpcr": "declare void @llvm.aarch64.set.fpcr(i64)",
    },
    "  {value} = call i64 @llvm.aarch64.get.fpcr()\n  store i64 {value}, ptr {at}, align 8",
    "  {value} = load i64, ptr {at}, align 8\n  call void @llvm.aarch64.set.fpcr(i64 {value})",
    1 << 24,
)


def begin(f: Function, mode: FloatMode | None) -> None:
    """At the entry: remembers the caller's mode, and sets that of the launch."""
    if mode is None:
        return
    _do(f, mode, mode.read, frame.CALLERS_MODE)
    chosen = frame.read(f, frame.CALLERS_MODE, "i64")
    if f.module.exact:
        frame.write(f, frame.MODE, "i64", chosen)
        return
    frame.write(f, frame.MODE, "i64", f.let(f"or i64 {chosen}, {mode.zeros}"))
    resume(f, mode)


def restore(f: Function, mode: FloatMode | None) -> None:
    """At the end of a launch, or before a call of Python from any of its threads: the caller's mode."""
    if mode is not None and not f.module.exact:
        _do(f, mode, mode.write, frame.CALLERS_MODE)


def resume(f: Function, mode: FloatMode | None) -> None:
    """After such a call: the launch's mode again."""
    if mode is not None and not f.module.exact:
        _do(f, mode, mode.write, frame.MODE)


def declare(module: Module, mode: FloatMode) -> None:
    """Declares what the instructions call."""
    for name, text in mode.declarations.items():
        module.declare(name, text)


def _do(f: Function, mode: FloatMode, text: str, slot: int) -> None:
    declare(f.module, mode)
    f.do(text.format(at=frame.address(f, slot), value=f"%mode{len(f.lines)}"))
