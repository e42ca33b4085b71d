"""Which regions of which fields a launch of a form writes, and its adjoint reads, from its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from dsim.analysis.regions import Regions
from dsim.ir.nodes import Accumulate, Load, Store
from dsim.ir.walk import accesses
from dsim.runtime.driver.programs import Program
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.interval_sets import Box, Needs, meet
from dsim.runtime.state.once import once

Region = tuple[Field, Box]


class Reach:
    """The regions of some accesses of a program on certain fields.

    Parameters
    ----------
    program : Program
        Whose accesses they are.
    fields : mapping of str to Field
        The root field of each memory name.
    sites : frozenset of int or None
        Which accesses; None for everything that it stores or accumulates to.
    """

    def __init__(self, program: Program, fields: Mapping[str, Field], sites: frozenset[int] | None) -> None:
        self._program = program
        self._fields = fields
        self._sites = sites
        self._always: tuple[Region, ...] | None = None

    @once
    def _regions(self) -> Regions:
        return self._program.regions(self._sites)

    @once
    def fields(self) -> tuple[Field, ...]:
        """The field of each region."""
        return tuple(self._fields[name].companion(derivative) for name, derivative in self._regions.keys)

    @property
    def fixed(self) -> bool:
        """Whether they are the same for all arguments; known after `of`."""
        return self._always is not None

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
        """The first of the accesses that touch `box` of `field` in that launch."""
        return next(self.touching(args, field, box), None)

    def touching(self, args: tuple[Any, ...], field: Field, box: Box) -> Iterator[Load | Store | Accumulate]:
        """The accesses that touch `box` of `field` in that launch."""
        for s in self._accesses():
            if self._fields[s.memory.name].companion(s.memory.derivative) is field:
                reached = self._program.regions(frozenset({s.site})).at(args)
                if any(meet(r, box) is not None for r in reached):
                    yield s

    def _accesses(self) -> Iterator[Load | Store | Accumulate]:
        for s in accesses(self._program.kernel.body):
            chosen = not isinstance(s, Load) if self._sites is None else s.site in self._sites
            if chosen and not s.memory.private:
                yield s
