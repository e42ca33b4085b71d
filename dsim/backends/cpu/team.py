"""A team: the thread that launches, and members that wait to work beside it.

A launch posts work for the first members of the team and does its own part. A member that has not begun by
then, since it sleeps or has no processor, need not: the launching thread withdraws its part, and does it
itself. So work that takes microseconds is worth sharing, and a busy machine delays nobody.

A member that has nothing to do spins for a while, then lets others run, then sleeps.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import signal
from collections.abc import Iterator

import llvmlite.binding as llvm

from dsim.backends.cpu.own_code import OwnCode
from dsim.backends.llvm.text import PLAIN

_LINE = 64  # bytes: what different threads write lies in different cache lines

# The team's block, in bytes: the post, the work and its data, whether all end, and how many members sleep.
# The post is a number that grows, shifted, and below it how many threads are to work.
_POST, _WORK, _DATA, _END, _ASLEEP = 0, _LINE, _LINE + 8, _LINE + 16, 2 * _LINE
_HEAD = 3 * _LINE
_COUNT_BITS = 16
# A member's block: its state, its number and its team; whether it sleeps; a mutex and a condition.
# Its state is twice the number of the post that is done, or withdrawn; one less while it works on it.
_STATE, _NUMBER, _TEAM, _SLEEPS, _MUTEX, _CONDITION = 0, 8, 16, _LINE, 2 * _LINE, 4 * _LINE
_MEMBER = 6 * _LINE

_SPINS = 4096  # pauses of a member before it lets others run: some 0.1 ms
_YIELDS = 1024  # how often it does before it sleeps
_PATIENCE = 256  # pauses of the launching thread, at the end, before it lets a member run
_PAUSES = {
    "x86_64": "declare void @llvm.x86.sse2.pause()",
    "aarch64": "declare void @llvm.aarch64.hint(i32)",
    "arm64": "declare void @llvm.aarch64.hint(i32)",
}


def _pause() -> tuple[str, str]:
    """What tells the processor that a thread spins: its declaration, and the call."""
    declared = _PAUSES.get(llvm.get_process_triple().partition("-")[0])
    if declared is None:
        return "", ""
    return declared, declared.replace("declare", "call").replace("i32", "i32 1")


def _at(name: str, base: str, byte: int | str) -> str:
    return f"  %{name} = getelementptr i8, ptr {base}, i64 {byte}\n"


def _text() -> str:
    declared, pause = _pause()
    return f"""{declared}
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @sched_yield()

define internal void @wake(ptr %team, i64 %count) {PLAIN} {{
entry:
{_at("asleep_at", "%team", _ASLEEP)}  %asleep = load atomic i64, ptr %asleep_at seq_cst, align 8
  %some = icmp sgt i64 %asleep, 0
  br i1 %some, label %each, label %end
each:
  %k = phi i64 [ 1, %entry ], [ %next, %following ]
  %is = icmp slt i64 %k, %count
  br i1 %is, label %look, label %end
look:
  %before = mul i64 %k, {_MEMBER}
  %place = add i64 %before, {_HEAD - _MEMBER}
{_at("member", "%team", "%place")}{_at("sleeps_at", "%member", _SLEEPS)}\
  %sleeps = load atomic i64, ptr %sleeps_at seq_cst, align 8
  %does = icmp ne i64 %sleeps, 0
  br i1 %does, label %signal, label %following
signal:
{_at("mutex", "%member", _MUTEX)}{_at("condition", "%member", _CONDITION)}\
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %signalled = call i32 @pthread_cond_signal(ptr %condition)
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %following
following:
  %next = add i64 %k, 1
  br label %each
end:
  ret void
}}

define internal i64 @post(ptr %team, i64 %count) {PLAIN} {{
  %before = load i64, ptr %team
  %last = lshr i64 %before, {_COUNT_BITS}
  %number = add i64 %last, 1
  %high = shl i64 %number, {_COUNT_BITS}
  %word = or i64 %high, %count
  store atomic i64 %word, ptr %team seq_cst, align 8
  ret i64 %number
}}

