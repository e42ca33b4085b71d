"""Helper functions in LLVM IR that give the chunks of a task to threads.

Each thread has an equal share of the chunks, the same in every task, since what it wrote in one task is in
its core's cache in the next. It takes them one by one from a counter, and then those that others have not
begun. Only one launch of the process at a time may use the threads; a concurrent one runs its chunks alone:
results are the same, since they depend on the chunks only. So a launch may also choose: where threads were
slower than one (short tasks, a busy machine) it runs alone for a while, and tries again at growing intervals.
"""

from __future__ import annotations

from dsim.backends.llvm import frame
from dsim.backends.llvm.float_mode import FloatMode
from dsim.backends.llvm.text import PLAIN, Module


def _slot(name: str, slot: int, base: str = "%frame") -> str:
    return f"  %{name} = getelementptr inbounds i8, ptr {base}, i64 {slot * 8}\n"


# The state of a dispatch between launches, in slots: cycles that an iteration takes alone (a
# double, 0 before the first time), how many launches to go alone still, how many the next time.
MEMORY = 3
_LINE = 64  # bytes: a counter has a cache line to itself
_FIRST_WAIT = 4  # the longest is about half a second, or 4096 launches

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


def _set(mode: FloatMode | None, at: str) -> str:
    """Sets the mode of floating point to that stored at `at`."""
    return mode.write.format(at=at, value=f"{at}_value") + "\n" if mode is not None else ""


def _worker(mode: FloatMode | None) -> str:
    """The function that takes chunks, in the launch's mode of floating point, on any thread.

    The threading layer adds the number of the call to the address in its first argument, which is 0, and
    makes the call of a number on the same thread each time, where it can.
    """
    keep = mode.read.format(at="%own", value="%before") + "\n" if mode is not None else ""
    return f"""define void @dsim_worker(ptr %args, ptr %dims, ptr %steps, ptr %frame) {PLAIN} {{
entry:
{_slot("task_at", frame.TASK)}  %task = load ptr, ptr %task_at, align 8
{_slot("count_at", frame.COUNT)}  %count = load i64, ptr %count_at, align 8
{_slot("first_at", frame.FIRST)}  %first = load i64, ptr %first_at, align 8
{_slot("counters_at", frame.COUNTERS)}  %counters = load ptr, ptr %counters_at, align 8
{_slot("team_at", frame.TEAM)}  %team = load i64, ptr %team_at, align 8
{_slot("mode_at", frame.MODE)}  %own = alloca i64
  %given = load ptr, ptr %args, align 8
  %number = ptrtoint ptr %given to i64
  %me = urem i64 %number, %team
{keep}{_set(mode, "%mode_at")}\
  br label %share
share:
  %whose = phi i64 [ %me, %entry ], [ %neighbour, %over ]
  %shares = phi i64 [ %team, %entry ], [ %left, %over ]
  %low_part = mul i64 %whose, %count
  %low = udiv i64 %low_part, %team
  %whose_next = add i64 %whose, 1
  %high_part = mul i64 %whose_next, %count
  %high = udiv i64 %high_part, %team
  %line = mul i64 %whose, {_LINE}
  %next = getelementptr inbounds i8, ptr %counters, i64 %line
  br label %take
take:
  %n = atomicrmw add ptr %next, i64 1 monotonic
  %at = add i64 %low, %n
  %some = icmp slt i64 %at, %high
  br i1 %some, label %run, label %over
run:
  %chunk = add i64 %at, %first
  call void %task(ptr %frame, i64 %chunk)
  br label %take
over:
  %neighbour = urem i64 %whose_next, %team
  %left = sub i64 %shares, 1
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %share, label %end
end:
{_set(mode, "%own")}\
  ret void
}}"""


