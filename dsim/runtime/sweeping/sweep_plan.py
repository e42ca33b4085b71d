"""Where the adjoints of a sweep are: worked out once for each choice of calls, and kept with them."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Container, Iterable, Sequence
from typing import Any

from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.forms import AdjointForm
from dsim.runtime.recording import zeros
from dsim.runtime.state.once import kept


class SweepPlan:
    """The precomputed data of a sweep over certain adjoints.

    Attributes
    ----------
    label : str
        What the companions that hold adjoints are called: ``bar``, or another name where a call works
        with gradients as values (a tape inside this one did), or one that runs again touches them.
    bars : dict of Field to Field
        Where the adjoint of each active field is.
    values : frozenset of Field
        The gradients of active fields with whose numbers the calls work.
    primals : sequence of weakref.ref of Form
        What the adjoints are of.
    """

    def __init__(
        self,
        outputs: Iterable[Field],
        adjoints: Iterable[AdjointForm],
        others: Iterable[Field],
        first: int = 1,
        apart: Container[Field] = (),
    ) -> None:
        fields = dict.fromkeys((*outputs, *(f for a in adjoints for f in a.fields), *others))
        used = {a.primal.field(m.key) for a in adjoints for m in a.primal.kernel.memories}
        numbered = itertools.chain(["bar"], (f"bar{n}" for n in itertools.count(2)))

        def is_free(label: str) -> bool:
            bars = (f.companion((*f.derivative, label)) for f in fields)
            return not any(bar in used or bar in apart for bar in bars)

        self.label = next(filter(is_free, itertools.islice(numbered, first - 1, None)))
        self.bars = {f: f.scratch((*f.derivative, self.label)) for f in fields}
        self.values = frozenset(f.companion((*f.derivative, "bar")) for f in fields) & used
        self.primals = zeros.weakly(a.primal for a in adjoints)


class Plans:
    """Plans by outputs and adjoints. They keep no kernel: what is for one that is gone goes with the next."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], SweepPlan] = {}

    def plan(self, outputs: tuple[Field, ...], adjoints: Sequence[AdjointForm]) -> SweepPlan:
        """The plan for a sweep over these adjoints."""
        key = (outputs, *map(weakref.ref, adjoints))
        return kept(self._known, key, lambda: self._made(outputs, adjoints))

    def _made(self, outputs: tuple[Field, ...], adjoints: Sequence[AdjointForm]) -> SweepPlan:
        for old in [k for k in self._known if any(ref() is None for ref in k[1:])]:
            del self._known[old]
        return SweepPlan(outputs, adjoints, ())


def plan_of_one(adjoint: AdjointForm, outputs: tuple[Field, ...]) -> SweepPlan | None:
    """The plan for a single adjoint, which owns it; None if not all outputs are among its fields."""
    key = "plan", outputs
    found: SweepPlan | None = adjoint.remembered.get(key)
    if found is None and not set(outputs).difference(adjoint.fields):
        found = kept(adjoint.remembered, key, lambda: SweepPlan(outputs, (adjoint,), ()))
    return found
