"""The state of the code generator for one LLVM function: values, addresses, 64-bit indices, faults.

`llvm/statements.py`, and the files it names, write each kind of statement; the
caller passes their table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from dsim.analysis.symbols import type_range
from dsim.backends.llvm import frame
from dsim.backends.llvm.arithmetic.integers import widened
from dsim.backends.llvm.chains import Chains
from dsim.backends.llvm.places import Length, MemRef
from dsim.backends.llvm.target import Target
from dsim.backends.llvm.text import PLAIN, TYPE, Function, constant
from dsim.ir import nodes as ir
from dsim.ir.types import i64

FaultKind = Literal["bounds", "assertion", "memory"]
Handler = Callable[["Writer", Any], None]
Deferred = Callable[[str], None]
Rotate = Callable[["Writer", ir.For, Length, Length], Callable[[str], str] | None]


@dataclass(slots=True)
class Messages:
    """The faults that a kernel's machine code may report, by their numbers."""

    faults: list[tuple[FaultKind, ir.Statement]] = field(default_factory=list)
    prints: list[ir.Print] = field(default_factory=list)


@dataclass(slots=True)
class Allocation:
    """A private buffer or undo log to free: its address, and the instruction that frees it.

    On an early exit of the function, `undo`, if any, runs before that.
    """

    address: str
    free: str
    undo: str = ""


Span = tuple[int, int]


