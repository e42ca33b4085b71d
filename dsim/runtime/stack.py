"""The differentiating contexts that are open in this thread, innermost last.

What happens to a field (a launch, a write from Python) is offered to the innermost context, which
passes what it makes of it on to the next outer one; with none open it just happens. Tapes inside
forward modes, forward modes inside tapes and tapes inside tapes are right because each context treats
what reaches it alike, whether a person or an inner context sent it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

    from dsim.runtime.components import Component
    from dsim.runtime.fields import Field


class Context(Protocol):
    """What the fields need of an open context; `contexts.Context` is the whole of it."""

    def element_written(self, field: Field, index: tuple[int, ...], value: Any) -> None:
        """Writes one number of `field`'s memory, on behalf of Python."""

    def filled(self, field: Field | Component, values: tuple[Any, ...]) -> None:
        """Sets every entry of `field` to `values` (its numbers in order), on behalf of Python."""

    def copied(self, field: Field | Component, source: Field | Component) -> None:
        """Sets `field` to `source`, on behalf of Python."""

    def given(self, field: Field | Component, array: np.ndarray) -> None:
        """Sets `field` to the numbers in `array`, on behalf of Python."""

    def element_read(self, field: Field) -> None:
        """Takes notice that Python read values of `field`."""


class _Stack(threading.local):
    def __init__(self) -> None:
        self.open: list[Any] = []
        self.explain: dict[str, Callable[[Field], None]] = {}  # who says why a gradient or tangent is zero


STACK = _Stack()


def innermost() -> Any:
    """The innermost open context of this thread, or None."""
    contexts = STACK.open
    return contexts[-1] if contexts else None


@contextmanager
def set_aside() -> Iterator[bool]:
    """Inside it no context is open, and what happens is offered to none; gives whether there were any."""
    open_before, STACK.open = STACK.open, []
    try:
        yield bool(open_before)
    finally:
        STACK.open = open_before
