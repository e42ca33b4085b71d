"""Which launches of a backward pass copy an adjoint into rows on their way over it.

Between two launches that write the adjoint, all rows of that time have the same numbers. So any launch in
between that goes over the adjoint may copy them, the one before that writes it as well, and the one after:
after its own writes, and before them. Each takes as few as possible, since what overlaps is the copy of one
and the arithmetic of another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dsim.backends.cpu.launch import Launcher
from dsim.backends.cpu.row_copies import RowCopies
from dsim.runtime.driver import pipeline
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.native_replay import CopyingForm, Launched, is_native

Args = tuple[Any, ...]
MOST = 2  # copies of one launch: each number of them is a kernel to compile


class _Role(NamedTuple):
    """What a form does to the adjoint: whether it writes it, and what fuses copies into it, if they fit."""

    writes: bool
    fuse: Callable[[int, int], Launcher] | None


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
        found.append((made[key], (*args, *before, *after)))
    return found


class _Hosts:
    """Who takes which copies.

    Attributes
    ----------
    before, after : dict
        The places of the rows that a launch copies before and after its own work, by its number.
    gone : set of int
        The numbers of copies that launches take.
    """

    def __init__(self, launches: Sequence[tuple[Form | RowCopies, Args]], adjoint: np.ndarray) -> None:
        self._adjoint = adjoint
        self._roles: dict[Form, _Role] = {}
        self.before: dict[int, tuple[int, ...]] = {}
        self.after: dict[int, tuple[int, ...]] = {}
        self.gone = set[int]()
        waiting: list[tuple[int, int]] = []
        readers, writer = list[int](), -1  # those since the last launch that writes the adjoint, and it
        for number, (one, args) in enumerate(launches):
            if isinstance(one, RowCopies):
                waiting.append((number, args[0]))
                continue
            role = self._role(one)
            if role.writes:
                self._share_out(waiting, readers, number if role.fuse else -1, writer)
                waiting, readers, writer = [], [], number if role.fuse else -1
            elif role.fuse:
                readers.append(number)
        self._share_out(waiting, readers, -1, writer)

    def launcher(self, form: Form, before: int, after: int) -> Launcher:
        """What launches `form` with so many copies."""
        fuse = self._role(form).fuse
        assert fuse is not None
        return fuse(before, after)

    def _role(self, form: Form) -> _Role:
        found = self._roles.get(form)
        if found is None:
            found = self._roles[form] = _role(form, self._adjoint)
        return found

    def _share_out(
        self, waiting: list[tuple[int, int]], readers: list[int], following: int, last: int
    ) -> None:
        """Gives copies to the readers, and to the writers that follow and come before; -1 for none."""
        sides = [(n, self.before) for n in readers]
        sides += [(following, self.before)] if following >= 0 else []
        sides += [(last, self.after)] if last >= 0 else []
        for number, place in waiting:
            load, n, side = min(
                ((len(self.before.get(n, ())) + len(self.after.get(n, ())), n, side) for n, side in sides),
                key=lambda one: one[0],
                default=(MOST, -1, self.before),
            )
            if load < MOST:
                side[n] = (*side.get(n, ()), place)
                self.gone.add(number)


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