define internal void @together(ptr %team, ptr %work, ptr %data, i64 %count) {PLAIN} {{
entry:
{_at("work_at", "%team", _WORK)}{_at("data_at", "%team", _DATA)}\
  store ptr %work, ptr %work_at
  store ptr %data, ptr %data_at
  %number = call i64 @post(ptr %team, i64 %count)
  call void @wake(ptr %team, i64 %count)
  %done = shl i64 %number, 1
  %working = sub i64 %done, 1
  call void %work(ptr %data, i64 0)
  br label %each
each:
  %k = phi i64 [ 1, %entry ], [ %next, %following ]
  %is = icmp slt i64 %k, %count
  br i1 %is, label %begin, label %end
begin:
  %before = mul i64 %k, {_MEMBER}
  %place = add i64 %before, {_HEAD - _MEMBER}
{_at("state_at", "%team", "%place")}  br label %look
look:
  %spins = phi i64 [ 0, %begin ], [ %spins, %withdraw ], [ %more, %spin ], [ %more, %yield ]
  %state = load atomic i64, ptr %state_at acquire, align 8
  %ready = icmp eq i64 %state, %done
  br i1 %ready, label %following, label %unfinished
unfinished:
  %works = icmp eq i64 %state, %working
  br i1 %works, label %spin, label %withdraw
withdraw:
  %pair = cmpxchg ptr %state_at, i64 %state, i64 %done acq_rel acquire
  %withdrawn = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %withdrawn, label %instead, label %look
instead:
  call void %work(ptr %data, i64 %k)
  br label %following
spin:
  {pause}
  %more = add i64 %spins, 1
  %long = icmp sgt i64 %more, {_PATIENCE}
  br i1 %long, label %yield, label %look
yield:
  %yielded = call i32 @sched_yield()
  br label %look
following:
  %next = add i64 %k, 1
  br label %each
end:
  ret void
}}

define internal void @end(ptr %team, i64 %count) {PLAIN} {{
{_at("end_at", "%team", _END)}  store atomic i64 1, ptr %end_at seq_cst, align 8
  %number = call i64 @post(ptr %team, i64 0)
  call void @wake(ptr %team, i64 %count)
  ret void
}}

define internal ptr @serve(ptr %member) {PLAIN} {{
entry:
{_at("number_at", "%member", _NUMBER)}{_at("team_at", "%member", _TEAM)}\
{_at("sleeps_at", "%member", _SLEEPS)}{_at("mutex", "%member", _MUTEX)}\
{_at("condition", "%member", _CONDITION)}\
  %k = load i64, ptr %number_at
  %team = load ptr, ptr %team_at
{_at("work_at", "%team", _WORK)}{_at("data_at", "%team", _DATA)}{_at("end_at", "%team", _END)}\
{_at("asleep_at", "%team", _ASLEEP)}  br label %wait
wait:
  %seen = phi i64 [ 0, %entry ], [ %post, %posted ], [ %post, %claim ], [ %post, %try ], [ %post, %work ]
  br label %look
look:
  %spins = phi i64 [ 0, %wait ], [ %more, %spin ], [ %more, %yield ]
  %soon = load atomic i64, ptr %team acquire, align 8
  %new = icmp ne i64 %soon, %seen
  br i1 %new, label %found, label %idle
idle:
  %more = add i64 %spins, 1
  %short = icmp slt i64 %more, {_SPINS}
  br i1 %short, label %spin, label %longer
spin:
  {pause}
  br label %look
longer:
  %awake = icmp slt i64 %more, {_SPINS + _YIELDS}
  br i1 %awake, label %yield, label %sleep
yield:
  %yielded = call i32 @sched_yield()
  br label %look
sleep:
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %more_asleep = atomicrmw add ptr %asleep_at, i64 1 seq_cst
  %slept = atomicrmw xchg ptr %sleeps_at, i64 1 seq_cst
  br label %check
check:
  %later = load atomic i64, ptr %team seq_cst, align 8
  %none = icmp eq i64 %later, %seen
  br i1 %none, label %doze, label %rise
doze:
  %woken = call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  br label %check
rise:
  %less_asleep = atomicrmw sub ptr %asleep_at, i64 1 seq_cst
  %risen = atomicrmw xchg ptr %sleeps_at, i64 0 seq_cst
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %found
found:
  %post = phi i64 [ %soon, %look ], [ %later, %rise ]
  %ends = load atomic i64, ptr %end_at acquire, align 8
  %over = icmp ne i64 %ends, 0
  br i1 %over, label %leave, label %posted
posted:
  %count = and i64 %post, {(1 << _COUNT_BITS) - 1}
  %wanted = icmp slt i64 %k, %count
  br i1 %wanted, label %claim, label %wait
claim:
  %number = lshr i64 %post, {_COUNT_BITS}
  %done = shl i64 %number, 1
  %working = sub i64 %done, 1
  %state = load atomic i64, ptr %member acquire, align 8
  %late = icmp sge i64 %state, %working
  br i1 %late, label %wait, label %try
try:
  %pair = cmpxchg ptr %member, i64 %state, i64 %working acq_rel acquire
  %claimed = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %claimed, label %work, label %wait
work:
  %does = load ptr, ptr %work_at
  %data = load ptr, ptr %data_at
  call void %does(ptr %data, i64 %k)
  store atomic i64 %done, ptr %member release, align 8
  br label %wait
leave:
  ret ptr null
}}

