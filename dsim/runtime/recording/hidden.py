"""Fields whose derivative is unknown: a function with a derivative of its own wrote them.

Under `implicit` these are fields beside the unknowns; and all that such a function wrote before it failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dsim.analysis.must_writes import stored_boxes
from dsim.diagnostics import Diagnostic, GradientError
from dsim.ir.nodes import MemoryKey
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.access_regions import whole
from dsim.runtime.launching.contexts import System
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.interval_sets import outside


@dataclass(frozen=True)
class _Writer:
    """The function that wrote a field, and whether it failed."""

    name: str
    failed: bool

    @property
    def advice(self) -> str:
        """What to do about it."""
        if self.failed:
            return f"let the error of `{self.name}` leave the run or the `with` block"
        return f"compute it again from the unknowns, after `{self.name}`"


class HiddenResults(dict[Field, _Writer]):
    """Fields that a context must not differentiate through, each with the function that wrote it."""

    def add(self, fields: Iterable[Field], name: str, failed: bool = False) -> None:
        """Adds what the function `name` wrote, or wrote before it `failed`."""
        self.update((f, _Writer(name, failed)) for f in fields if f.dtype.is_float)

    def discard(self, fields: Iterable[Field]) -> None:
        """Takes out fields whose derivative is known."""
        for f in fields:
            self.pop(f, None)

    def refuse(self, fields: Iterable[Field]) -> None:
        """Refuses to differentiate one.

        Raises
        ------
        GradientError
            When one is among `fields`.
        """
        for f in fields:
            if f in self:
                by = self[f]
                did = (
                    f"wrote {f.quoted} and failed"
                    if by.failed
                    else f"computed {f.quoted} beside its unknowns"
                )
                message = f"`{by.name}` {did}: its derivative is not known"
                raise GradientError(Diagnostic("not-differentiable", message, help=by.advice))

    def refuse_in(self, system: System, varies: Callable[[Field], bool]) -> None:
        """Refuses equations that depend on one, or on what varies and they do not name; adds what they lose.

        Raises
        ------
        GradientError
            When they do.
        """
        if self:
            self.refuse(system.needed(self.__contains__))
        lost = system.lost(varies)
        system.refuse_missing(lambda f: varies(f) or f in lost)
        self.discard(system.unknown)
        self.add(lost.difference(system.wrt), system.name)

    def check(self, form: Form) -> bool:
        """Refuses a launch through which the derivative of one would pass; forgets those that it replaces.

        What Python, or dsim itself, copies from one is another: their kernels stand nowhere in a program.
        Gives whether there are others now, so that launches that were checked have to be checked again.

        Raises
        ------
        GradientError
            When its results depend on one.
        """
        loaded = set(form.loads.fields)
        met = [(key, f) for key, f in form.floats if f in self]
        read = [(key, f) for key, f in met if f in loaded and form.spread(frozenset([key])) != {key}]
        copied = {target: self[f] for _, f in read for target in form.written}
        if read and form.kernel.origin.span is not None:
            raise _read(form, read[0][1], self[read[0][1]])
        for key, f in met:
            if f not in loaded and _replaced(form, key, f):
                del self[f]
        grows = not copied.keys() <= self.keys()
        self.update(copied)
        return grows


def half_recorded() -> GradientError:
    """The error of a record whose program continued after a launch had failed."""
    message = "a launch inside the tape failed, and the program went on: half of it has no gradient"
    advice = "let the error leave the `with` block"
    return GradientError(Diagnostic("not-differentiable", message, help=advice))


def _replaced(form: Form, key: MemoryKey, field: Field) -> bool:
    """Whether every launch stores to all elements of a field."""
    return not outside([whole(field)], stored_boxes(form.kernel, key))


def _read(form: Form, field: Field, by: _Writer) -> GradientError:
    did = "wrote before it failed" if by.failed else "computed beside its unknowns"
    message = (
        f"`{form.kernel.name}` reads {field.quoted}, which `{by.name}` {did}: its derivative is not known"
    )
    advice = f"{by.advice}; or `ds.stop_grad` it"
    span = form.kernel.origin.span
    return GradientError(Diagnostic("not-differentiable", message, span, "defined here", help=advice))
