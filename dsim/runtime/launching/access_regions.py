"""Which regions of which fields a launch of a form writes, and its adjoint reads, from its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from dsim.analysis.regions import Regions
from dsim.ir.nodes import Accumulate, Load, Store
from dsim.ir.walk import accesses
from dsim.runtime.driver.programs import Program
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.interval_sets import Box, distinct, meet, outside
from dsim.runtime.launching.needs import Needs
from dsim.runtime.state.once import once

Region = tuple[Field, Box]


def whole(field: Field) -> Box:
    """The box of all numbers of a field."""
    return tuple((0, n) for n in field.full_shape)


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


class OwnWrites:
    """What a launch overwrites of the values that its own adjoint needs.

    Parameters
    ----------
    needed : Reach
        All that the adjoint needs.
    before, written : Reach or None
        What it needs as it was before the launch, and what the launch writes of it; None if it needs nothing.
    """

    def __init__(self, needed: Reach, before: Reach | None, written: Reach | None) -> None:
        self._needed = needed
        self._before = before
        self._written = written
        self._always: Mapping[Field, Sequence[Box]] | None = {} if before is None else None
        self._left: Sequence[Region] | None = None

    def replaced(self, args: tuple[Any, ...]) -> Mapping[Field, Sequence[Box]]:
        """The regions that a launch overwrites and whose values before it the adjoint needs."""
        if self._always is not None:
            return self._always
        assert self._before is not None
        assert self._written is not None
        found: dict[Field, list[Box]] = {}
        for field, box in self._before.of(args):
            for other, hit in self._written.of(args):
                shared = meet(box, hit) if other is field else None
                if shared is not None:
                    found.setdefault(field, []).append(shared)
        regions = {field: distinct(boxes) for field, boxes in found.items()}
        if self._before.fixed and self._written.fixed:
            self._always = regions
        return regions

    def left(self, args: tuple[Any, ...]) -> Sequence[Region]:
        """The regions that the adjoint finds after the launch, if nothing else overwrites them."""
        if self._left is not None:
            return self._left
        replaced = self.replaced(args)
        found = [
            (field, part)
            for field, box in self._needed.of(args)
            for part in outside([box], replaced.get(field, ()))
        ]
        if self._needed.fixed and self._always is not None:
            self._left = found
        return found
