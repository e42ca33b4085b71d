"""Helper functions in LLVM IR that give the chunks of a task to threads.

Each thread has an equal share of the chunks, the same in every task, since what it wrote in one task is in
its core's cache in the next. It takes them one by one from a counter. After a long share it takes those, too,
that others have not begun, but the last one of each: in short tasks moving the data takes longer than
waiting. Only one launch of the process at a time may use the threads; a concurrent one runs its chunks
alone: results are the same, since they depend on the chunks only. So a launch may also choose (`trials.py`).
"""

from __future__ import annotations

from dsim.backends.llvm import frame
from dsim.backends.llvm.float_mode import FloatMode
from dsim.backends.llvm.parallel import trials
from dsim.backends.llvm.text import PLAIN, Module

_LINE = 64  # bytes: a counter has a cache line to itself
_WORTH = 1 << 17  # cycles of a share before a thread takes chunks of others

_INTRINSICS = {
    "llvm.readcyclecounter": "declare i64 @llvm.readcyclecounter()",
    "llvm.umin.i64": "declare i64 @llvm.umin.i64(i64, i64)",
    "llvm.umax.i64": "declare i64 @llvm.umax.i64(i64, i64)",
}
_DISPATCHED = "ptr %frame, ptr %task, i64 %first, i64 %count, ptr %own, i64 %trips, i64 %most"
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
{frame.located("at", frame.SCRATCH)}{frame.located("size_at", frame.SCRATCH_SIZE)}\
  %now = load ptr, ptr %at, align 8
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


def _set(mode: FloatMode | None, at: str) -> str:
    """Sets the mode of floating point to that stored at `at`."""
    return mode.write.format(at=at, value=f"{at}_value") + "\n" if mode is not None else ""


def _worker(mode: FloatMode | None) -> str:
    """The function that takes chunks, in the launch's mode of floating point, as thread number `me`."""
    keep = mode.read.format(at="%kept_mode", value="%before") + "\n" if mode is not None else ""
    return f"""define void @dsim_worker(ptr %frame, i64 %me) {PLAIN} {{
entry:
{frame.located("task_at", frame.TASK)}  %task = load ptr, ptr %task_at, align 8
{frame.located("count_at", frame.COUNT)}  %count = load i64, ptr %count_at, align 8
{frame.located("first_at", frame.FIRST)}  %first = load i64, ptr %first_at, align 8
{frame.located("counters_at", frame.COUNTERS)}  %counters = load ptr, ptr %counters_at, align 8
{frame.located("team_at", frame.TEAM)}  %team = load i64, ptr %team_at, align 8
{frame.located("mode_at", frame.MODE)}  %kept_mode = alloca i64
  %began = call i64 @llvm.readcyclecounter()
{keep}{_set(mode, "%mode_at")}\
  br label %share
share:
  %whose = phi i64 [ %me, %entry ], [ %neighbour, %others ]
  %shares = phi i64 [ %team, %entry ], [ %left, %others ]
  %low_part = mul i64 %whose, %count
  %low = udiv i64 %low_part, %team
  %whose_next = add i64 %whose, 1
  %high_part = mul i64 %whose_next, %count
  %high = udiv i64 %high_part, %team
  %line = mul i64 %whose, {_LINE}
  %next = getelementptr inbounds i8, ptr %counters, i64 %line
  %size = sub i64 %high, %low
  %own = icmp eq i64 %shares, %team
  %left_alone = select i1 %own, i64 0, i64 1
  %mine = sub i64 %size, %left_alone
  br label %look
look:
  %begun = load atomic i64, ptr %next monotonic, align 8
  %more_chunks = icmp slt i64 %begun, %mine
  br i1 %more_chunks, label %take, label %over
take:
  %n = atomicrmw add ptr %next, i64 1 monotonic
  %at = add i64 %low, %n
  %some = icmp slt i64 %at, %high
  br i1 %some, label %run, label %over
run:
  %chunk = add i64 %at, %first
  call void %task(ptr %frame, i64 %chunk)
  br label %look
over:
  %ended = call i64 @llvm.readcyclecounter()
  %took = sub i64 %ended, %began
  %worth = icmp sgt i64 %took, {_WORTH}
  br i1 %worth, label %others, label %end
others:
  %neighbour = urem i64 %whose_next, %team
  %left = sub i64 %shares, 1
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %share, label %end
end:
{_set(mode, "%kept_mode")}\
  ret void
}}"""


