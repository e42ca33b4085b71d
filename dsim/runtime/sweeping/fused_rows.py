"""Which launches of a backward pass copy an adjoint into rows on their way over it.

Between two launches that write the adjoint, all rows of that time have the same numbers. So any launch in
between that goes over the adjoint may copy them, the one before that writes it as well, and the one after:
after its own writes, and before them. Each takes as few as possible, since what overlaps is the copy of one
and the arithmetic of another: two launches that have equally many share a copy, each one half of every piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dsim.backends.cpu.launch import Launcher
from dsim.backends.cpu.row_copies import RowCopies
from dsim.runtime.driver import pipeline
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.native_replay import CopyingForm, Launched, is_native

Args = tuple[Any, ...]
Taken = tuple[tuple[int, int], ...]  # of each copy its place among the rows, and which halves
MOST = 2  # copies of one launch: each number of them is a kernel to compile
LOWER, UPPER = 1, 2  # halves of each piece
BOTH = LOWER | UPPER


class _Role(NamedTuple):
    """What a form does to the adjoint: whether it writes it, and what fuses copies into it."""

    writes: bool
    host: pipeline.CopyHost | None


def fused(
    launches: Sequence[tuple[Form | RowCopies, Args]], adjoint: np.ndarray
) -> list[tuple[Launched, Args]]:
    """The launches, with the copies of `adjoint` fused into others as far as possible."""
    hosts = _Hosts(launches, adjoint)
    made: dict[tuple[Form, int, int], CopyingForm] = {}
    found: list[tuple[Launched, Args]] = []
    for number, (one, args) in enumerate(launches):
        before, after = hosts.before.get(number, ()), hosts.after.get(number, ())
        if number in hosts.gone:
            continue
        if not isinstance(one, Form) or not (before or after):
            found.append((one, args))
            continue
        key = one, len(before), len(after)
        if key not in made:
            made[key] = CopyingForm(one, hosts.launcher(*key))
        found.append((made[key], (*args, *(n for copy in before + after for n in copy))))
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
        self.before: dict[int, Taken] = {}
        self.after: dict[int, Taken] = {}
        self.gone = set[int]()
        waiting: list[tuple[int, int]] = []
        readers, writer = list[int](), -1  # those since the last launch that writes the adjoint, and it
        for number, (one, args) in enumerate(launches):
            if isinstance(one, RowCopies):
                waiting.append((number, args[0]))
                continue
            role = self._role(one)
            if role.writes:
                self._share_out(waiting, readers, number if role.host else -1, writer)
                waiting, readers, writer = [], [], number if role.host and role.host.late else -1
            elif role.host:
                readers.append(number)
        self._share_out(waiting, readers, -1, writer)

    def launcher(self, form: Form, before: int, after: int) -> Launcher:
        """What launches `form` with so many copies."""
        host = self._role(form).host
        assert host is not None
        return host.fuse(before, after)

    def _role(self, form: Form) -> _Role:
        found = self._roles.get(form)
        if found is None:
            found = self._roles[form] = _role(form, self._adjoint)
        return found

    def _share_out(
        self, waiting: list[tuple[int, int]], readers: list[int], following: int, last: int
    ) -> None:
        """Gives copies to the readers, and to the writers that follow and come before; -1 for none."""
        early = [*readers, following] if following >= 0 else readers
        late = [last] if last >= 0 else []
        for left, (number, place) in zip(range(len(waiting))[::-1], waiting, strict=True):
            least = min(map(self._load, early + late), default=MOST)
            if least == MOST:
                return
            ready, fitting = ([n for n in side if self._load(n) == least] for side in (early, late))
            if left == 0 and len(ready) > 1:
                _give(self.before, ready[0], place, LOWER)
                _give(self.before, ready[1], place, UPPER)
            elif ready:
                _give(self.before, ready[0], place, BOTH)
            else:
                _give(self.after, fitting[0], place, BOTH)
            self.gone.add(number)

    def _load(self, number: int) -> int:
        return len(self.before.get(number, ())) + len(self.after.get(number, ()))


def _give(side: dict[int, Taken], number: int, place: int, halves: int) -> None:
    side[number] = (*side.get(number, ()), (place, halves))


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
    return _Role(writes, pipeline.copy_host(form.program.machine, buffers, key))
