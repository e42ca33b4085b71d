"""The adjoint environment of one block in a backward sweep, and the state that the whole sweep shares."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from dsim.analysis.activity import Activity
from dsim.autodiff.names import ADJOINT, companion, zero
from dsim.autodiff.recomputed_writes import RecomputedWrites, Span
from dsim.ir.build import Builder
from dsim.ir.copying import Copier
from dsim.ir.nodes import Accumulate, Atom, Memory, Probe, Statement, Var

Env = dict[Var, Atom]  # a variable of the primal → its value in the adjoint kernel, in one block


class Adjoints:
    """Adjoint environment: adjoints of the primal's variables; ``bars.of(x)`` is None while it is zero."""

    def __init__(self, builder: Builder, activity: Activity, known: dict[Var, Atom] | None = None) -> None:
        self._builder = builder
        self._activity = activity
        self._known: dict[Var, Atom] = dict(known or {})

    def of(self, atom: Atom) -> Atom | None:
        """The adjoint of `atom` so far."""
        return self._known.get(atom) if isinstance(atom, Var) else None

    def put(self, var: Var, value: Atom) -> None:
        """Sets the adjoint of `var` to `value`."""
        self._known[var] = value

    def add(self, atom: Atom, value: Atom | None) -> None:
        """Adds `value` to the adjoint of `atom`, if `atom` varies."""
        if value is None or not self._activity.varies(atom):
            return
        assert isinstance(atom, Var)
        known = self._known.get(atom)
        hint = f"{atom.name}_{ADJOINT}"
        self._known[atom] = value if known is None else self._builder.let("add", known, value, hint=hint)

    def inner(self, known: dict[Var, Atom]) -> Adjoints:
        """The environment of an inner block, with the adjoints in `known`."""
        return Adjoints(self._builder, self._activity, known)

    def or_zero(self, var: Var) -> Atom:
        """The adjoint of `var` so far, as an atom."""
        return self._known.get(var) or zero(var.type)


@dataclass
class Reversal:
    """The shared state of one reverse transform.

    Attributes
    ----------
    reached : Activity
        Like `activity`, where probed values vary by themselves, but with the active memories alone.
    lost : dict
        Variables of the adjoint kernel for values that the primal overwrites, with the accumulation that
        overwrites each: the adjoint must not use them.
    adjoints : dict
        The adjoint memory of each private memory of the adjoint kernel.
    shapes : dict
        The lengths of the axes of each private memory of the primal.
    unchosen : frozenset of Var
        Variables of the primal through which products must be strong (`analysis.poles`).
    recomputed : RecomputedWrites
        The writes of the primal to fields that the adjoint repeats.
    logs : dict
        The undo log in use for each memory whose writes are repeated.
    region : Span
        The part of the primal that is replayed now, for its backward sweep.
    repeats_writes : bool
        Whether a rerun of the primal repeats its writes.
    running : int
        The number of the branch or loop that is rerun as a whole, or -1.
    loaded : dict
        Names of the variables that loads bind in such a rerun, with its number.
    forward : dict
        Names of variables of the adjoint kernel bound in reruns whose writes are undone at once, with the
        number of the branch or loop rerun.
    births : dict
        By results of primitives, the probes that find them not finite although all arguments are.
    """

    builder: Builder
    activity: Activity
    copier: Copier
    label: str
    unchosen: frozenset[Var] = frozenset()
    recomputed: RecomputedWrites = field(default_factory=RecomputedWrites)
    region: Span = (0, 0)
    repeats_writes: bool = True
    running: int = -1
    reached: Activity = field(default_factory=lambda: Activity(()))
    lost: dict[Var, Accumulate] = field(default_factory=dict[Var, Accumulate])
    adjoints: dict[Memory, Memory] = field(default_factory=dict[Memory, Memory])
    shapes: dict[Memory, tuple[Atom, ...]] = field(default_factory=dict[Memory, tuple[Atom, ...]])
    logs: dict[Memory, Memory] = field(default_factory=dict[Memory, Memory])
    loaded: dict[str, int] = field(default_factory=dict[str, int])
    forward: dict[str, int] = field(default_factory=dict[str, int])
    births: dict[Atom, list[Probe]] = field(default_factory=dict[Atom, list[Probe]])

    def memory(self, memory: Memory) -> Memory:
        """The memory of the adjoint kernel that corresponds to the primal's `memory`."""
        return self.copier.memory(memory)

    def adjoint(self, memory: Memory) -> Memory:
        """The adjoint memory of the primal's `memory`."""
        if memory.private:
            return self.adjoints[self.memory(memory)]
        return companion(memory, self.label, self.builder.names)

    @contextmanager
    def backward_of(self, s: Statement) -> Generator[None, None, None]:
        """Statements made inside get the origin of the backward sweep of `s`."""
        with self.builder.at(replace(s.origin, transforms=(*s.origin.transforms, "reverse"))):
            yield
