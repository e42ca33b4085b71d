"""Array arguments that are all fields, seen before: what they need is known, and the launch is bound to them.

An array of NumPy's may move, be reshaped or be a view of another one: each launch looks. A field does not.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dsim.runtime.fields.fields import Field

_MOST = 64  # arguments that a kernel remembers


class FieldFacts:
    """What one compilation of a kernel knows of fields. Another one has its own: threads may launch both.

    Parameters
    ----------
    by : object
        The compilation.
    is_captured : bool
        Whether one of the memories is a field that the kernel captured.
    written : list of weakref
        The memories that the kernel writes.

    Attributes
    ----------
    native : callable or None
        Machine code on their memory; None before the first launch that needs it.
    """

    __slots__ = ("by", "is_captured", "native", "written")

    def __init__(self, by: object, is_captured: bool, written: Sequence[Callable[[], Any]]) -> None:
        self.by, self.is_captured, self.written = by, is_captured, written
        self.native: Callable[..., Any] | None = None


class FieldArguments:
    """Fields that a kernel takes as arrays. It keeps their memory, and not the fields.

    Parameters
    ----------
    fields : sequence of Field
        The arguments.
    memories : sequence of Field
        Their memories, each once, as launches take them.
    instance : Instance
        Launches the kernel for them and the other arguments.
    gone : callable
        Called when one of the fields is gone.

    Attributes
    ----------
    found : FieldFacts or None
        What the last compilation of the kernel that was launched for them has found of them.
    """

    found: FieldFacts | None = None

    def __init__(
        self,
        fields: Sequence[Any],
        memories: Sequence[Any],
        instance: Any,
        gone: Callable[[Any], None],
    ) -> None:
        self._watched = [weakref.ref(f, gone) for f in fields]
        self._memories = [weakref.ref(f, gone) for f in memories]
        self.instance = instance

    def __iter__(self) -> Iterator[Field]:
        return iter(self.memories())

    def memories(self) -> list[Any]:
        """The memories; whoever launches holds the fields."""
        return [ref() for ref in self._memories]

    def among(self, places: Iterable[int]) -> list[Callable[[], Any]]:
        """Some of the memories, by their places, without holding them."""
        return [self._memories[n] for n in places]


class FieldCalls:
    """The arguments of a kernel's last launches that were all fields, by their identities.

    What is known of a field goes with it, so an identity is always that of the same field.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], FieldArguments] = {}
        self.find = self._known.get

    def remember(self, fields: Sequence[Any], memories: Sequence[Any], instance: Any) -> FieldArguments:
        """Remembers these arguments."""
        known, key = self._known, tuple(map(id, fields))
        if len(known) >= _MOST:
            known.clear()

        def gone(_: object) -> None:
            known.pop(key, None)

        made = known[key] = FieldArguments(fields, memories, instance, gone)
        return made

    def clear(self) -> None:
        """Forgets all."""
        self._known.clear()
