"""Runs the integer part of a kernel and records every access: the reference for the analyses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dsim.ir.build import const, evaluate
from dsim.ir.nodes import (
    Accumulate,
    Atom,
    Block,
    Const,
    For,
    If,
    KernelIR,
    Let,
    Load,
    Memory,
    MemoryKey,
    Statement,
    Store,
    Var,
)

Trip = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Event:
    """One access in one run; `trips` are the loops around it, `value` what a store stores."""

    time: int
    statement: Load | Store | Accumulate
    element: tuple[int, ...]
    trips: tuple[Trip, ...]
    value: Const | None

    @property
    def site(self) -> int:
        return self.statement.site

    @property
    def key(self) -> MemoryKey:
        return self.statement.memory.key

    def place(self) -> tuple[MemoryKey, tuple[int, ...]]:
        return self.key, self.element


def trace(
    kernel: KernelIR, args: Mapping[str, int], data: Callable[[Memory, tuple[int, ...]], int]
) -> list[Event]:
    """All accesses of a run with these arguments; `data` gives the integers that are loaded."""
    run = _Run(data)
    run.values = {p.name: const(args[p.name], p.type) for p in kernel.params}
    run.block(kernel.body)
    return run.events


class _Run:
    def __init__(self, data: Callable[[Memory, tuple[int, ...]], int]) -> None:
        self.data = data
        self.values: dict[str, Const] = {}
        self.events: list[Event] = []
        self.trips: tuple[Trip, ...] = ()

    def value(self, atom: Atom) -> Const:
        return atom if isinstance(atom, Const) else self.values.get(atom.name, Const(0.0, atom.type))

    def number(self, atom: Atom) -> int:
        return int(self.value(atom).value)

    def bind(self, var: Var, value: Const) -> None:
        self.values[var.name] = value

    def block(self, block: Block) -> None:
        for s in block.statements:
            self.statement(s)

    def statement(self, s: Statement) -> None:
        match s:
            case Let() if not any(a.type.is_float for a in s.args):
                self.bind(s.var, evaluate(s.op, tuple(map(self.value, s.args)), s.var.type))
            case Load() | Store() | Accumulate():
                element = tuple(map(self.number, s.index))
                value = self.value(s.value) if isinstance(s, Store) else None
                self.events.append(Event(len(self.events), s, element, self.trips, value))
                if isinstance(s, Load) and s.memory.type.is_integer:
                    self.bind(s.var, const(self.data(s.memory, element), s.var.type))
            case If():
                self.block(s.then if self.value(s.cond).value else s.orelse)
            case For():
                outer = self.trips
                for i in range(self.number(s.start), self.number(s.stop), s.step):
                    self.trips = (*outer, (s.index.name, i))
                    self.bind(s.index, const(i, s.index.type))
                    self.block(s.body)
                self.trips = outer
            case _:
                pass
