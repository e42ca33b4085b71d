"""Which random numbers a launch draws: the seed and the number of the launch decide, nothing else."""

from __future__ import annotations

import itertools

_MASK = (1 << 64) - 1


class _State:
    seed = 0
    numbers = itertools.count(1)


def restart(seed: int) -> None:
    """Starts the sequence that `seed` chooses from its beginning."""
    _State.seed = _mixed(seed & _MASK) & _MASK
    _State.numbers = itertools.count(1)


def next_launch() -> int:
    """A number for the next launch that draws: the seed above, the count of launches in the low 32 bits.

    The generator mixes the draw's number into the upper half: two launches must differ in the lower.
    """
    return _State.seed & ~0xFFFFFFFF | (next(_State.numbers) & 0xFFFFFFFF)


def place() -> tuple[int, int]:
    """Where the sequence stands, for `return_to`."""
    number = next(_State.numbers)
    _State.numbers = itertools.count(number)
    return _State.seed, number


def return_to(where: tuple[int, int]) -> None:
    """Goes on with the sequence from there."""
    _State.seed, number = where
    _State.numbers = itertools.count(number)


def _mixed(z: int) -> int:
    """The bits of `z` spread over 64 (splitmix64)."""
    z = (z + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


restart(0)
