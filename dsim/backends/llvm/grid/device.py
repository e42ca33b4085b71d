"""What the text of a kernel in grid form leaves to its target: functions that it declares and calls."""

from __future__ import annotations

from dsim.backends.llvm import frame
from dsim.backends.llvm.text import Function

BARRIER = "declare void @dsim_barrier(ptr) convergent nounwind"
GLOBAL = "declare ptr @dsim_global(ptr) memory(none) nounwind willreturn"


def barrier(f: Function) -> None:
    """All threads of the block wait for each other; what each has written before, all see after."""
    f.module.declare("dsim_barrier", BARRIER)
    f.do("call void @dsim_barrier(ptr %barrier)")


def in_global_memory(f: Function, address: str) -> str:
    """`address`, of which the target learns that it is in the device's global memory."""
    f.module.declare("dsim_global", GLOBAL)
    return f.call("ptr", "dsim_global", f"ptr {address}")


def global_address(f: Function, slot: int) -> str:
    """The address of global memory in a slot of the frame."""
    return in_global_memory(f, frame.read(f, slot, "ptr"))