define i64 @dsim_entry(ptr %functions) {PLAIN} {{
  store ptr @together, ptr %functions
{_at("second", "%functions", 8)}  store ptr @serve, ptr %second
{_at("third", "%functions", 16)}  store ptr @end, ptr %third
  ret i64 0
}}
"""


_CODE = OwnCode(_text())
begin = _CODE.begin  # compiling it, while a kernel that needs it is compiled


class Team:
    """Threads of the system's own, which Python does not know.

    Parameters
    ----------
    size : int
        How many threads work together at most, that which launches among them.

    Attributes
    ----------
    address : int
        Where the team lies.
    together : int
        The function ``(team, work, data, count)`` in machine code. It has ``work(data, number)`` called for
        each number below `count`, on as many threads, and always on the same one where that is free. Only
        one thread at a time may call it.
    """

    def __init__(self, size: int) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS  # a forked child has its own copy
        self._memory = mmap.mmap(-1, _HEAD + max(size - 1, 1) * _MEMBER, flags=flags)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._code = _CODE.compiled()
        found = (ctypes.c_void_p * 3)()
        self._code.function(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p))(found)
        self.together, serve, self._end = (int(f or 0) for f in found)
        self._serve, self._most = serve, size - 1
        self._threads: list[ctypes.c_void_p] = []

    @property
    def size(self) -> int:
        """How many threads work together: fewer than wanted where the system gives no more."""
        return 1 + sum(thread.value is not None for thread in self._threads)

    def start(self) -> None:
        """Starts the members, of which there are none before.

        From then on the team is never freed: members and launches may be in its code until the process is
        gone, also where a signal's handler raises an error here.
        """
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
        with _no_signals():
            while len(self._threads) < self._most and self._start(len(self._threads)):
                pass

    def _start(self, index: int) -> bool:
        """Starts a member, if the system allows it."""
        libc = ctypes.CDLL(None)
        member = self.address + _HEAD + index * _MEMBER
        ctypes.c_int64.from_address(member + _NUMBER).value = index + 1
        ctypes.c_int64.from_address(member + _TEAM).value = self.address
        libc.pthread_mutex_init(ctypes.c_void_p(member + _MUTEX), None)
        libc.pthread_cond_init(ctypes.c_void_p(member + _CONDITION), None)
        thread = ctypes.c_void_p()
        self._threads.append(thread)
        member, serve = ctypes.c_void_p(member), ctypes.c_void_p(self._serve)
        return libc.pthread_create(ctypes.byref(thread), None, serve, member) == 0

    def end(self) -> None:
        """Ends the members, and waits for them. What is shared afterwards, who launches does alone."""
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(self._end)(self.address, self.size)
        for thread in self._threads:
            if thread.value is not None:
                ctypes.CDLL(None).pthread_join(thread, None)
        self._threads.clear()


@contextlib.contextmanager
def _no_signals() -> Iterator[None]:
    """Threads that start here leave signals to Python's."""
    faults = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - faults)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
