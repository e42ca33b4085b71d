"""Which regions of which fields a launch of a form writes, and its adjoint reads, from its arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dsim.analysis.regions import Regions, regions, written
from dsim.ir.nodes import Accumulate, Load, Store
from dsim.ir.walk import accesses
from dsim.runtime.fields import Field
from dsim.runtime.overlaps import Box, meet

if TYPE_CHECKING:
    from dsim.runtime.forms import Form

Region = tuple[Field, Box]


class Reach:
    """The regions of some accesses of a form.

    Parameters
    ----------
    form : Form
        Whose accesses they are.
    sites : frozenset of int or None
        Which; None for everything that it stores or accumulates to.
    """

    def __init__(self, form: Form, sites: frozenset[int] | None) -> None:
        self._form = form
        self._sites = sites
        self._fixed: tuple[Region, ...] | None = None
        self._regions: Regions | None = None
        self._fields: tuple[Field, ...] = ()

    def of(self, args: tuple[Any, ...]) -> tuple[Region, ...]:
        """The regions of the launch with these arguments, none of them empty."""
        if self._fixed is not None:
            return self._fixed
        if self._regions is None:
            self._prepare()
        assert self._regions is not None
        found = tuple(
            (f, box)
            for f, box in zip(self._fields, self._regions.at(args), strict=True)
            if all(low < high for low, high in box)
        )
        if self._regions.fixed:
            self._fixed = found
        return found

    def _prepare(self) -> None:
        kernel = self._form.kernel
        self._regions = written(kernel) if self._sites is None else regions(kernel, self._sites)
        self._fields = tuple(map(self._form.field, self._regions.keys))

    def access(self, args: tuple[Any, ...], field: Field, box: Box) -> Load | Store | Accumulate | None:
        """The first of the accesses that touches `box` of `field` in that launch."""
        for s in self._accesses():
            if self._form.field(s.memory.key) is field:
                reached = regions(self._form.kernel, frozenset({s.site})).at(args)
                if any(meet(r, box) is not None for r in reached):
                    return s
        return None

    def _accesses(self) -> Iterator[Load | Store | Accumulate]:
        for s in accesses(self._form.kernel.body):
            chosen = not isinstance(s, Load) if self._sites is None else s.site in self._sites
            if chosen and not s.memory.private:
                yield s
