"""Which regions of which fields a launch of a form writes, and its adjoint reads, from its arguments."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from dsim.analysis.regions import Regions, regions, written
from dsim.ir.nodes import Accumulate, Load, Store
from dsim.ir.walk import accesses
from dsim.runtime.fields import Field
from dsim.runtime.once import once
from dsim.runtime.overlaps import Box, Needs, meet

if TYPE_CHECKING:
    from dsim.runtime.forms import Form

Region = tuple[Field, Box]


class Reach:
    """The regions of some accesses of a form.

    Parameters
    ----------
    form : Form
        Whose accesses they are. It owns this, directly or through its adjoints, and is referred to weakly: a
        form that is no longer used goes at once.
    sites : frozenset of int or None
        Which; None for everything that it stores or accumulates to.
    model : Reach, optional
        The same of a form with the same kernel.
    """

    def __init__(self, form: Form, sites: frozenset[int] | None, model: Reach | None = None) -> None:
        self._form: Form = weakref.proxy(form)
        self._sites = sites
        self._model = model
        self._always: tuple[Region, ...] | None = None

    @once
    def _regions(self) -> Regions:
        if self._model is not None:
            return self._model._regions
        kernel = self._form.kernel
        return written(kernel) if self._sites is None else regions(kernel, self._sites)

    @once
    def fields(self) -> tuple[Field, ...]:
        """The field of each region."""
        return tuple(map(self._form.field, self._regions.keys))

    def on(self, form: Form) -> Reach:
        """The same for a form with the same kernel."""
        return Reach(form, self._sites, self)

    def of(self, args: tuple[Any, ...]) -> tuple[Region, ...]:
        """The regions of the launch with these arguments, none of them empty."""
        if self._always is not None:
            return self._always
        found = tuple(
            (f, box)
            for f, box in zip(self.fields, self._regions.at(args), strict=True)
            if all(low < high for low, high in box)
        )
        if self._regions.fixed:
            self._always = found
        return found

    def meets(self, needs: Needs) -> Callable[[tuple[Any, ...]], bool]:
        """Says of the arguments of a launch whether its regions may meet what is needed."""
        return partial(self._regions.meets, tuple(map(needs.hull, self.fields)))

    def widen(self, needs: Needs) -> Callable[[tuple[Any, ...]], None]:
        """Makes the hulls of what is needed hold the regions of a launch with these arguments."""
        return partial(self._regions.widen, tuple(map(needs.hull, self.fields)))

    def access(self, args: tuple[Any, ...], field: Field, box: Box) -> Load | Store | Accumulate | None:
        """The first of the accesses that touches `box` of `field` in that launch."""
        return next(self.touching(args, field, box), None)

    def touching(self, args: tuple[Any, ...], field: Field, box: Box) -> Iterator[Load | Store | Accumulate]:
        """The accesses that touch `box` of `field` in that launch."""
        for s in self._accesses():
            if self._form.field(s.memory.key) is field:
                reached = regions(self._form.kernel, frozenset({s.site})).at(args)
                if any(meet(r, box) is not None for r in reached):
                    yield s

    def _accesses(self) -> Iterator[Load | Store | Accumulate]:
        for s in accesses(self._form.kernel.body):
            chosen = not isinstance(s, Load) if self._sites is None else s.site in self._sites
            if chosen and not s.memory.private:
                yield s