def _dispatch(mode: FloatMode | None) -> str:
    """The function that `dispatch` describes. The threads that it may start inherit the caller's mode."""
    return f"""define void @dsim_dispatch({_DISPATCHED}) {PLAIN} {{
entry:
  %dims = alloca i64
  %args = alloca ptr
  %steps = alloca i64
{_slot("alone_at", 0, "%own")}{_slot("wait_at", 1, "%own")}{_slot("next_wait_at", 2, "%own")}\
{_slot("runtime_at", frame.RUNTIME)}  %runtime = load ptr, ptr %runtime_at, align 8
{_slot("threads_at", frame.THREADS, "%runtime")}  %there = load i64, ptr %threads_at, align 8
  %few = icmp slt i64 %there, %most
  %threads = select i1 %few, i64 %there, i64 %most
{_slot("busy", frame.BUSY, "%runtime")}  %many = icmp sgt i64 %count, 1
  %some = icmp sgt i64 %threads, 1
  %both = and i1 %many, %some
  %wait = load i64, ptr %wait_at, align 8
  %left = sub i64 %wait, 1
  %waits = icmp sgt i64 %wait, 0
  %began = call i64 @llvm.readcyclecounter()
  %iterations = sitofp i64 %trips to double
  br i1 %both, label %consider, label %alone
consider:
  br i1 %waits, label %postpone, label %ask
postpone:
  store i64 %left, ptr %wait_at, align 8
  br label %alone
ask:
  %pair = cmpxchg ptr %busy, i64 0, i64 1 acquire monotonic
  %mine = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %mine, label %share, label %alone
share:
{_slot("task_at", frame.TASK)}  store ptr %task, ptr %task_at, align 8
{_slot("count_at", frame.COUNT)}  store i64 %count, ptr %count_at, align 8
{_slot("first_at", frame.FIRST)}  store i64 %first, ptr %first_at, align 8
{_slot("team_at", frame.TEAM)}  store i64 %threads, ptr %team_at, align 8
  %bytes = mul i64 %threads, {_LINE}
  %counters = alloca i8, i64 %bytes, align {_LINE}
  call void @llvm.memset.p0.i64(ptr %counters, i8 0, i64 %bytes, i1 false)
{_slot("counters_at", frame.COUNTERS)}  store ptr %counters, ptr %counters_at, align 8
  store i64 %threads, ptr %dims, align 8
  store ptr null, ptr %args, align 8
  store i64 1, ptr %steps, align 8
{_slot("for_at", frame.PARALLEL_FOR, "%runtime")}  %for = load ptr, ptr %for_at, align 8
  %narrow = trunc i64 %threads to i32
{_slot("callers_mode", frame.CALLERS_MODE)}{_slot("mode", frame.MODE)}{_set(mode, "%callers_mode")}\
  call void %for(ptr @dsim_worker, ptr %args, ptr %dims, ptr %steps, ptr %frame, i64 0, i64 1, i32 %narrow)
{_set(mode, "%mode")}\
  store atomic i64 0, ptr %busy release, align 8
  %joined = call i64 @llvm.readcyclecounter()
  %took = sub i64 %joined, %began
  %took_d = uitofp i64 %took to double
  %shared_rate = fdiv double %took_d, %iterations
  %alone_rate = load double, ptr %alone_at, align 8
  %unknown = fcmp oeq double %alone_rate, 0.0
  br i1 %unknown, label %compare, label %judge
compare:
  store i64 1, ptr %wait_at, align 8
  store i64 {_FIRST_WAIT}, ptr %next_wait_at, align 8
  ret void
judge:
  %slower = fcmp ogt double %shared_rate, %alone_rate
  br i1 %slower, label %back_off, label %good
back_off:
  %next_wait = load i64, ptr %next_wait_at, align 8
  store i64 %next_wait, ptr %wait_at, align 8
  %twice = shl i64 %next_wait, 1
  %time = fmul double %alone_rate, %iterations
  %floor = fadd double %time, 262144.0
  %second = fdiv double 1073741824.0, %floor
  %limit = fptoui double %second to i64
  %short = icmp slt i64 %twice, %limit
  %capped = select i1 %short, i64 %twice, i64 %limit
  %enough = icmp sgt i64 %capped, {_FIRST_WAIT}
  %longer = select i1 %enough, i64 %capped, i64 {_FIRST_WAIT}
  store i64 %longer, ptr %next_wait_at, align 8
  ret void
good:
  store i64 {_FIRST_WAIT}, ptr %next_wait_at, align 8
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
  br i1 %both, label %measure, label %leave
measure:
  %ended = call i64 @llvm.readcyclecounter()
  %spent = sub i64 %ended, %began
  %spent_d = uitofp i64 %spent to double
  %rate = fdiv double %spent_d, %iterations
  %known = load double, ptr %alone_at, align 8
  %fresh = fcmp oeq double %known, 0.0
  %sum = fadd double %known, %rate
  %mean = fmul double %sum, 0.5
  %kept = select i1 %fresh, double %rate, double %mean
  store double %kept, ptr %alone_at, align 8
  br label %leave
leave:
  ret void
}}"""


def dispatch(module: Module, mode: FloatMode | None) -> str:
    """The function ``(frame, task, first chunk, number of chunks, its slots, iterations, most threads)``."""
    module.declare("llvm.readcyclecounter", "declare i64 @llvm.readcyclecounter()")
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
declare i64 @llvm.readcyclecounter()
"""
