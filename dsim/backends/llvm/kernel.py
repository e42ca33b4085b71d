"""A whole kernel as an LLVM module: its tasks, which run in order.

A task is a parallel top-level loop, or a run of other top-level statements. Each task is a function
of its own, so that fields can be told apart (`noalias`) while it runs; values pass from one to the
next through the frame. Private buffers of the outermost block are made between tasks. How tasks are run is
the matter of the two forms: one entry (`parallel`), or kernels to be launched one by one (`grid`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Literal, NamedTuple

from dsim.analysis.intervals import near_dividends
from dsim.backends.llvm import frame, partials, widths
from dsim.backends.llvm.frame import FrameLayout
from dsim.backends.llvm.memory import buffers
from dsim.backends.llvm.partials import PartialSum
from dsim.backends.llvm.places import MemRef, dense_strides
from dsim.backends.llvm.statements import HANDLERS
from dsim.backends.llvm.target import Target
from dsim.backends.llvm.text import Function, Module
from dsim.backends.llvm.writer import Messages, Writer
from dsim.ir.nodes import Alloc, Block, For, KernelIR, Memory, MemoryKey, Statement, UndoLog, Var
from dsim.ir.walk import binds, blocks, memory_of, operands, parameters, statements
from dsim.records import record

# Estimates of reciprocals, refined by Newton steps, give NaN where 1 / 0 is infinite.
_EXACT = 'nounwind noinline "reciprocal-estimates"="none"'

Kind = Literal["serial", "parallel", "buffer"]
Strides = Mapping[MemoryKey, tuple[int, ...]]


class FusedCopy(NamedTuple):
    """Two parameters of a kernel that say what a copy goes to.

    Attributes
    ----------
    place : Var
        At which byte of the rows the copy begins. Where the rows begin, the frame says.
    halves : Var
        What of each piece is copied: bit 0 stands for the lower half, bit 1 for the upper one.
    """

    place: Var
    halves: Var


class TripReach(NamedTuple):
    """What a loop touches of a memory: from ``t + low`` to ``t + high`` on its first axis, in trip `t`.

    Attributes
    ----------
    low, high : int
        The parts that a trip may touch, relative to its number.
    trips : int
        How many trips the loop has.
    once : bool
        Whether each part belongs to one trip, which is the only one to touch it.
    """

    low: int
    high: int
    trips: int
    once: bool


class FusedCopies(NamedTuple):
    """Copies that a kernel makes of one of its memories.

    Attributes
    ----------
    memory : MemoryKey
        The memory.
    reach : TripReach
        What the loop that makes them touches of it.
    before, after : tuple of FusedCopy
        The copies of the values before the kernel, and after it.
    """

    memory: MemoryKey
    reach: TripReach
    before: tuple[FusedCopy, ...]
    after: tuple[FusedCopy, ...]


@record
class Wishes:
    """The options of the emitter.

    Attributes
    ----------
    unchecked : callable
        Whether an access's site needs no check.
    checks : bool
        Whether any may need one.
    strides : mapping
        Distances of elements, counted in elements, of memories that are not in C order.
    deferred : frozenset
        The indices of the top-level loops with deferred checks.
    threads : int
        The most threads that a loop is split among; 1: none is split.
    deterministic : bool
        Whether sums of floats must not depend on the order of threads, nor on their number.
    copies : FusedCopies or None
        Copies that a parallel loop makes, which `fused_copies.fits`.
    """

    unchecked: Callable[[int], bool]
    checks: bool = True
    deferred: frozenset[Var] = frozenset()
    strides: Strides = field(default_factory=dict)
    threads: int = 1
    deterministic: bool = False
    copies: FusedCopies | None = None


@record
class Task:
    """Statements that run together.

    Attributes
    ----------
    free : tuple of Var
        The values from outside that they read.
    touched : frozenset
        The memories that they touch.
    """

    name: str
    kind: Kind
    statements: tuple[Statement, ...]

    free: tuple[Var, ...] = field(init=False)
    touched: frozenset[MemoryKey] = field(init=False)

    def __post_init__(self) -> None:
        read: dict[Var, None] = {}
        bound: set[str] = set()
        touched: set[MemoryKey] = set()
        for s in statements(self.block):
            read.update((a, None) for a in operands(s) if isinstance(a, Var))
            bound.update(v.name for v in (*binds(s), *parameters(s)))
            for inner in blocks(s):
                read.update((a, None) for a in inner.yields if isinstance(a, Var))
            memory = memory_of(s)
            if memory is not None:
                touched.add(memory.key)
        object.__setattr__(self, "free", tuple(v for v in read if v.name not in bound))
        object.__setattr__(self, "touched", frozenset(touched))

    @property
    def block(self) -> Block:
        """The statements as a block."""
        return Block(self.statements)

    @property
    def loop(self) -> For:
        """The loop of a parallel task."""
        (s,) = self.statements
        assert isinstance(s, For)
        return s

    @property
    def buffer(self) -> Alloc:
        """The private buffer, used by several tasks, that a task makes."""
        (s,) = self.statements
        assert isinstance(s, Alloc)
        return s


class TaskForm(NamedTuple):
    """What the two forms of a kernel's tasks, for threads and for grids, ask of the module and the frame.

    Attributes
    ----------
    address : callable
        Writes what reads the address in a slot of the frame.
    whole : bool
        Whether the module has definitions of all functions of dsim's own.
    slots : int
        Slots of the frame that are fixed, besides those of `frame`.
    """

    address: Callable[[Function, int], str]
    whole: bool = False
    slots: int = 0


class KernelWriter:
    """Writes one kernel for one target, in one form.

    Attributes
    ----------
    layout : FrameLayout
        Where things lie in the frame.
    messages : Messages
        What the machine code may report.
    tasks : tuple of Task
        What the entry runs, in order.
    buffers : dict
        The private buffers that several tasks use, and what makes them.
    """

    def __init__(
        self,
        kernel: KernelIR,
        target: Target,
        wishes: Wishes,
        parallel: Callable[[For], bool],
        form: TaskForm,
    ) -> None:
        self.kernel = kernel
        self.target = target
        self.wishes = wishes
        self._form = form
        self.dry = False  # whether functions only look for faults
        self.near = near_dividends(kernel)
        self.module = Module(kernel.exact, form.whole)
        self.messages = Messages()
        memories = (m.key for m in kernel.memories)
        self.layout = FrameLayout(memories, kernel.params, len(kernel.body.yields), form.slots)
        self.tasks = tuple(split(kernel, parallel))
        self.buffers = {t.buffer.memory: t.buffer for t in self.tasks if t.kind == "buffer"}
        for m in self.buffers:
            self.layout.memories[m.key] = self.layout.take(1)
        self._keep_values()
        if wishes.copies is not None:
            self.layout.rows = self.layout.take(1)

    def _keep_values(self) -> None:
        """Gives a slot to every top-level value that another task, or the caller, needs."""
        for task in self.tasks:
            for v in task.free:
                self.layout.value(v)
            for s in task.statements if task.kind == "serial" else ():
                if isinstance(s, For) and s.index in self.wishes.deferred:
                    for v in Task("", "serial", (s,)).free:
                        self.layout.value(v)
        for a in self.kernel.body.yields:
            if isinstance(a, Var):
                self.layout.value(a)

    def function(self, name: str, params: str, attributes: str) -> Function:
        """A new function of the module."""
        return self.module.function(f"define internal void @{name}({params}) {attributes}")

    def task_function(self, name: str, params: str, task: Task) -> Function:
        """A new function of the module, which runs a task."""
        return self.function(name, params, _EXACT + widths.preferred(task.block))

    def writer(self, f: Function, task: Task) -> Writer:
        """A writer for a function of a task: its memories are parameters, its values are read."""
        w = Writer(f, self.target, HANDLERS, self.wishes.unchecked, self.messages)
        w.leave, w.dry, w.near = "leave", self.dry, self.near
        self.read_values(w, task)
        for i, m in enumerate(self.memories(task)):
            w.places[m.key] = self.place(w, m, f"%m{i}")
        return w

    def read_values(self, w: Writer, task: Task) -> None:
        """Reads the values from outside that a task needs, lengths of its buffers included."""
        needed = dict.fromkeys(task.free)
        for m in self.memories(task):
            if m in self.buffers:
                needed |= {a: None for a in self.buffers[m].shape if isinstance(a, Var)}
        for v in needed:
            w.env[v] = frame.read_scalar(w.f, self.layout.value(v), v.type)
            w.regular.add(v)

    def memories(self, task: Task) -> list[Memory]:
        """The fields, and buffers of the outermost block, that a task touches."""
        return [m for m in (*self.kernel.memories, *self.buffers) if m.key in task.touched]

    def number(self, s: Statement) -> int:
        """The position of the top-level statement `s`."""
        return next(n for n, t in enumerate(self.kernel.body.statements) if t is s)

    def statement(self, w: Writer, s: Statement) -> None:
        """Writes a top-level statement of a serial task."""
        later = isinstance(s, For) and not w.dry and s.index in self.wishes.deferred
        if later:
            w.start_flag()
        w.handlers[type(s)](w, s)
        if later:
            w.look_at_flag(self.number(s))

    def place(self, w: Writer, m: Memory, base: str) -> MemRef:
        """A field's or buffer's place at address `base`."""
        if m in self.buffers:
            return buffers.place(w, self.buffers[m], base)
        shape = tuple(n for n in m.shape if n is not None)
        strides = self.wishes.strides.get(m.key) or dense_strides(shape)
        assert strides is not None
        return MemRef(m, base, shape, tuple(strides))

    def size(self, m: Memory) -> int:
        """How many elements a field reaches over."""
        shape = tuple(n for n in m.shape if n is not None)
        strides = self.wishes.strides.get(m.key) or dense_strides(shape) or ()
        return 1 + sum((n - 1) * int(d) for n, d in zip(shape, strides, strict=True)) if all(shape) else 0

    def memory_params(self, task: Task) -> str:
        """The parameters of a task's function for its memories."""
        return "".join(f", ptr noalias %m{i}" for i in range(len(self.memories(task))))

    def memory_args(self, f: Function, task: Task) -> list[str]:
        """The arguments for them, from the frame."""
        return [f"ptr {self.address(f, m)}" for m in self.memories(task)]

    def address(self, f: Function, m: Memory) -> str:
        """Where a memory begins, from the frame."""
        return self._form.address(f, self.layout.memories[m.key])


