"""The random numbers of a launch, which depend only on the seed and the number of the launch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dsim.backends.locks import short_lock

_MASK = (1 << 64) - 1
_DRAWING = short_lock()


class _Sequence:
    """The numbers of launches that draw, one after the other, in whichever threads."""

    def __init__(self, seed: int, number: int) -> None:
        self.seed = seed
        self.number = number  # of the next launch

    def draw(self) -> int:
        """The number of this launch."""
        with _DRAWING:
            number, self.number = self.number, self.number + 1
            return number


# The sequence of all launches, in whichever threads: kernels draw from one generator, as in Taichi. `init`
# and `reset` restart it.
class _State:
    everybodys = _Sequence(0, 1)


_APART: ContextVar[_Sequence | None] = ContextVar("dsim_random_sequence", default=None)


def _here() -> _Sequence:
    return _APART.get() or _State.everybodys


def restart(seed: int) -> None:
    """Starts the sequence that `seed` chooses from its beginning."""
    _State.everybodys = _Sequence(_mixed(seed & _MASK) & _MASK, 1)


def next_launch() -> int:
    """A number for the next launch that draws: the seed above, the count of launches in the low 32 bits.

    The generator mixes the draw's number into the upper half: two launches must differ in the lower.
    """
    sequence = _here()
    return sequence.seed & ~0xFFFFFFFF | (sequence.draw() & 0xFFFFFFFF)


def place() -> tuple[int, int]:
    """Where the sequence stands, for `return_to`."""
    sequence = _here()
    return sequence.seed, sequence.number


@contextmanager
def apart() -> Iterator[None]:
    """Inside it, launches of this thread draw from the current position, without effect on other threads."""
    token = _APART.set(_Sequence(*place()))
    try:
        yield
    finally:
        _APART.reset(token)


def return_to(where: tuple[int, int]) -> None:
    """Goes on with the sequence from there; only inside `apart`, for others may draw outside."""
    if _APART.get() is not None:
        _APART.set(_Sequence(*where))


def _mixed(z: int) -> int:
    """The bits of `z` spread over 64 (splitmix64)."""
    z = (z + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


restart(0)
