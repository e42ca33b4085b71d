"""The schedule with the fewest runs of steps, for a known number of steps and a bounded memory.

A step is reversed by running it once more and recording what its adjoint needs, its residuals. The memory
holds states, from which steps run again, and residuals of steps, which need not run again. With the number
of steps `n` and the room `c`, the fewest runs of steps are::

    C(n, c) = min(1 + C(n - 1, c - residual),                             # keeps the residuals of the first
                  min over m of m + C(n - m, c - state) + C(m, c)),       # keeps the state, and advances m
    C(1, c) = 1

This is the mixed schedule of Maddison (2024), "On the implementation of checkpointing with high-level
algorithmic differentiation", with two sizes in place of one. Where residuals have no room, it is the binomial
one of Griewank and Walther (2000), "Algorithm 799: Revolve", which has a closed form.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np

_ROWS = 16384  # of a table; longer runs are split by the closed form until the rest fits
_COLUMNS = 128  # of a table; with more room, schedules are those of a part of the steps in a part of it
_NEVER = 1 << 60
_SHORT = 192  # steps for which every advance is tried; beyond, those near the last best one
_NEAR, _FAR = np.arange(-4, 32)[:, None], np.arange(-4, 128)[:, None]
_EVERY = 16  # rows from one far window to the next


class OfflineSchedule:
    """The choices for runs of up to `steps` steps with up to `room` units of memory.

    Parameters
    ----------
    steps, room : int
        The largest that are asked for.
    state, residual : int
        The sizes of a state, and of a step's residuals, in the same unit.
    """

    def __init__(self, steps: int, room: int, state: int, residual: int) -> None:
        self._state, self._residual = state, residual
        self._rows = min(steps, _ROWS)
        self._room = min(room, _COLUMNS, self._rows * max(state, residual))
        self._runs, self._advances = _table(self._rows, self._room, state, residual)

    def advance(self, steps: int, room: int) -> int:
        """How many steps to run from a state that is kept; 0 to keep the residuals of the first instead."""
        if self._all_recorded(steps, room):
            return 0
        if steps > self._rows:
            return revolve_advance(steps, max(1, room // self._state))
        scale, rows, columns = self._scaled(steps, room)
        return min(steps - 1, scale * int(self._advances[rows, columns]))

    def runs(self, steps: int, room: int) -> int:
        """How many steps run in all, forwards and again; beyond the table about how many."""
        if self._all_recorded(steps, room):
            return steps
        if steps > self._rows:
            return revolve_runs(steps, max(1, room // self._state))
        scale, rows, columns = self._scaled(steps, room)
        return scale * int(self._runs[rows, columns])

    def _all_recorded(self, steps: int, room: int) -> bool:
        return room >= self._residual * (steps - 1)

    def _scaled(self, steps: int, room: int) -> tuple[int, int, int]:
        """A row and a column of the table, for so many times as many steps in as many times the room."""
        scale = max(1, -(-room // _COLUMNS))
        return scale, -(-steps // scale), min(room // scale, self._room)


@lru_cache(8)
def schedule(steps: int, room: int, state: int = 1, residual: int = 1) -> OfflineSchedule:
    """The schedule for these numbers; tables are kept."""
    return OfflineSchedule(steps, room, state, residual)


def _table(steps: int, room: int, state: int, residual: int) -> tuple[np.ndarray, np.ndarray]:
    """The fewest runs and the first choice, for each number of steps and each room.

    The best advance hardly ever shrinks as the number of steps grows, but the function of it has small bumps:
    it is looked for in a window around the last one, in a short table everywhere. Beyond, a schedule may run
    0.1 % more steps than the best.
    """
    runs = np.full((steps + 1, room + 1), _NEVER, np.int64)
    choice = np.zeros((steps + 1, room + 1), np.int32)
    runs[0], runs[1] = 0, 1
    flat, width = runs.ravel(), room + 1
    at = np.arange(state, room + 1)
    last = np.ones(len(at), np.int64)
    for n in range(2, steps + 1):
        if residual <= room:
            runs[n, residual:] = np.minimum(1 + runs[n - 1, : room + 1 - residual], _NEVER)
        if not len(at):
            continue
        m = np.arange(1, n)[:, None] if n <= _SHORT else np.clip(last + _window(n), 1, n - 1)
        then = flat[(n - m) * width + at - state] + flat[m * width + at] + m
        best = np.argmin(then, axis=0)[None]
        least = np.take_along_axis(then, best, 0)[0]
        last = np.take_along_axis(np.broadcast_to(m, then.shape), best, 0)[0]
        kept = least < runs[n, state:]
        runs[n, state:] = np.where(kept, least, runs[n, state:])
        choice[n, state:] = np.where(kept, last, 0)
    return runs, choice


def _window(n: int) -> np.ndarray:
    return _FAR if n % _EVERY == 0 else _NEAR


# -- states alone


def reversible(states: int, repeats: int) -> int:
    """How many steps `states` states reverse, when each step runs at most `repeats` times."""
    return comb(states + repeats, states) if states >= 0 and repeats >= 0 else 0


def _repeats(steps: int, states: int) -> int:
    repeats = 0
    while reversible(states, repeats) < steps:
        repeats += 1
    return repeats


def revolve_runs(steps: int, states: int) -> int:
    """How many steps run in all when memory holds only states."""
    r = _repeats(steps, states)
    return r * steps - reversible(states + 1, r - 1) + steps if steps > 1 else steps


def revolve_advance(steps: int, states: int) -> int:
    """How many steps to run from a state that is kept, when memory holds only states."""
    if states == 1:
        return steps - 1
    r = _repeats(steps, states)
    if steps <= reversible(states, r - 1) + reversible(states - 2, r - 1):
        return reversible(states, r - 2)
    if steps >= reversible(states, r) - reversible(states - 3, r):
        return reversible(states, r - 1)
    return steps - reversible(states - 1, r - 1) - reversible(states - 2, r - 1)
