"""Whether a task has threads: what its launches measure, and helper functions in LLVM IR that judge it.

Threads are not always faster: a task may be short, and where another one that shares its data runs alone,
the data move between caches. A task that is slower with threads runs alone for a while, and tries again at
growing intervals. What counts is its own time, and the time from one launch to the next: what one task moves,
others fetch back. Each is judged by its best value, since other programs delay any launch.

Tasks that share data are often fast together, with threads or alone, and slow when they are mixed. So while
one tries threads again all others do, too.
"""

from __future__ import annotations

from dsim.backends.llvm import frame
from dsim.backends.llvm.text import PLAIN, Module

# What a task remembers between launches, in slots. First the fewest cycles of an iteration, each a double, or
# 0 where it is unknown: alone, with threads, and from one launch to the next, alone and with threads. Then
# how many launches are to go alone still, how many the next time, how many had threads since it was judged,
# when the last one began, whether that had threads, and the end of the last trial that it took part in.
_ALONE, _SHARED, _PERIOD_ALONE, _PERIOD_SHARED, _WAIT, _NEXT_WAIT, _TURN, _LAST, _NOW, _TRIED = range(10)
MEMORY = 10

_SAMPLE = 4  # launches alone, to know what they take
_TRIAL = 8  # launches with threads that are judged together
_FIRST_WAIT = 16  # launches; the longest wait is about half a second, or 4096 launches
_OPEN = 3 * _TRIAL  # launches for which a trial is open to other tasks
_LONGEST_TRIAL = 1 << 28  # cycles
_SLOWER = 1.125  # how much slower the best of a few may be than the best of many

_WANTS = f"""define i1 @dsim_wants_threads(
  ptr %own, ptr %runtime, i64 %began, double %iterations, i1 %again) {PLAIN} {{
entry:
{frame.located("now_at", _NOW, "%own")}  br i1 %again, label %as_before, label %anew
as_before:
  %now = load i64, ptr %now_at, align 8
  %had = icmp ne i64 %now, 0
  ret i1 %had
anew:
  %now_threads = load i64, ptr %now_at, align 8
  %had_threads = icmp ne i64 %now_threads, 0
{frame.located("period_alone_at", _PERIOD_ALONE, "%own")}\
{frame.located("period_shared_at", _PERIOD_SHARED, "%own")}\
  %period_at = select i1 %had_threads, ptr %period_shared_at, ptr %period_alone_at
{frame.located("wait_at", _WAIT, "%own")}{frame.located("next_wait_at", _NEXT_WAIT, "%own")}\
{frame.located("turn_at", _TURN, "%own")}{frame.located("last_at", _LAST, "%own")}\
{frame.located("trial_at", frame.TRIAL, "%runtime")}{frame.located("alone_at", _ALONE, "%own")}\
{frame.located("tried_at", _TRIED, "%own")}  %last = load i64, ptr %last_at, align 8
  store i64 %began, ptr %last_at, align 8
  %period = sub i64 %began, %last
  %period_d = uitofp i64 %period to double
  %rate = fdiv double %period_d, %iterations
  call void @dsim_keep_least(ptr %period_at, double %rate)
  %trial_ends = load atomic i64, ptr %trial_at monotonic, align 8
  %on_trial = icmp slt i64 %began, %trial_ends
  %wait = load i64, ptr %wait_at, align 8
  %waits = icmp sgt i64 %wait, 0
  br i1 %waits, label %waiting, label %free
waiting:
  %alone = load double, ptr %alone_at, align 8
  %known = fcmp one double %alone, 0.0
  %tried = load i64, ptr %tried_at, align 8
  %another = icmp ne i64 %tried, %trial_ends
  %may = and i1 %known, %another
  %joins = and i1 %on_trial, %may
  %left = sub i64 %wait, 1
  %rest = select i1 %joins, i64 0, i64 %left
  store i64 %rest, ptr %wait_at, align 8
  %joined = zext i1 %joins to i64
  store i64 %joined, ptr %now_at, align 8
  br i1 %joins, label %take_part, label %no
no:
  ret i1 false
take_part:
  store double 0.0, ptr %period_shared_at, align 8
  store i64 %trial_ends, ptr %tried_at, align 8
  ret i1 true
free:
  %turn = load i64, ptr %turn_at, align 8
  %next_wait = load i64, ptr %next_wait_at, align 8
  store i64 %trial_ends, ptr %tried_at, align 8
  %first = icmp eq i64 %turn, 0
  br i1 %first, label %clear, label %yes
clear:
  store double 0.0, ptr %period_shared_at, align 8
  %waited = icmp sgt i64 %next_wait, 0
  %nobody_else = xor i1 %on_trial, true
  %opens = and i1 %waited, %nobody_else
  br i1 %opens, label %open, label %yes
open:
  %some = mul i64 %period, {_OPEN}
  %lasts = call i64 @llvm.umin.i64(i64 %some, i64 {_LONGEST_TRIAL})
  %ends = add i64 %began, %lasts
  store atomic i64 %ends, ptr %trial_at monotonic, align 8
  store i64 %ends, ptr %tried_at, align 8
  br label %yes
yes:
  store i64 1, ptr %now_at, align 8
  ret i1 true
}}"""

