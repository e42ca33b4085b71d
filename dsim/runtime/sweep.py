"""The backward pass of a tape: adjoints of what it recorded, last call first.

The sweep starts from adjoints of zero but for the loss, which has 1. It works in the fields' gradients
themselves; where those are not zero (the person kept them, or a call inside the tape wrote them) they are
put aside and added again. All of it goes through the tape's outer context, so a gradient can be
differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsim.diagnostics import Diagnostic, Span
from dsim.runtime import hostops
from dsim.runtime.fields import Field
from dsim.runtime.forms import AdjointForm
from dsim.runtime.notices import warn

if TYPE_CHECKING:
    from dsim.runtime.tape import Tape


@dataclass(eq=False, slots=True)
class Call:
    """A recorded launch: its adjoint, its arguments, and for a write from Python the line that wrote."""

    adjoint: AdjointForm
    args: tuple[Any, ...]
    where: Span | None = None

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.adjoint.primal.kernel.name


@dataclass(eq=False, slots=True)
class Custom:
    """A recorded call of a function whose backward pass a person wrote."""

    backward: Callable[[], None]
    name: str


Entry = Call | Custom


class Sweep:
    """One backward pass over `tape`."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._label = "bar"
        self._adjoints = {e.adjoint: None for e in tape.entries if isinstance(e, Call)}
        self._nonzero: set[Field] = set()
        self._anything = False  # a person's backward pass may have changed any gradient

    def run(self) -> None:
        """Goes backwards and leaves the gradients."""
        if not self._loss_is_written():
            return
        primal = self._primal_memories()
        self._label = self._free_label(primal)
        aside = self._start(primal)
        loss = self._bar(self._tape.loss)
        self._op(hostops.Fill, loss, 1.0)
        loss.touched = True
        self._nonzero = {self._tape.loss}
        for entry in reversed(self._tape.entries):
            if isinstance(entry, Custom):
                entry.backward()
                self._anything = True
            elif self._anything or not self._nonzero.isdisjoint(entry.adjoint.outputs):
                self._backward(entry)
        self._finish(primal, aside)

    def _backward(self, call: Call) -> None:
        adjoint = call.adjoint
        if self._label != adjoint.label:
            adjoint = adjoint.primal.adjoint(adjoint.active, self._label)
        self._tape.pass_on(adjoint.form, call.args)
        self._nonzero.update(adjoint.targets)

    def _loss_is_written(self) -> bool:
        loss = self._tape.loss
        if any(loss in a.outputs for a in self._adjoints) or any(
            isinstance(e, Custom) for e in self._tape.entries
        ):
            return True
        message = f"no call inside the tape wrote the loss {loss.quoted}: all gradients are 0"
        warn(
            [
                Diagnostic(
                    "cut", message, help="call the kernels that compute the loss inside the `with` block"
                )
            ]
        )
        return False

    # -- which memories stand for adjoints

    def _primal_memories(self) -> dict[Field, None]:
        """What carries adjoints, in order of first use."""
        found: dict[Field, None] = {self._tape.loss: None}
        for adjoint in self._adjoints:
            for key in sorted(adjoint.active):
                found[adjoint.primal.field(key)] = None
        return found

    def _free_label(self, primal: Iterable[Field]) -> str:
        """``bar``; another one where a call works with gradients as values (a tape inside this one did)."""
        used = {a.primal.field(m.key) for a in self._adjoints for m in a.primal.kernel.memories}
        label, number = "bar", 1
        while any(f.companion((*f.derivative, label)) in used for f in primal):
            number += 1
            label = f"bar{number}"
        return label

    def _bar(self, field: Field) -> Field:
        return field.scratch((*field.derivative, self._label))

    # -- zeros before, and what was there before added after

    def _start(self, primal: Iterable[Field]) -> list[tuple[Field, Field]]:
        aside: list[tuple[Field, Field]] = []
        for field in primal:
            bar = self._bar(field)
            if not bar.touched:
                continue
            if bar.wanted:
                kept = Field(bar.dtype, bar.entry_shape, f"kept_{field.root.given_name or 'field'}")
                kept.allocate(bar.shape)
                self._op_form(hostops.Copy, kept, bar)
                aside.append((bar, kept))
            self._zero(bar)
        return aside

    def _finish(self, primal: Iterable[Field], aside: list[tuple[Field, Field]]) -> None:
        for bar, kept in aside:
            self._op_form(hostops.Add, bar, kept)
        if self._label == "bar":
            return
        for field in primal:
            result, public = self._bar(field), field.companion((*field.derivative, "bar"))
            if public.wanted:
                self._op_form(hostops.Copy if self._tape.clears else hostops.Add, public, result)
                public.touched = True

    def _zero(self, bar: Field) -> None:
        self._op(hostops.Fill, bar, *(0.0,) * bar.numbers)
        bar.touched = False

    def _op(self, kind: Any, field: Field, *values: float) -> None:
        self._tape.pass_on(hostops.form(kind, field), values)

    def _op_form(self, kind: Any, field: Field, other: Field) -> None:
        self._tape.pass_on(kind(field, other), ())
