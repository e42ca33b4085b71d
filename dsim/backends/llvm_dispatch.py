"""Helper functions in LLVM IR that give the chunks of a task to threads.

Threads take chunks one by one from a counter. Only one launch of the process at a time may use the
threads, whoever comes second runs its chunks alone: results are the same, since they depend on the
chunks only.
"""

from __future__ import annotations

from dsim.backends import llvm_frame as frame
from dsim.backends.llvm_text import PLAIN, Module


def _slot(name: str, slot: int, base: str = "%frame") -> str:
    return f"  %{name} = getelementptr inbounds i8, ptr {base}, i64 {slot * 8}\n"


_WORKER = f"""define void @dsim_worker(ptr %args, ptr %dims, ptr %steps, ptr %frame) {PLAIN} {{
entry:
{_slot("task_at", frame.TASK)}  %task = load ptr, ptr %task_at, align 8
{_slot("count_at", frame.COUNT)}  %count = load i64, ptr %count_at, align 8
{_slot("first_at", frame.FIRST)}  %first = load i64, ptr %first_at, align 8
{_slot("next", frame.NEXT)}  br label %take
take:
  %n = atomicrmw add ptr %next, i64 1 monotonic
  %some = icmp slt i64 %n, %count
  br i1 %some, label %run, label %end
run:
  %chunk = add i64 %n, %first
  call void %task(ptr %frame, i64 %chunk)
  br label %take
end:
  ret void
}}"""

_DISPATCH = f"""define void @dsim_dispatch(ptr %frame, ptr %task, i64 %first, i64 %count) {PLAIN} {{
entry:
  %dims = alloca i64
  %none = alloca [2 x i64]
{_slot("runtime_at", frame.RUNTIME)}  %runtime = load ptr, ptr %runtime_at, align 8
{_slot("threads_at", frame.THREADS, "%runtime")}  %threads = load i64, ptr %threads_at, align 8
{_slot("busy", frame.BUSY, "%runtime")}  %many = icmp sgt i64 %count, 1
  %some = icmp sgt i64 %threads, 1
  %both = and i1 %many, %some
  br i1 %both, label %ask, label %alone
ask:
  %pair = cmpxchg ptr %busy, i64 0, i64 1 acquire monotonic
  %mine = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %mine, label %share, label %alone
share:
{_slot("task_at", frame.TASK)}  store ptr %task, ptr %task_at, align 8
{_slot("count_at", frame.COUNT)}  store i64 %count, ptr %count_at, align 8
{_slot("first_at", frame.FIRST)}  store i64 %first, ptr %first_at, align 8
{_slot("next", frame.NEXT)}  store i64 0, ptr %next, align 8
  store i64 %threads, ptr %dims, align 8
{_slot("for_at", frame.PARALLEL_FOR, "%runtime")}  %for = load ptr, ptr %for_at, align 8
  %narrow = trunc i64 %threads to i32
  call void %for(ptr @dsim_worker, ptr %none, ptr %dims, ptr %none, ptr %frame, i64 0, i64 0, i32 %narrow)
  store atomic i64 0, ptr %busy release, align 8
  ret void
alone:
  br label %test
test:
  %c = phi i64 [ 0, %alone ], [ %following, %run ]
  %more = icmp slt i64 %c, %count
  br i1 %more, label %run, label %end
run:
  %chunk = add i64 %c, %first
  call void %task(ptr %frame, i64 %chunk)
  %following = add i64 %c, 1
  br label %test
end:
  ret void
}}"""

_CHUNKS = f"""define i64 @dsim_chunks(i64 %trips, i64 %cost, i64 %grain, i64 %limit, i64 %each) {PLAIN} {{
entry:
  %small = icmp slt i64 %trips, 1099511627776
  %t = select i1 %small, i64 %trips, i64 1099511627776
  %work = mul i64 %t, %cost
  %worth = udiv i64 %work, %grain
  %fit = udiv i64 %trips, %each
  %a = icmp ult i64 %worth, %fit
  %b = select i1 %a, i64 %worth, i64 %fit
  %c = icmp ult i64 %b, %limit
  %d = select i1 %c, i64 %b, i64 %limit
  br label %test
test:
  %n = phi i64 [ 1, %entry ], [ %twice, %test ]
  %twice = shl i64 %n, 1
  %more = icmp ule i64 %twice, %d
  br i1 %more, label %test, label %end
end:
  ret i64 %n
}}"""

_SCRATCH = f"""define ptr @dsim_scratch(ptr %frame, i64 %size) {PLAIN} {{
entry:
{_slot("at", frame.SCRATCH)}{_slot("size_at", frame.SCRATCH_SIZE)}  %now = load ptr, ptr %at, align 8
  %has = load i64, ptr %size_at, align 8
  %enough = icmp sge i64 %has, %size
  br i1 %enough, label %keep, label %grow
keep:
  ret ptr %now
grow:
  call void @free(ptr %now)
  %new = call ptr @malloc(i64 %size)
  store ptr %new, ptr %at, align 8
  %got = icmp ne ptr %new, null
  %holds = select i1 %got, i64 %size, i64 0
  store i64 %holds, ptr %size_at, align 8
  ret ptr %new
}}"""


def dispatch(module: Module) -> str:
    """The function ``(frame, task, first chunk, number of chunks)``."""
    module.share("dsim_worker", _WORKER)
    return module.share("dsim_dispatch", _DISPATCH)


def chunks(module: Module) -> str:
    """The function ``(trips, cost, grain, most chunks, least iterations of one)``; see `chunk_count`."""
    return module.share("dsim_chunks", _CHUNKS)


def scratch(module: Module) -> str:
    """The function ``(frame, bytes)`` that gives memory which the frame keeps; null when there is none."""
    return module.share("dsim_scratch", _SCRATCH)


_ADDED = ("half", "float", "double", "i8", "i16", "i32", "i64")  # gives each its own metadata's number


def add_up(module: Module, type: str, op: str, align: int) -> str:
    """The function ``(to, from, count)`` that adds one array of `type` to another."""
    name, n = f"dsim_add_up_{type}", _ADDED.index(type)
    return module.share(
        name,
        f"""define void @{name}(ptr noalias %to, ptr noalias %from, i64 %count) nounwind {{
entry:
  br label %test
test:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %end
body:
  %a = getelementptr inbounds {type}, ptr %to, i64 %i
  %b = getelementptr inbounds {type}, ptr %from, i64 %i
  %x = load {type}, ptr %a, align {align}
  %y = load {type}, ptr %b, align {align}
  %z = {op} {type} %x, %y
  store {type} %z, ptr %a, align {align}
  %next = add nuw nsw i64 %i, 1
  br label %test, !llvm.loop !{n}
end:
  ret void
}}
!{n} = distinct !{{!{n}, !{{!"llvm.loop.interleave.count", i32 1}}, !{{!"llvm.loop.unroll.disable"}}}}""",
    )


OUTSIDE = """declare noalias ptr @malloc(i64) nounwind
declare noalias ptr @calloc(i64, i64) nounwind
declare void @free(ptr captures(none)) nounwind
"""
