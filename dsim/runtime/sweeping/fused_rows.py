"""Which launches of a backward pass copy an adjoint into rows on their way over it.

Between two launches that write the adjoint, all rows of that time have the same numbers. So any launch in
between that goes over the adjoint may copy them, the one before that writes it as well, and the one after:
after its own writes, and before them. Each takes as few as possible, since what overlaps is the copy of one
and the arithmetic of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dsim.backends.cpu.launch import Launcher
from dsim.backends.cpu.row_copies import RowCopies
from dsim.backends.llvm.kernel import Half
from dsim.runtime.driver import pipeline
from dsim.runtime.driver.pipeline import CopyingKernel
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.native_replay import CopyingForm, Launched, is_native

Args = tuple[Any, ...]
MOST = 2  # copies of one launch: each number of them is a kernel to compile


class _Role(NamedTuple):
    """What a form does to the adjoint: whether it writes it, and what fuses copies into it, if they fit."""

    writes: bool
    copying: CopyingKernel | None


class _Share(NamedTuple):
    """What a launch copies of a row: the place of the row, and which half; None for the whole."""

    place: int
    half: Half


Shares = tuple[_Share, ...]
_Side = tuple[int, dict[int, Shares]]  # a launch, and what launches copy before their work, or after it


def fused(
    launches: Sequence[tuple[Form | RowCopies, Args]], adjoint: np.ndarray
) -> list[tuple[Launched, Args]]:
    """The launches, with the copies of `adjoint` fused into others as far as possible."""
    hosts = _Hosts(launches, adjoint)
    made: dict[tuple[Form, tuple[Half, ...], tuple[Half, ...]], CopyingForm] = {}
    found: list[tuple[Launched, Args]] = []
    for number, (one, args) in enumerate(launches):
        before, after = hosts.before.get(number, ()), hosts.after.get(number, ())
        if number in hosts.gone:
            continue
        if not isinstance(one, Form) or not (before or after):
            found.append((one, args))
            continue
        key = one, tuple([s.half for s in before]), tuple([s.half for s in after])
        if key not in made:
            made[key] = CopyingForm(one, hosts.launcher(*key))
        found.append((made[key], (*args, *[s.place for s in (*before, *after)])))
    return found


class _Hosts:
    """Who takes which copies.

    Attributes
    ----------
    before, after : dict
        What a launch copies before and after its own work, by its number.
    gone : set of int
        The numbers of copies that launches take.
    """

    def __init__(self, launches: Sequence[tuple[Form | RowCopies, Args]], adjoint: np.ndarray) -> None:
        self._adjoint = adjoint
        self._roles: dict[Form, _Role] = {}
        self.before: dict[int, Shares] = {}
        self.after: dict[int, Shares] = {}
        self.gone = set[int]()
        waiting: list[tuple[int, int]] = []
        sides = list[_Side]()  # of the launches since the last one that writes the adjoint, and that one's
        for number, (one, args) in enumerate(launches):
            if isinstance(one, RowCopies):
                waiting.append((number, args[0]))
                continue
            role = self._role(one)
            if role.copying is not None:
                sides.append((number, self.before))
            if role.writes:
                self._share_out(waiting, sides)
                follows = role.copying is not None and role.copying.reach.settled
                waiting, sides = [], [(number, self.after)] if follows else []
        self._share_out(waiting, sides)

    def launcher(self, form: Form, before: Sequence[Half], after: Sequence[Half]) -> Launcher:
        """What launches `form` with these copies."""
        copying = self._role(form).copying
        assert copying is not None
        return copying.launcher(before, after)

    def _role(self, form: Form) -> _Role:
        found = self._roles.get(form)
        if found is None:
            found = self._roles[form] = _role(form, self._adjoint)
        return found

    def _share_out(self, waiting: list[tuple[int, int]], sides: list[_Side]) -> None:
        """Gives copies to these sides of launches: in halves while there are two for each copy."""
        for left, (number, place) in zip(range(len(waiting), 0, -1), waiting, strict=True):
            free = sorted((side for side in sides if self._load(side[0]) < MOST), key=self._order)
            halves: Sequence[Half] = (0, 1) if len(free) >= 2 * left else (None,)
            for (launch, side), half in zip(free, halves, strict=False):
                side[launch] = (*side.get(launch, ()), _Share(place, half))
            if free:
                self.gone.add(number)

    def _load(self, launch: int) -> int:
        return len(self.before.get(launch, ())) + len(self.after.get(launch, ()))

    def _order(self, side: _Side) -> int:
        return self._load(side[0])


def _role(form: Form, adjoint: np.ndarray) -> _Role:
    """Memories are compared by where they lie: two fields may be views of one memory."""
    if not is_native(form):
        return _Role(True, None)
    buffers = form.buffers()
    touching = [key for key, a in buffers.items() if np.may_share_memory(a, adjoint)]
    writes = any(key in touching for key in form.program.written)
    if len(touching) != 1:
        return _Role(writes, None)
    (key,) = touching
    whole = buffers[key]
    same = whole.flags.c_contiguous and whole.ctypes.data == adjoint.ctypes.data
    if not same or whole.nbytes != adjoint.nbytes:
        return _Role(writes, None)
    return _Role(writes, pipeline.replayed_with_copies(form.program.machine, buffers, key))
