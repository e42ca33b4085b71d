"""Substitution of variables by atoms that they equal; shared by the passes."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from dsim.ir.nodes import Atom, Block, Const, For, Statement, Var, While
from dsim.ir.walk import operands, with_operands

T = TypeVar("T")


def pick(values: tuple[T, ...], kept: Sequence[int]) -> tuple[T, ...]:
    """The `values` at the positions `kept`, an ascending sequence."""
    return values if len(kept) == len(values) else tuple(values[k] for k in kept)


Loop = TypeVar("Loop", For, While)


def carrying(s: Loop, kept: Sequence[int]) -> Loop:
    """`s` with only its carried values at the positions `kept`."""
    body = Block(s.body.statements, pick(s.body.yields, kept))
    carried, init, results = pick(s.carried, kept), pick(s.init, kept), pick(s.results, kept)
    return replace(s, body=body, carried=carried, init=init, results=results)


class Renaming:
    """A substitution of variables, extended during one pass over a kernel.

    Names are unique in a kernel, so one table suffices; a lookup by name is cheaper than by variable.
    """

    def __init__(self) -> None:
        self._known: dict[str, Atom] = {}

    def put(self, var: Var, atom: Atom) -> None:
        """Substitutes `atom` for `var` from here on."""
        self._known[var.name] = self.atom(atom)

    def put_all(self, variables: Iterable[Var], atoms: Iterable[Atom]) -> None:
        """Substitutes `atoms` for `variables`, pairwise, from here on."""
        for v, a in zip(variables, atoms, strict=True):
            self.put(v, a)

    @contextmanager
    def assuming(self, var: Var, atom: Atom) -> Generator[None, None, None]:
        """Substitutes `atom` for `var` inside the ``with`` block only."""
        self._known[var.name] = atom
        yield
        del self._known[var.name]

    def atom(self, a: Atom) -> Atom:
        """The substitute of `a`; itself if it has none."""
        while not isinstance(a, Const):
            other = self._known.get(a.name)
            if other is None:
                return a
            a = other
        return a

    def atoms(self, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """The substitutes of `atoms`; the same tuple if none has one."""
        return tuple(map(self.atom, atoms)) if self._any(atoms) else atoms

    def statement(self, s: Statement) -> Statement:
        """`s` with its own operands substituted; the same object if nothing changes."""
        return with_operands(s, self.atom) if self._any(operands(s)) else s

    def _any(self, atoms: tuple[Atom, ...]) -> bool:
        known = self._known
        for a in atoms:  # noqa: SIM110 (runs for every statement, and a generator is slower)
            if isinstance(a, Var) and a.name in known:
                return True
        return False