def close_body(w: Writer) -> None:
    """Ends a function that runs a task: frees its buffers, and returns."""
    w.release(0)
    w.f.jump(w.leave)
    w.f.open(w.leave)
    w.f.do("ret void")


def write_statements(k: KernelWriter, f: Function, task: Task) -> None:
    """Writes the function of a task that runs on one thread."""
    w = k.writer(f, task)
    buffers.hoist(w, task.block)
    for s in task.statements:
        k.statement(w, s)
        for v in binds(s):
            if v in k.layout.values:
                frame.write_scalar(f, k.layout.value(v), v.type, w.env[v])
    close_body(w)


def settle(k: KernelWriter, w: Writer, task: Task, sums: list[PartialSum], total: str) -> None:
    """Puts the whole sums of a parallel task, at `total`, where they belong."""
    places = {m.key: k.place(w, m, k.address(w.f, m)) for m in k.memories(task)}
    partials.settle(w, sums, total, places)
    values = partials.results(w, task.loop, sums, total)
    for v, value in zip(task.loop.results, values, strict=True):
        if v in k.layout.values:
            frame.write_scalar(w.f, k.layout.value(v), v.type, value)


def top_level_values(kernel: KernelIR) -> dict[Var, None]:
    """The values that are known outside of all loops."""
    found = dict.fromkeys(kernel.params)
    for s in kernel.body.statements:
        found |= dict.fromkeys(binds(s))
    return found


def split(kernel: KernelIR, parallel: Callable[[For], bool]) -> Iterator[Task]:
    """The kernel's statements as tasks.

    A kernel without parallel loops is one task, and so is one whose statements share an undo log.
    """
    top = kernel.body.statements
    kinds: list[Kind] = [_kind(s, parallel) for s in top]
    if "parallel" not in kinds or any(isinstance(s, UndoLog) for s in top):
        if top:
            yield Task("task_0", "serial", top)
        return
    together: list[Statement] = []
    for i, (kind, s) in enumerate(zip(kinds, top, strict=True)):
        if kind == "serial":
            together.append(s)
            continue
        if together:
            yield Task(f"task_{i - len(together)}", "serial", tuple(together))
            together = []
        yield Task(f"task_{i}", kind, (s,))
    if together:
        yield Task(f"task_{len(top) - len(together)}", "serial", tuple(together))


def _kind(s: Statement, parallel: Callable[[For], bool]) -> Kind:
    if isinstance(s, For) and s.parallel and s.goes_on is None and parallel(s):
        return "parallel"
    return "buffer" if isinstance(s, Alloc) else "serial"