class Writer:
    """Writes statements into `f`.

    Parameters
    ----------
    f : Function
        The function to write to.
    target : Target
        The target machine.
    handlers : mapping
        The code generator of each type of statement.
    unchecked : callable
        Whether a site needs no bounds check.
    messages : Messages
        Collects the faults that the code may report.
    """

    def __init__(
        self,
        f: Function,
        target: Target,
        handlers: Mapping[type, Handler],
        unchecked: Callable[[int], bool],
        messages: Messages,
    ) -> None:
        self.f = f
        self.target = target
        self.handlers = handlers
        self.unchecked = unchecked
        self.messages = messages
        self.env: dict[ir.Var, str] = {}
        self.places: dict[ir.MemoryKey, MemRef] = {}
        self.held: list[Allocation] = []
        self.logs: dict[ir.MemoryKey, str] = {}  # the address of each log
        self.beside: dict[ir.MemoryKey, list[str]] = {}  # the addresses of the undo logs parallel to each
        self.near: Mapping[ir.Var, tuple[int, int]] = {}  # of remainders: the range of a near dividend
        self.leave = ""  # the label of the early exit when memory is lacking
        self.hoisted: dict[ir.MemoryKey, str] = {}  # buffers allocated at the function's start
        self.deferred: dict[int, Deferred] = {}  # accumulations that their loop defers, by identity
        self.regular: set[ir.Var] = set()  # integers with a constant step per trip, or constant
        self.flag = ""  # the slot that records clamped indices, in loops with deferred checks
        self.dry = False  # whether the code only searches for faults and writes no fields
        self.chains: Chains | None = None  # of the innermost loop, if it is a long one
        self.loops = 0  # the number of loops around the current statement
        self.rotate: Rotate | None = None  # lets the trips of a loop begin elsewhere than at its start
        self.stack = 0  # bytes of buffers on the stack
        self._known: dict[object, Any] = {}
        self._made: list[object] = []  # keys of `_known` in the order in which they were added
        self._definitions: dict[ir.Var, ir.Let] = {}
        self._spans: dict[ir.Var, Span] = {}
        self._likely = ""

    # values -------------------------------------------------------------------------------------

    def value(self, a: ir.Atom) -> str:
        """The atom as an operand."""
        return constant(a) if isinstance(a, ir.Const) else self.env[a]

    def values(self, atoms: tuple[ir.Atom, ...]) -> tuple[str, ...]:
        """The atoms as operands."""
        return tuple(constant(a) if isinstance(a, ir.Const) else self.env[a] for a in atoms)

    def define(self, s: ir.Let, value: str) -> None:
        """Records the operand of a `Let`."""
        self.env[s.var] = value
        if s.op in _WIDENED and all(isinstance(a, ir.Const) or a in self.regular for a in s.args):
            self.regular.add(s.var)
        if _is_widened(s) and s.var.type.is_integer and s.var.type.bits == 32:
            low, high = _span(s.op, [self.span(a) for a in s.args])
            if max(-low, high) <= _EXACT:
                self._definitions[s.var], self._spans[s.var] = s, (low, high)

    def definition(self, v: ir.Var) -> ir.Let | None:
        """The `Let` of a 32-bit integer that is a sum, difference or product, below 2**62 before wrapping."""
        return self._definitions.get(v)

    # 64-bit indices ---------------------------------------------------------------------------

    def span(self, a: ir.Atom) -> Span:
        """The least and greatest integer that the atom may be, computed without wrapping."""
        if isinstance(a, ir.Const):
            return int(a.value), int(a.value)
        return self._spans.get(a) or type_range(a.type)

    def limit(self, loop: ir.For) -> None:
        """Notes the span of the index of a loop with constant ends."""
        if isinstance(loop.start, ir.Const) and isinstance(loop.stop, ir.Const):
            ends = int(loop.start.value), int(loop.stop.value) - (1 if loop.step > 0 else -1)
            self._spans[loop.index] = min(ends), max(ends)

    def is_safe(self, a: ir.Atom, length: Length) -> bool:
        """Whether the index `a` of an axis of this length is out of bounds wherever it has wrapped."""
        low, high = self.span(a)
        return low > (length if isinstance(length, int) else 1 << 31) - (1 << 32) and high < 1 << 32

    def to_check(self, a: ir.Atom, length: Length) -> Length:
        """The index `a` of an axis of this length, for a bounds check.

        Analyses take an index for the sum or product that it is of: what wraps is out of bounds.
        """
        return self.exact(a) if self.is_safe(a, length) else self.wide(a)

    def exact(self, a: ir.Atom) -> Length:
        """The integer atom extended to 64 bits, after wrapping in its own type."""
        if isinstance(a, ir.Const):
            return int(a.value)
        return widened(self.f, self.env[a], a.type, i64)

    def wide(self, a: ir.Atom) -> Length:
        """The integer atom computed in 64 bits, without wrapping."""
        if isinstance(a, ir.Const):
            return int(a.value)
        known = self._known.get(a)
        if known is not None:
            return known
        found = self._computed(self._definitions[a]) if a in self._definitions else self.exact(a)
        if isinstance(found, str):
            self.remember(a, found)
        return found

    def remember(self, key: object, value: object) -> None:
        """Caches `value` for `key` until the end of the open block; for a variable, its 64-bit form."""
        self._known[key] = value
        self._made.append(key)

    def remembered(self, key: object) -> Any:
        """The cached value of `key`, or None."""
        return self._known.get(key)

    def _computed(self, s: ir.Let) -> Length:
        a, b = (self.wide(x) for x in s.args) if len(s.args) == 2 else (0, self.wide(s.args[0]))
        if s.op == "add":
            return self.plus(a, b)
        if s.op == "mul":
            return self.times(a, b)
        if s.op == "shl":
            return self.times(a, 1 << int(b))
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return self.plus(a, -b) if isinstance(b, int) else self.f.let(f"sub nsw i64 {a}, {b}")

    def plus(self, a: Length, b: Length) -> Length:
        """The sum of two lengths or indices."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0 or b == 0:
            return b if a == 0 else a
        return self.f.let(f"add nsw i64 {a}, {b}")

    def times(self, a: Length, b: Length) -> Length:
        """The product of two lengths or indices."""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a in (0, 1) or b in (0, 1):
            return 0 if 0 in (a, b) else b if a == 1 else a
        return self.f.let(f"mul nsw i64 {a}, {b}")

    # statements -------------------------------------------------------------------------------

    def block(self, block: ir.Block) -> tuple[str, ...]:
        """Writes a block; returns the operands that it yields."""
        made, held = len(self._made), len(self.held)
        for s in block.statements:
            self.handlers[type(s)](self, s)
        yields = self.values(block.yields)
        self.release(held)
        self._invalidate(made)
        return yields

    def trip(self, block: ir.Block) -> tuple[str, ...]:
        """Writes the body of a loop; returns the operands that it yields."""
        self.loops += 1
        yields = self.block(block)
        self.loops -= 1
        return yields

    def apart(self, write: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
        """Calls `write` for code that may not run, and drops what it cached afterwards."""
        made = len(self._made)
        values = write()
        self._invalidate(made)
        return values

    def _invalidate(self, made: int) -> None:
        for key in self._made[made:]:
            del self._known[key]
        del self._made[made:]

    def release(self, down_to: int) -> None:
        """Frees the private buffers allocated after the first `down_to`."""
        self._free(self.held[down_to:])
        del self.held[down_to:]

    def free_all(self) -> None:
        """Frees all private buffers on an early exit of the function; other paths still hold them.

        Repeated writes to fields are rolled back.
        """
        for h in reversed(self.held):
            if h.undo:
                self.f.do(h.undo)
        self._free(self.held)

    def _free(self, held: list[Allocation]) -> None:
        for h in reversed(held):
            self.f.do(h.free)

    # reports ----------------------------------------------------------------------------------

    @property
    def likely(self) -> str:
        """Metadata of a branch that nearly always takes its first target."""
        if not self._likely:
            name = self.f.module.node('!{!"branch_weights", i32 1048575, i32 1}')
            self._likely = f", !prof {name}"
        return self._likely

    def checked(self, s: ir.Load | ir.Store | ir.Accumulate | ir.Append) -> bool:
        """Whether the index of `s` is checked at run time."""
        own = s.site < 0 and s.memory.private  # a transform's buffer, indexed by its own counters
        return bool(s.index) and not own and not self.unchecked(s.site)

    def fault(
        self,
        kind: FaultKind,
        s: ir.Load | ir.Store | ir.Accumulate | ir.Append | ir.Compact | ir.Assert | ir.Alloc,
        values: tuple[Length, ...],
    ) -> None:
        """Records a fault with up to 16 numbers, unless one is recorded already.

        When memory is lacking, later statements would read missing values: the whole launch stops.
        """
        self.messages.faults.append((kind, s))
        values = values[: frame.MAX_VALUES]
        name = _record_helper(self.f, frame.FAULTY, len(values))
        args = "".join(f", i64 {v}" for v in values)
        self.f.do(f"call void @{name}(ptr %frame, i64 {len(self.messages.faults) - 1}{args})")
        if kind == "memory":
            self.f.module.asks = True
            self.f.do(f"store volatile i64 1, ptr {frame.address(self.f, frame.STOP)}, align 8")

    def start_flag(self) -> None:
        """Starts deferred checks: from here on, indices are clamped and recorded in the flag."""
        self.flag = self.f.slot("i32", 4)
        self.f.do(f"store i32 0, ptr {self.flag}, align 4")

    def look_at_flag(self, loop: int) -> None:
        """Reports if top-level statement number `loop` has clamped an index."""
        f = self.f
        bad, good = f.label("clamped"), f.label("fine")
        noted = f.let(f"load i32, ptr {self.flag}, align 4")
        f.fork(f.let(f"icmp eq i32 {noted}, 0"), good, bad, self.likely)
        f.open(bad)
        name = _record_helper(f, frame.CLAMPED, 0)
        f.do(f"call void @{name}(ptr %frame, i64 {loop})")
        f.jump(good)
        f.open(good)
        self.flag = ""

    def bits(self, a: ir.Atom) -> str:
        """The atom's bits in a 64-bit integer, the format of fault reports: floats as doubles."""
        value = self.value(a)
        if not a.type.is_float:
            return widened(self.f, value, a.type, i64)
        if a.type.bits < 64:
            value = self.f.let(f"fpext {TYPE[a.type]} {value} to double")
        return self.f.let(f"bitcast double {value} to i64")


