"""Activity analysis: which values can vary with the active memories. Conservative: an over-approximation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Append,
    Assert,
    Atom,
    Block,
    Call,
    Compact,
    Derive,
    For,
    If,
    KernelIR,
    Let,
    Load,
    LogMark,
    Memory,
    MemoryKey,
    Print,
    Probe,
    RollBack,
    Statement,
    Store,
    UndoLog,
    Var,
    While,
)
from dsim.ir.primitives import TABLE
from dsim.ir.walk import statements


class Activity:
    """The varying values of a block.

    Parameters
    ----------
    active : iterable of MemoryKey
        Keys of the memories that carry derivatives.
    seeds : iterable of Var
        Variables from outside the block that vary.
    shown : bool
        Whether every probed value counts as varying.

    Attributes
    ----------
    variables : set of Var
        Float variables that depend on an active memory or a seed.
    private : set of Memory
        Private memories that hold varying values.
    """

    def __init__(self, active: Iterable[MemoryKey], seeds: Iterable[Var] = (), shown: bool = True) -> None:
        self.active = frozenset(active)
        self._shown = shown
        self.variables: set[Var] = {v for v in seeds if v.type.is_float}
        self.private: set[Memory] = set()

    def varies(self, atom: Atom) -> bool:
        """Whether `atom` varies, and so has a derivative."""
        return isinstance(atom, Var) and atom in self.variables

    def carries(self, memory: Memory) -> bool:
        """Whether `memory` has a derivative memory."""
        if not memory.type.is_float:
            return False
        return memory in self.private if memory.private else memory.key in self.active

    def scan(self, block: Block) -> None:
        """Adds the varying values of `block`, iterated to a fixed point (loops and buffers have cycles)."""
        before = -1
        while before != len(self.variables) + len(self.private):
            before = len(self.variables) + len(self.private)
            self._block(block)

    def _note(self, var: Var, varies: bool) -> None:
        if varies and var.type.is_float:
            self.variables.add(var)

    def _pairs(self, to: tuple[Var, ...], sources: tuple[Atom, ...]) -> None:
        for var, source in zip(to, sources, strict=True):
            self._note(var, self.varies(source))

    def _block(self, block: Block) -> None:
        for s in block.statements:
            self._statement(s)

    def _statement(self, s: Statement) -> None:  # noqa: C901 (one case a node)
        match s:
            case Let(var=var, op="copy") if self._shown:  # the derivative by each of them is asked for
                self._note(var, True)
            case Let(var=var, op=op, args=args):
                rows = zip(TABLE[op].times, args, strict=False)
                self._note(var, any(t is not None and self.varies(a) for t, a in rows))
            case Load(var=var, memory=memory):
                self._note(var, self.carries(memory))
            case Store(memory=memory, value=value):
                self._write(memory, value)
            case Accumulate(memory=memory, value=value, old=old):
                self._write(memory, value)
                if old is not None:
                    self._note(old, self.carries(memory))
            case If():
                self._block(s.then)
                self._block(s.orelse)
                self._pairs(s.results, s.then.yields)
                self._pairs(s.results, s.orelse.yields)
            case For() | While():
                self._loop(s)
            case Call():
                self._call(s)
            case Alloc() | Probe() | Print() | Assert() | UndoLog() | Append() | LogMark() | RollBack():
                pass
            case Compact() | Derive():
                pass
            case _:
                assert_never(s)

    def _write(self, memory: Memory, value: Atom) -> None:
        if memory.private and memory.type.is_float and self.varies(value):
            self.private.add(memory)

    def _call(self, s: Call) -> None:
        self._block(s.body)
        varies = any(map(self.varies, s.args)) or self.bypasses(s)
        for r in s.results:
            self._note(r, varies)

    def bypasses(self, s: Call) -> bool:
        """Whether the value of `s` varies with more than its arguments, which its rules would ignore.

        The parameters of `s` count as constants in its body.
        """
        return any(map(self.varies, s.body.yields))

    def _loop(self, s: For | While) -> None:
        self._pairs(s.carried, s.init)
        if isinstance(s, While):
            self._block(s.condition)
        self._block(s.body)
        self._pairs(s.carried, s.body.yields)
        self._pairs(s.results, s.init)
        self._pairs(s.results, s.body.yields)


def of_kernel(kernel: KernelIR, active: Iterable[MemoryKey], shown: bool = True) -> Activity:
    """The activity of a whole kernel; `shown` says whether probed values vary by themselves."""
    activity = Activity(active, shown=shown)
    activity.scan(kernel.body)
    return activity


def spread(kernel: KernelIR, active: frozenset[MemoryKey]) -> frozenset[MemoryKey]:
    """`active` and the keys of all memories to which `kernel` writes varying values.

    A field that is not active is an intermediate value once varying values are stored to it.
    """
    while True:
        activity = of_kernel(kernel, active)
        reached = set(active)
        for s in statements(kernel.body):
            if isinstance(s, Store | Accumulate) and not s.memory.private and activity.varies(s.value):
                reached.add(s.memory.key)
        if len(reached) == len(active):
            return active
        active = frozenset(reached)