_KEEP_LEAST = f"""define void @dsim_keep_least(ptr %at, double %value) {PLAIN} {{
entry:
  %best = load double, ptr %at, align 8
  %unknown = fcmp oeq double %best, 0.0
  %less = fcmp olt double %value, %best
  %better = or i1 %unknown, %less
  %kept = select i1 %better, double %value, double %best
  store double %kept, ptr %at, align 8
  ret void
}}"""

_JUDGED = f"""define i1 @dsim_is_slower(ptr %shared_at, ptr %alone_at) {PLAIN} {{
entry:
  %shared = load double, ptr %shared_at, align 8
  %alone = load double, ptr %alone_at, align 8
  %bound = fmul double %alone, {_SLOWER}
  %slower = fcmp ogt double %shared, %bound
  ret i1 %slower
}}"""

_SHARED_RAN = f"""define void @dsim_shared_ran(ptr %own, double %cycles, double %iterations) {PLAIN} {{
entry:
{frame.located("alone_at", _ALONE, "%own")}{frame.located("shared_at", _SHARED, "%own")}\
{frame.located("period_alone_at", _PERIOD_ALONE, "%own")}\
{frame.located("period_shared_at", _PERIOD_SHARED, "%own")}\
{frame.located("wait_at", _WAIT, "%own")}{frame.located("next_wait_at", _NEXT_WAIT, "%own")}\
{frame.located("turn_at", _TURN, "%own")}  %alone = load double, ptr %alone_at, align 8
  %unknown = fcmp oeq double %alone, 0.0
  br i1 %unknown, label %sample, label %note
sample:
  store i64 {_SAMPLE}, ptr %wait_at, align 8
  ret void
note:
  %rate = fdiv double %cycles, %iterations
  call void @dsim_keep_least(ptr %shared_at, double %rate)
  %turn = load i64, ptr %turn_at, align 8
  %turns = add i64 %turn, 1
  store i64 %turns, ptr %turn_at, align 8
  %enough = icmp sge i64 %turns, {_TRIAL}
  br i1 %enough, label %judge, label %end
judge:
  %itself = call i1 @dsim_is_slower(ptr %shared_at, ptr %alone_at)
  %whole = call i1 @dsim_is_slower(ptr %period_shared_at, ptr %period_alone_at)
  %slower = or i1 %itself, %whole
  store double 0.0, ptr %shared_at, align 8
  br i1 %slower, label %back_off, label %good
back_off:
  store i64 0, ptr %turn_at, align 8
  store double 0.0, ptr %alone_at, align 8
  store double 0.0, ptr %period_alone_at, align 8
  %known_wait = load i64, ptr %next_wait_at, align 8
  %wait = call i64 @llvm.umax.i64(i64 %known_wait, i64 {_FIRST_WAIT})
  store i64 %wait, ptr %wait_at, align 8
  %twice = shl i64 %wait, 1
  %time = fmul double %alone, %iterations
  %floor = fadd double %time, 262144.0
  %second = fdiv double 1073741824.0, %floor
  %limit = fptoui double %second to i64
  %capped = call i64 @llvm.umin.i64(i64 %twice, i64 %limit)
  %next_wait = call i64 @llvm.umax.i64(i64 %capped, i64 {_FIRST_WAIT})
  store i64 %next_wait, ptr %next_wait_at, align 8
  ret void
good:
  store i64 1, ptr %turn_at, align 8
  store double 0.0, ptr %period_shared_at, align 8
  store i64 0, ptr %next_wait_at, align 8
  ret void
end:
  ret void
}}"""

_ALONE_RAN = f"""define void @dsim_alone_ran(ptr %own, double %cycles, double %iterations) {PLAIN} {{
entry:
{frame.located("alone_at", _ALONE, "%own")}  %rate = fdiv double %cycles, %iterations
  call void @dsim_keep_least(ptr %alone_at, double %rate)
  ret void
}}"""


def functions(module: Module) -> None:
    """The functions that judge a task by what it remembers.

    ``dsim_wants_threads(memory, runtime, cycles, iterations, again)`` says whether a launch that begins now
    is to have threads, or `again`, for its second phase; ``dsim_shared_ran`` and ``dsim_alone_ran(memory,
    cycles, iterations)`` note what one took.
    """
    module.share("dsim_keep_least", _KEEP_LEAST)
    module.share("dsim_is_slower", _JUDGED)
    module.share("dsim_wants_threads", _WANTS)
    module.share("dsim_shared_ran", _SHARED_RAN)
    module.share("dsim_alone_ran", _ALONE_RAN)