def _dispatch(mode: FloatMode | None) -> str:
    """The function that `dispatch` describes."""
    return f"""define void @dsim_dispatch({_DISPATCHED}) {PLAIN} {{
entry:
{frame.located("runtime_at", frame.RUNTIME)}  %runtime = load ptr, ptr %runtime_at, align 8
{frame.located("threads_at", frame.THREADS, "%runtime")}  %there = load i64, ptr %threads_at, align 8
  %allowed = call i64 @llvm.umin.i64(i64 %there, i64 %most)
  %threads = call i64 @llvm.umin.i64(i64 %allowed, i64 %count)
{frame.located("busy", frame.BUSY, "%runtime")}  %several = icmp sgt i64 %threads, 1
  %began = call i64 @llvm.readcyclecounter()
  %iterations = sitofp i64 %trips to double
  br i1 %several, label %consider, label %alone
consider:
  %again = icmp ne i64 %first, 0
  %wants = call i1 @dsim_wants_threads(ptr %own, ptr %runtime, i64 %began, double %iterations, i1 %again)
  br i1 %wants, label %ask, label %alone
ask:
  %pair = cmpxchg ptr %busy, i64 0, i64 1 acquire monotonic
  %mine = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %mine, label %share, label %alone
share:
{frame.located("task_at", frame.TASK)}  store ptr %task, ptr %task_at, align 8
{frame.located("count_at", frame.COUNT)}  store i64 %count, ptr %count_at, align 8
{frame.located("first_at", frame.FIRST)}  store i64 %first, ptr %first_at, align 8
{frame.located("team_at", frame.TEAM)}  store i64 %threads, ptr %team_at, align 8
  %bytes = mul i64 %threads, {_LINE}
  %counters = alloca i8, i64 %bytes, align {_LINE}
  call void @llvm.memset.p0.i64(ptr %counters, i8 0, i64 %bytes, i1 false)
{frame.located("counters_at", frame.COUNTERS)}  store ptr %counters, ptr %counters_at, align 8
{frame.located("together_at", frame.TOGETHER, "%runtime")}  %together = load ptr, ptr %together_at, align 8
{frame.located("members_at", frame.MEMBERS, "%runtime")}  %members = load ptr, ptr %members_at, align 8
  call void %together(ptr %members, ptr @dsim_worker, ptr %frame, i64 %threads)
  store atomic i64 0, ptr %busy release, align 8
  br i1 %again, label %leave, label %judge
judge:
  %joined = call i64 @llvm.readcyclecounter()
  %took = sub i64 %joined, %began
  %took_d = uitofp i64 %took to double
  call void @dsim_shared_ran(ptr %own, double %took_d, double %iterations)
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
  %once = icmp eq i64 %first, 0
  %counts = and i1 %several, %once
  br i1 %counts, label %measure, label %leave
measure:
  %ended = call i64 @llvm.readcyclecounter()
  %spent = sub i64 %ended, %began
  %spent_d = uitofp i64 %spent to double
  call void @dsim_alone_ran(ptr %own, double %spent_d, double %iterations)
  br label %leave
leave:
  ret void
}}"""


def dispatch(module: Module, mode: FloatMode | None) -> str:
    """The function ``(frame, task, first chunk, number of chunks, its slots, iterations, most threads)``."""
    for name, declared in _INTRINSICS.items():
        module.declare(name, declared)
    trials.functions(module)
    module.share("dsim_worker", _worker(mode))
    return module.share("dsim_dispatch", _dispatch(mode))


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
declare noalias ptr @realloc(ptr captures(none), i64) nounwind
declare void @free(ptr captures(none)) nounwind
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
""" + "".join(f"{declared}\n" for declared in _INTRINSICS.values())
