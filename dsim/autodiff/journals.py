"""Writes to fields that an adjoint does again: each is logged before, and going back it is undone.

Where the backward sweep goes over a write itself, the value before stands in a variable. Elsewhere (the
forward run of a loop, a branch that is run to know its results) it goes into the memory's journal, which
is rewound to a mark taken before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dsim.autodiff.bars import Env, Sweep
from dsim.ir.nodes import (
    Accumulate,
    Atom,
    Journal,
    Load,
    Mark,
    Memory,
    Record,
    Rewind,
    Store,
    Var,
)
from dsim.ir.types import i64
from dsim.ir.walk import swap

Marks = dict[Memory, Var]  # memories, and how long their journals were


@dataclass(frozen=True, slots=True)
class Written:
    """A write that was replayed: the value before, for the adjoint and to be put back."""

    before: Var | None
    kept: Var | None


def opened(sweep: Sweep, memories: Iterable[Memory]) -> None:
    """Appends new journals of `memories`, which are the ones in use from here on."""
    for m in memories:
        journal = Memory(sweep.builder.names.fresh(f"{m.name}_journal"), m.type, (None,), private=True)
        sweep.builder.add(Journal(journal, m, sweep.builder.origin))
        sweep.journals[m] = journal


@contextmanager
def own(sweep: Sweep, memories: Iterable[Memory]) -> Iterator[None]:
    """Inside, `memories` have journals of the block that is open."""
    before = dict(sweep.journals)
    opened(sweep, memories)
    yield
    sweep.journals.clear()
    sweep.journals.update(before)


def marks(sweep: Sweep, memories: Iterable[Memory]) -> Marks:
    """Appends marks in the journals of `memories`."""
    made: Marks = {}
    for m in memories:
        made[m] = sweep.builder.fresh(f"{m.name}_mark", i64)
        sweep.builder.add(Mark(made[m], sweep.journals[m], sweep.builder.origin))
    return made


def rewind(sweep: Sweep, to: Marks) -> None:
    """Appends what undoes all that was logged since the marks `to`."""
    for m, mark in to.items():
        sweep.builder.add(Rewind(sweep.journals[m], m, mark, sweep.builder.origin))


def note_load(sweep: Sweep, value: Atom) -> None:
    """Notes what a load binds while a branch or loop is run once more as a whole."""
    if sweep.running >= 0 and isinstance(value, Var):
        sweep.loaded[value.name] = sweep.running


def log(sweep: Sweep, s: Store | Accumulate, env: Env) -> None:
    """Appends the write `s` to a field, logged if it is one that is done again."""
    _old(sweep, s, env)
    if sweep.doing and sweep.again.number(s) in sweep.again.writes:
        sweep.builder.add(Record(sweep.journals[s.memory], s.memory, _at(s, env), s.origin))
        _write(sweep, s, env)


def keep(sweep: Sweep, s: Store | Accumulate, env: Env) -> Written | None:
    """Appends the write `s` to a field, if it is done again for something in the open region."""
    _old(sweep, s, env)
    before = _before(sweep, s, env)
    kept = None
    if sweep.again.seen(s, sweep.region):
        kept = _load(sweep, s, env, -1)
        _write(sweep, s, env)
    return None if before is None and kept is None else Written(before, kept)


def _before(sweep: Sweep, s: Store | Accumulate, env: Env) -> Var | None:
    """The value before an accumulation whose adjoint depends on it."""
    if not isinstance(s, Accumulate) or s.op == "add" or s.memory.key not in sweep.again.entry:
        return None
    return _load(sweep, s, env, s.site) if sweep.activity.carries(s.memory) else None


def _old(sweep: Sweep, s: Store | Accumulate, env: Env) -> None:
    """Appends a load of the value that the primal got from an accumulation.

    Where the memory is as the primal left it that value is gone.
    """
    if not isinstance(s, Accumulate) or s.old is None:
        return
    old = sweep.copier.variable(s.old, env)
    sweep.builder.add(Load(old, s.memory, _at(s, env), s.origin, s.site))
    sweep.lost[old] = s
    note_load(sweep, old)


def _load(sweep: Sweep, s: Store | Accumulate, env: Env, site: int) -> Var:
    value = sweep.builder.fresh(f"{s.memory.name}_before", s.memory.type)
    sweep.builder.add(Load(value, s.memory, _at(s, env), s.origin, site))
    return value


def _write(sweep: Sweep, s: Store | Accumulate, env: Env) -> None:
    at, value = _at(s, env), swap(s.value, env)
    if isinstance(s, Store):
        sweep.builder.add(Store(s.memory, at, value, s.origin))
    else:
        sweep.builder.add(Accumulate(s.memory, at, value, s.op, None, s.origin))


def _at(s: Store | Accumulate, env: Env) -> tuple[Atom, ...]:
    return tuple(swap(i, env) for i in s.index)
