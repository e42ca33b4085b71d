"""From a kernel to LLVM IR, in the form for the threads of a processor: one entry runs all tasks.

The other form, for devices, is `grid`. Expressions and statements are the same in both; what differs between
machines goes through `Target`. Reading order: `text`, `arithmetic/primitives` (expressions), `writer` and
`memory`, `loops`, `statements`, `kernel` (tasks), `parallel`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from dsim.analysis.effects import Effects, effects
from dsim.analysis.write_plans import write_plan
from dsim.backends.llvm import checks, float_mode, frame, stops
from dsim.backends.llvm.frame import FrameLayout
from dsim.backends.llvm.kernel import (
    KernelWriter,
    Task,
    TaskForm,
    TripReach,
    Wishes,
    top_level_values,
    write_statements,
)
from dsim.backends.llvm.memory import buffers
from dsim.backends.llvm.parallel.plans import Schedule, schedule
from dsim.backends.llvm.parallel.reach import reach
from dsim.backends.llvm.parallel.tasks import write_parallel
from dsim.backends.llvm.statements import HANDLERS
from dsim.backends.llvm.target import HostTarget
from dsim.backends.llvm.text import PLAIN, Function
from dsim.backends.llvm.writer import Messages, Writer
from dsim.ir.nodes import Const, For, KernelIR, MemoryKey, Var


class Emitted(NamedTuple):
    """A kernel as LLVM IR.

    Attributes
    ----------
    text : str
        The module. Its entry, ``dsim_entry``, takes a frame and gives back whether there was a fault.
    shared : dict
        Functions that it calls and that many modules share, by name, as LLVM IR.
    layout : FrameLayout
        Where things lie in the frame.
    messages : Messages
        What the machine code may report.
    parallel : bool
        Whether it may use several threads.
    asks : bool
        Whether it may take long, and polls the stop flag.
    """

    text: str
    shared: dict[str, str]
    layout: FrameLayout
    messages: Messages
    parallel: bool
    asks: bool


def emit(kernel: KernelIR, target: HostTarget, wishes: Wishes, facts: Effects | None = None) -> Emitted:
    """Writes `kernel`, which has no `Derive` and no `Call` nodes, for `target`."""
    plans, k, entry = _start(kernel, target, wishes, facts)
    for task in k.tasks:
        if task.kind == "serial":
            _run_serial(k, entry, task)
        elif task.kind == "buffer":
            _make_buffer(k, entry, task)
        else:
            write_parallel(k, entry, task, plans.found[task.loop.index], target.float_mode)
    entry.release(0)
    entry.f.jump("leave")
    entry.f.open("leave")
    float_mode.restore(entry.f, target.float_mode)
    _return(k, entry.f)
    return _finish(k, target, bool(plans.found) and wishes.threads > 1)


def emit_search(
    kernel: KernelIR, target: HostTarget, wishes: Wishes, facts: Effects | None, statement: int
) -> Emitted:
    """Writes the part of `kernel` that finds a fault again: a top-level loop, without its effects.

    It runs on a frame that a launch of the whole kernel has left.
    """
    _, k, entry = _start(kernel, target, wishes, facts)
    k.dry = True
    _run_serial(k, entry, Task("search", "serial", (kernel.body.statements[statement],)))
    entry.f.jump("leave")
    entry.f.open("leave")
    float_mode.restore(entry.f, target.float_mode)
    entry.f.do(f"ret i64 {frame.read(entry.f, frame.STATUS, 'i64')}")
    return _finish(k, target, False)


def copied(
    kernel: KernelIR, target: HostTarget, wishes: Wishes, facts: Effects | None, key: MemoryKey
) -> TripReach | None:
    """What a loop of `kernel` touches of the memory `key`, if copies of it can be fused into the loop."""
    facts = facts if facts is not None else effects(kernel)
    plans, k, _ = _start(kernel, target, wishes, facts)
    return reach(key, k.tasks, plans.found, facts, wishes.strides)


def _start(
    kernel: KernelIR, target: HostTarget, wishes: Wishes, facts: Effects | None
) -> tuple[_Schedules, KernelWriter, Writer]:
    """The kernel's schedules and writer, and the writer of its entry."""
    if wishes.checks:
        facts = facts if facts is not None else effects(kernel)
        loops = [s for s in kernel.body.statements if isinstance(s, For)]
        later = frozenset(s.index for s in loops if checks.deferred(s, wishes.unchecked, facts))
        wishes = replace(wishes, deferred=later)
    plans = _Schedules(kernel, wishes, facts)
    k = KernelWriter(kernel, target, wishes, plans.parallel, TaskForm(frame.read_address))
    f = k.module.function(f"define i64 @dsim_entry(ptr %frame) {PLAIN}")
    entry = Writer(f, target, HANDLERS, wishes.unchecked, k.messages)
    entry.leave = "leave"
    frame.write(f, frame.STATUS, "i64", "0")
    float_mode.begin(f, target.float_mode)
    stops.start(f)
    return plans, k, entry


def _make_buffer(k: KernelWriter, entry: Writer, task: Task) -> None:
    """Makes, in the entry, a private buffer that several tasks use."""
    k.read_values(entry, task)
    buffers.allocate(entry, task.buffer)
    key = task.buffer.memory.key
    frame.write(entry.f, k.layout.memories[key], "ptr", entry.places[key].base)


def _run_serial(k: KernelWriter, entry: Writer, task: Task) -> None:
    """Writes the function of a task that runs on one thread, and its call in the entry."""
    write_statements(k, k.task_function(task.name, f"ptr noalias %frame{k.memory_params(task)}", task), task)
    args = ", ".join(["ptr %frame", *k.memory_args(entry.f, task)])
    entry.f.do(f"call void @{task.name}({args})")
    stops.end_if_stopped(entry)


def _return(k: KernelWriter, entry: Function) -> None:
    """Puts the kernel's return values into their slots, and returns the status."""
    for i, a in enumerate(k.kernel.body.yields):
        if isinstance(a, Const):
            continue  # known without running
        value = frame.read_scalar(entry, k.layout.value(a), a.type)
        frame.write_scalar(entry, k.layout.returns + i, a.type, value)
    entry.do(f"ret i64 {frame.read(entry, frame.STATUS, 'i64')}")


def _finish(k: KernelWriter, target: HostTarget, parallel: bool) -> Emitted:
    stops.finish(k.module)
    target.finish(k.module)
    return Emitted(k.module.text(), k.module.shared, k.layout, k.messages, parallel, k.module.asks)


class _Schedules:
    """The schedules of the loops that are worth several threads.

    Where sums are to be the same for any number of threads, one thread runs the chunks of many, and what
    would need atomics runs alone.
    """

    def __init__(self, kernel: KernelIR, wishes: Wishes, facts: Effects | None) -> None:
        self.kernel = kernel
        self.wishes = wishes
        self.facts = facts
        self.found: dict[Var, Schedule] = {}
        self._outside = top_level_values(kernel)

    def parallel(self, loop: For) -> bool:
        """Whether `loop` is to be split among threads."""
        if self.wishes.threads <= 1 and not self.wishes.deterministic:
            return False
        if self.facts is None:
            self.facts = effects(self.kernel)
        threads = 1 if self.wishes.deterministic else self.wishes.threads
        plans = write_plan(self.kernel, loop, self.facts)
        found = schedule(self.kernel, loop, plans, self._outside, self.wishes.strides, threads)
        if found is not None:
            self.found[loop.index] = found
        return found is not None
