"""Adjoints of forms, and what they ask of the values that a launch leaves or destroys."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsim.analysis.effects import Effects, effects, is_write
from dsim.analysis.rules import Overwrite, overwritten
from dsim.autodiff import Lost, writes_again
from dsim.ir.nodes import Accumulate, Block, Load, MemoryKey, Watch
from dsim.ir.walk import accesses, statements
from dsim.runtime.fields import Field, youngest
from dsim.runtime.once import once
from dsim.runtime.overlaps import Box, distinct, meet
from dsim.runtime.reach import Reach

if TYPE_CHECKING:
    from dsim.runtime.forms import Form, Keys


@dataclass(eq=False)
class AdjointForm:
    """The adjoint of `primal`, with what it asks of the values that the primal leaves.

    Attributes
    ----------
    active : frozenset of MemoryKey
        What it is the adjoint with respect to.
    label : str
        What the companions that hold the adjoints are called.
    needed, lost, ordered, whole
        See `dsim.autodiff.Adjoint`.
    entry : frozenset of MemoryKey
        The memories that it finds as they were before the primal ran.
    reads : Reach
        The regions whose values it needs.
    conflicts : tuple of Overwrite
        Needed values that the primal itself overwrites, of memories that are not in `entry`.
    fields : tuple of Field
        The active fields.
    outputs : tuple of Field
        Of these those that the primal writes.
    watched : bool
        Whether the primal shows what its lines assign; its adjoint then counts launches backwards.
    """

    primal: Form
    form: Form
    active: Keys
    label: str
    needed: frozenset[int]
    lost: tuple[Lost, ...]
    entry: Keys = frozenset()
    ordered: tuple[Accumulate, ...] = ()
    whole: Keys = frozenset()

    def __post_init__(self) -> None:
        self.reads = Reach(self.primal, self.needed)
        self.conflicts = self._conflicts()
        self.keeps = not self.conflicts and not self.lost
        self.watched = any(isinstance(s, Watch) for s in statements(self.primal.kernel.body))
        self._model: AdjointForm | None = None
        self._name_fields()

    def _name_fields(self) -> None:
        active = {key: self.primal.field(key) for key in sorted(self.active)}
        written = set(self.primal.written)
        self.fields = tuple(active.values())
        self.outputs = tuple(f for f in active.values() if f in written)

    @once
    def targets(self) -> tuple[Field, ...]:
        """The active fields whose adjoint it may change."""
        changed = set(self.form.written)
        return tuple(f for f in self.fields if f.companion((*f.derivative, self.label)) in changed)

    @once
    def youngest(self) -> Field:
        """The field of all that it works with which was made last."""
        return youngest(self.primal.fields.values())

    def on(self, primal: Form, form: Form) -> AdjointForm:
        """The same for a form that is like `primal` but for its fields, and whose adjoint is `form`."""
        made = copy.copy(self)
        for name, member in vars(type(self)).items():
            if isinstance(member, once):
                made.__dict__.pop(name, None)
        made.primal, made.form, made._model = primal, form, self
        made.reads = self.reads.on(primal)
        made._name_fields()
        return made

    def _conflicts(self) -> tuple[Overwrite, ...]:
        if not self.needed:
            return ()
        facts = effects(self.primal.kernel)
        found = overwritten(self.primal.kernel, self.needed, facts)
        among = [c for c in found if c.read.memory.key not in self.entry]
        told = {c.read.memory.key for c in among}
        return (*among, *(_any_overwrite(facts, key) for key in sorted(self.whole - self.entry - told)))

    # -- when the primal overwrites what it reads

    def cuts(self) -> frozenset[int]:
        """Before which top-level statements to cut, so that reads and what overwrites them stand apart.

        A statement that overwrites what it reads itself stands alone. Nothing is cut of what has an adjoint
        as a whole only.
        """
        if self.whole:
            return frozenset()
        at = self._tops()
        pairs = [(at[c.read.site], at[c.write.site]) for c in self.conflicts]
        pairs += [(at[item.by.site], at[item.by.site]) for item in self.lost]
        cuts: set[int] = {n for p, q in pairs if p == q for n in (p, p + 1)}
        for p, q in sorted(pairs, key=lambda pair: pair[1]):
            if p < q and not any(p < cut <= q for cut in cuts):
                cuts.add(q)
        return frozenset(cuts)

    def _tops(self) -> dict[int, int]:
        """The number of the top-level statement that each access is in."""
        found: dict[int, int] = {}
        for n, top in enumerate(self.primal.kernel.body.statements):
            found.update((s.site, n) for s in accesses(Block((top,))))
        return found

    def from_entry(self) -> AdjointForm:
        """The adjoint that finds what the primal overwrites as it was before.

        To write those memories again it may need more that the primal overwrites.
        """
        if self.keeps:
            return self
        spoilt = {c.read.memory.key for c in self.conflicts} | {item.by.memory.key for item in self.lost}
        return self.primal.adjoint(self.active, self.label, self.entry | spoilt).from_entry()

    def differentiable(self) -> AdjointForm:
        """This, or one that has an adjoint itself.

        One that writes memories again has it if it reads no values as the primal left them.
        """
        kernel = self.form.kernel
        if not self.keeps or not writes_again(kernel):
            return self
        read = {s.memory.key for s in accesses(kernel.body) if isinstance(s, Load)}
        results = {k for k in read & self.active if self.primal.field(k) in self.outputs} - self.entry
        if not results:
            return self
        more = self.primal.adjoint(self.active, self.label, self.entry | results)
        return more.from_entry().differentiable()

    @once
    def launched(self) -> Form:
        """What to launch in the place of `primal`."""
        return self.primal.in_series() if self.ordered else self.primal

    @once
    def _own(self) -> tuple[Reach, Reach]:
        """What it reads, and what the primal writes, of the memories `entry`."""
        if self._model is not None:
            reads_of_model, writes_of_model = self._model._own
            return reads_of_model.on(self.primal), writes_of_model.on(self.primal)
        touched = [s for s in accesses(self.primal.kernel.body) if s.memory.key in self.entry]
        reads = frozenset(s.site for s in touched if s.site in self.needed)
        writes = frozenset(s.site for s in touched if not isinstance(s, Load))
        return Reach(self.primal, reads), Reach(self.primal, writes)

    def replaced(self, args: tuple[Any, ...]) -> dict[Field, list[Box]]:
        """The regions that a launch overwrites and whose values before it the adjoint needs."""
        if not self.entry:
            return {}
        reads, writes = (reach.of(args) for reach in self._own)
        found: dict[Field, list[Box]] = {}
        for field, box in reads:
            for other, hit in writes:
                shared = meet(box, hit) if other is field else None
                if shared is not None:
                    found.setdefault(field, []).append(shared)
        return {field: distinct(boxes) for field, boxes in found.items()}


def _any_overwrite(facts: Effects, key: MemoryKey) -> Overwrite:
    """A read and a write of a memory that has both."""
    accesses = facts.by_memory[key]
    read = next(a for a in accesses if a.kind == "load")
    return Overwrite(read, next(filter(is_write, accesses)), certain=False)