_WIDENED = frozenset(("add", "sub", "mul", "neg"))
_EXACT = 1 << 62  # no sum of two such numbers wraps in 64 bits


def _is_widened(s: ir.Let) -> bool:
    """Whether analyses know the result as an affine form of the operands, or a product of two."""
    if s.op != "shl":
        return s.op in _WIDENED
    _, by = s.args
    return isinstance(by, ir.Const) and 0 <= int(by.value) < 31


def _span(op: str, args: Sequence[Span]) -> Span:
    """The least and greatest result of such an operation, from those of its operands."""
    if op == "neg":
        return -args[0][1], -args[0][0]
    (a, b), (c, d) = args
    if op == "shl":
        return a << c, b << c
    ends = [a * c, a * d, b * c, b * d] if op == "mul" else [a + c, b + d] if op == "add" else [a - d, b - c]
    return min(ends), max(ends)


def _record_helper(f: Function, status: int, count: int) -> str:
    """The function that records a status, a number and `count` values, unless one is recorded."""
    name = f"dsim_record_{status}_{count}"
    if name in f.module.shared:
        return name
    params = "".join(f", i64 %v{i}" for i in range(count))
    lines = [
        f"define void @{name}(ptr %frame, i64 %id{params}) cold {PLAIN} {{",
        "entry:",
        f"%pair = cmpxchg ptr %frame, i64 0, i64 {status} monotonic monotonic",
        "%first = extractvalue { i64, i1 } %pair, 1",
        "br i1 %first, label %record, label %end",
        "record:",
        f"%at = getelementptr inbounds i8, ptr %frame, i64 {frame.FAULT * 8}",
        "store i64 %id, ptr %at",
    ]
    for i in range(count):
        lines.append(f"%at{i} = getelementptr inbounds i8, ptr %frame, i64 {(frame.VALUES + i) * 8}")
        lines.append(f"store i64 %v{i}, ptr %at{i}")
    return f.module.share(name, "\n".join([*lines, "br label %end", "end:", "ret void", "}"]))
