"""A kernel in grid form, written by hand: ``b[i] = f(a[i])`` for 100 elements, and the sum of a block."""

from dsim.backends.llvm.frame import FrameLayout
from dsim.backends.llvm.grid.device import BARRIER, GLOBAL
from dsim.backends.llvm.grid.module import COORDINATES, GridKernel, GridModule
from dsim.backends.llvm.writer import Messages

TEXT = f"""
{GLOBAL}
define void @copy_thread({COORDINATES}) nounwind {{
entry:
%frame = call ptr @dsim_global(ptr %given)
%first = mul i64 %cta, %ntid
%begin = add i64 %first, %tid
%step = mul i64 %ncta, %ntid
%b_at = getelementptr inbounds i8, ptr %frame, i64 8
%a_given = load ptr, ptr %frame, align 8
%b_given = load ptr, ptr %b_at, align 8
%a = call ptr @dsim_global(ptr %a_given)
%b = call ptr @dsim_global(ptr %b_given)
br label %test
test:
%i = phi i64 [ %begin, %entry ], [ %next, %body ]
%more = icmp slt i64 %i, 100
br i1 %more, label %body, label %done
body:
%from = getelementptr inbounds TYPE, ptr %a, i64 %i
%to = getelementptr inbounds TYPE, ptr %b, i64 %i
%x = load TYPE, ptr %from, align 4
VALUE
store TYPE %y, ptr %to, align 4
%next = add nsw i64 %i, %step
br label %test
done:
ret void
}}
"""

SHARED = f"""
{BARRIER}
define void @turn_thread({COORDINATES}) nounwind {{
%mine = getelementptr inbounds i64, ptr %shared, i64 %tid
store i64 %tid, ptr %mine, align 8
call void @dsim_barrier(ptr %barrier)
%last = sub i64 %ntid, 1
%other = sub i64 %last, %tid
%theirs = getelementptr inbounds i64, ptr %shared, i64 %other
%found = load i64, ptr %theirs, align 8
%to = getelementptr inbounds i64, ptr %given, i64 %tid
store i64 %found, ptr %to, align 8
ret void
}}
"""


def module(value: str = "%y = fmul float %x, 2.0", kind: str = "float", declared: str = "") -> GridModule:
    """The kernel that stores `value`, ``%y`` of ``%x``."""
    text = TEXT.replace("TYPE", kind).replace("VALUE", value)
    return _module(f"{declared}\n{text}", GridKernel("copy", "parallel"))


def calling(*functions: str, kind: str = "double") -> GridModule:
    """The kernel that applies functions of C's library one after the other."""
    of = {"float": "f32", "double": "f64"}[kind]
    names = [f"dsim_math_{f}_{of}" for f in functions]
    declared = [f"declare {kind} @{n}({kind}) memory(none) nounwind willreturn" for n in names]
    values = ["%x", *(f"%y{n}" for n in range(1, len(names))), "%y"]
    lines = [f"{values[n + 1]} = call {kind} @{name}({kind} {values[n]})" for n, name in enumerate(names)]
    return module("\n".join(lines), kind, "\n".join(declared))


def turning(shared_bytes: int = 8, block_bytes: int = 0) -> GridModule:
    """A block in which each thread reads what another one wrote to shared memory, behind a barrier."""
    return _module(SHARED, GridKernel("turn", "combine", shared_bytes, block_bytes))


def _module(text: str, *kernels: GridKernel) -> GridModule:
    return GridModule(text, kernels, FrameLayout((), (), 0), Messages(), (), ())
