"""The frame: one block of memory through which a launch communicates with its machine code.

It holds the fault record, the addresses of fields, parameters, return values, values that pass from
one task to the next, and partial sums. Everything lies in slots of eight bytes. A frame belongs to
one launch at a time; what all launches share lies in the runtime block that it points to.
"""

from __future__ import annotations

from collections.abc import Iterable

from dsim.backends.llvm.text import STORED, Function
from dsim.ir.nodes import MemoryKey, Var
from dsim.ir.types import ScalarType

STATUS, FAULT, VALUES = 0, 1, 2  # see below; the fault's number; up to MAX_VALUES numbers
FAULTY, CLAMPED, STOPPED = 1, 2, 3  # a status: a fault is recorded; or only the loop that clamped; `STOP` was
MAX_VALUES = 16
RUNTIME = VALUES + MAX_VALUES  # address of the runtime block
TASK, COUNT, FIRST = RUNTIME + 1, RUNTIME + 2, RUNTIME + 3  # the parallel task at work
COUNTERS = RUNTIME + 4  # of the chunks that threads have begun of it: their address
SCRATCH, SCRATCH_SIZE = RUNTIME + 5, RUNTIME + 6  # memory for private copies, kept between launches
OWNER = RUNTIME + 7  # whose prints these are
STOP, INTERRUPTS = RUNTIME + 8, RUNTIME + 9  # whether the launch is to stop; how often Ctrl-C came meanwhile
BEGAN = RUNTIME + 10  # when it began: seconds of the wall clock, and nanoseconds
CALLERS_MODE, MODE = RUNTIME + 12, RUNTIME + 13  # of floating point: the caller's, and the launch's
TEAM = RUNTIME + 14  # how many threads share the chunks of that task
FIXED = RUNTIME + 15

# the runtime block, in slots as well
TOGETHER, MEMBERS = 0, 1  # what has work done by several threads, and where these are (`cpu/team.py`)
THREADS, BUSY, PRINTER, MEMORY_LEFT, CLOCK = range(2, 7)
TRIAL = 7  # until which cycle tasks that run alone try threads again
RUNTIME_SLOTS = 8


class FrameLayout:
    """Gives out the slots of one kernel's frame behind the fixed ones, and `more` that are fixed, too."""

    def __init__(
        self, memories: Iterable[MemoryKey], params: tuple[Var, ...], returns: int, more: int = 0
    ) -> None:
        self.size = FIXED + more
        self.params = self.take(len(params))
        self.returns = self.take(returns)
        self.memories = {key: self.take(1) for key in memories}
        self.rows = 0  # the address of the rows of fused copies, if there are any
        self.values: dict[Var, int] = {p: self.params + i for i, p in enumerate(params)}

    def take(self, count: int) -> int:
        """The first of `count` new slots."""
        first = self.size
        self.size += count
        return first

    def value(self, v: Var) -> int:
        """The slot of a value that passes between tasks."""
        if v not in self.values:
            self.values[v] = self.take(1)
        return self.values[v]


def address(f: Function, slot: int, base: str = "%frame") -> str:
    """The address of a slot."""
    return f.let(f"getelementptr inbounds i8, ptr {base}, i64 {slot * 8}")


def located(name: str, slot: int, base: str = "%frame") -> str:
    """A line of text that names the address of a slot."""
    return f"  %{name} = getelementptr inbounds i8, ptr {base}, i64 {slot * 8}\n"


def read(f: Function, slot: int, type: str, base: str = "%frame") -> str:
    """The LLVM value of type `type` in a slot."""
    return f.let(f"load {type}, ptr {address(f, slot, base)}, align 8")


def read_address(f: Function, slot: int) -> str:
    """The address in a slot."""
    return read(f, slot, "ptr")


def write(f: Function, slot: int, type: str, value: str, base: str = "%frame") -> None:
    """Puts an LLVM value into a slot."""
    f.do(f"store {type} {value}, ptr {address(f, slot, base)}, align 8")


def read_scalar(f: Function, slot: int, t: ScalarType) -> str:
    """The scalar in a slot."""
    return from_stored(f, t, read(f, slot, STORED[t]))


def write_scalar(f: Function, slot: int, t: ScalarType, value: str) -> None:
    """Puts a scalar into a slot."""
    write(f, slot, STORED[t], to_stored(f, t, value))


def from_stored(f: Function, t: ScalarType, value: str) -> str:
    """A value as it lies in memory, as instructions take it (a bool's byte becomes a bit)."""
    return f.let(f"icmp ne i8 {value}, 0") if t.kind == "bool" else value


def to_stored(f: Function, t: ScalarType, value: str) -> str:
    """A value as it lies in memory."""
    return f.let(f"zext i1 {value} to i8") if t.kind == "bool" else value
