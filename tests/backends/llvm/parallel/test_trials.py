"""Which launches of a task have threads: a program is played by what its launches take, in cycles."""

import ctypes
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import pytest

from dsim.backends.cpu.code import MachineCode
from dsim.backends.llvm import frame
from dsim.backends.llvm.parallel import trials
from dsim.backends.llvm.parallel.dispatch import OUTSIDE
from dsim.backends.llvm.text import Module

ITERATIONS = 1000
GREATEST_WAIT = 4096
TEXT = """
define i64 @dsim_entry(i64 %what, ptr %own, ptr %runtime, i64 %cycles) {
  %c = uitofp i64 %cycles to double
  switch i64 %what, label %wants [ i64 1, label %shared i64 2, label %alone ]
wants:
  %again = icmp eq i64 %what, 3
  %w = call i1 @own_wants_threads(ptr %own, ptr %runtime, i64 %cycles, double 1000.0, i1 %again)
  %r = zext i1 %w to i64
  ret i64 %r
shared:
  call void @own_shared_ran(ptr %own, double %c, double 1000.0)
  ret i64 0
alone:
  call void @own_alone_ran(ptr %own, double %c, double 1000.0)
  ret i64 0
}"""
WANTS, SHARED, ALONE, AGAIN = range(4)


class Task(NamedTuple):
    """Cycles of a launch alone, with threads, and with threads where another task has none."""

    alone: int
    shared: int
    mixed: int


class Program:
    """Tasks that are launched in turn."""

    def __init__(self, *tasks: Task) -> None:
        module = Module()
        trials.functions(module)
        text = "\n".join([OUTSIDE, *module.shared.values(), TEXT]).replace("@dsim_entry", "@entry")
        text = text.replace("@dsim_", "@own_").replace("@entry", "@dsim_entry")
        self._code = MachineCode(text, {})
        kinds = [ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
        self._call = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(self._code.entry)
        self.tasks = list(tasks)
        self._memory = [(ctypes.c_int64 * trials.MEMORY)() for _ in tasks]
        self._runtime = (ctypes.c_int64 * frame.RUNTIME_SLOTS)()
        self._clock = 1 << 40
        self._had = [False] * len(tasks)

    def ask(self, what: int, number: int, cycles: int) -> int:
        return self._call(
            what, ctypes.addressof(self._memory[number]), ctypes.addressof(self._runtime), cycles
        )

    def launch(self, number: int) -> bool:
        """Whether this launch has threads."""
        task = self.tasks[number]
        threads = self._had[number] = bool(self.ask(WANTS, number, self._clock))
        mixed = threads != all(self._had) and len(self.tasks) > 1
        took = (task.mixed if mixed else task.shared) if threads else task.mixed if mixed else task.alone
        self._clock += took
        self.ask(SHARED if threads else ALONE, number, took)
        return threads

    def steps(self, count: int) -> list[Sequence[bool]]:
        """For each step, which tasks have threads."""
        return [tuple(self.launch(n) for n in range(len(self.tasks))) for _ in range(count)]


def shares(steps: Sequence[Sequence[bool]]) -> list[float]:
    """Which part of the launches of each task has threads."""
    return [sum(of) / len(steps) for of in zip(*steps, strict=True)]


def test_a_task_that_is_faster_with_threads_has_them_but_for_a_sample():
    steps = Program(Task(100, 60, 60)).steps(1000)
    assert [n for n, (threads,) in enumerate(steps) if not threads] == list(range(1, 1 + trials._SAMPLE))


def test_a_task_that_is_slower_with_threads_tries_them_at_growing_intervals():
    steps = [threads for (threads,) in Program(Task(100, 160, 160)).steps(30_000)]
    trials_at = [n for n, threads in enumerate(steps) if threads and not steps[n - 1]]
    waits = [b - a for a, b in pairwise(trials_at)]
    assert len(trials_at) < 30
    assert GREATEST_WAIT / 2 < max(waits) <= GREATEST_WAIT + trials._TRIAL
    assert sum(steps) < 0.02 * len(steps)


def test_the_longest_wait_is_half_a_second():
    task = Task(1 << 26, 1 << 27, 1 << 27)  # cycles: some 30 ms
    steps = [threads for (threads,) in Program(task).steps(200)]
    assert 0.2 < sum(steps) / len(steps) < 0.5


def test_threads_that_become_slower_are_given_up_and_tried_again_when_they_are_faster():
    program = Program(Task(100, 60, 60))
    program.steps(50)
    program.tasks[0] = Task(100, 160, 160)
    assert shares(program.steps(500))[0] < 0.3
    program.tasks[0] = Task(100, 60, 60)
    program.steps(600)
    assert shares(program.steps(500)) == [1.0]


def test_one_slow_launch_changes_nothing():
    program = Program(Task(100, 60, 60))
    program.steps(50)
    for _ in range(20):
        program.tasks[0] = Task(100, 5000, 5000)
        program.steps(3)
        program.tasks[0] = Task(100, 60, 60)
        assert shares(program.steps(10)) == [1.0]


def test_what_it_makes_slower_counts_too():
    program = Program(Task(100, 70, 70), Task(40, 40, 40))
    had = program.steps(3)
    assert had[0] == (True, True)

    def launch(number):  # the second task has no threads, and fetches back what the first one moves
        if number == 0:
            return launch_before(0)
        program._clock += 200 if program._had[0] else 40
        return False

    launch_before, program.launch = program.launch, launch
    program.steps(300)
    assert shares(program.steps(3000))[0] < 0.1


def test_tasks_that_are_slow_when_they_are_mixed_come_back_together():
    task = Task(100, 60, 190)
    program = Program(task, task, task)
    program.steps(100)
    program.tasks = [Task(100, 160, 190)] * 3  # for a while threads are slow
    program.steps(2000)
    program.tasks = [task] * 3
    program.steps(5000)
    assert shares(program.steps(500)) == [1.0] * 3


@pytest.mark.parametrize("threads", [False, True])
def test_a_second_phase_does_as_the_first(threads):
    program = Program(Task(100, 60, 60) if threads else Task(100, 160, 160))
    for _ in range(100):
        had = program.launch(0)
        assert program.ask(AGAIN, 0, program._clock) == had
