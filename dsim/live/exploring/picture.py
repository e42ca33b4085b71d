"""The picture that an explorer makes where nobody gave one: what a run begins with, and its gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsim.live.exploring.initial_state import InitialState
from dsim.live.scene.layers import Arrows, Bounds, Layer, Points, box
from dsim.live.scene.numbers import read
from dsim.live.view import View
from dsim.live.viewing import view
from dsim.runtime.fields.fields import Field

_ROOM = 0.1  # of the width of what is drawn, on each side, for arrows


class Beginning:
    """The numbers of a field with which runs begin, as a layer draws them."""

    def __init__(self, state: InitialState, field: Field) -> None:
        self.field = field
        self._state = state

    def __call__(self) -> np.ndarray:
        """They themselves."""
        return self._state.start(self.field)


def picture_of(
    wrt: Iterable[Field], loss: Field | None, state: InitialState, failed: Callable[[], bool]
) -> View | None:
    """A view of the first field that has positions or a grid, with its gradient.

    The gradient belongs to the numbers that runs begin with. What they end with is drawn, too, if it
    differs.

    Parameters
    ----------
    wrt : iterable of Field
        Those that a run begins with.
    loss : Field or None
        Whose gradient is drawn.
    state : InitialState
        What runs begin with.
    failed : callable
        Whether the last run failed.
    """
    for field in wrt:
        shape = (*field.shape, *field.entry_shape)
        if len(shape) >= 2 and shape[-1] in (2, 3) and field.entry_shape:
            begin = Beginning(state, field)
            moved = not np.array_equal(field.to_numpy(), begin())
            among = (begin, field) if moved else (begin,)
            layers: list[Layer] = [] if loss is None else [_downhill(begin, loss, failed, among)]
            if moved:
                layers.append(Points(name=f"{field.name} at the end", at=field, color="gray"))
            name = f"{field.name} at the beginning" if moved else field.name
            return view(Points(name=name, at=begin, drag=True), *layers, title=field.name)
        if len(shape) == 2 and not field.entry_shape:
            made = view(field)
            made.scene.layers[0].paint = True
            return made
    return None


@dataclass(kw_only=True)
class _Downhill(Arrows):
    """Arrows that need room around all positions of a picture: none is longer than a tenth of its width.

    Attributes
    ----------
    among : sequence of field or callable
        The positions.
    """

    among: Sequence[Any] = ()

    def bounds(self) -> Bounds:
        """The box around the positions, and as much as the longest arrow may need; a scene adds a margin."""
        found = [read(each, self.name) for each in self.among]
        around = box(np.concatenate([at.reshape(-1, at.shape[-1]) for at in found]))
        room = _ROOM * max(high - low for low, high in around)
        return [[low - room, high + room] for low, high in around]


def _downhill(begin: Beginning, loss: Field, failed: Callable[[], bool], among: Sequence[Any]) -> Arrows:
    """Arrows along the negative gradient, which a run that failed has not: they have no length then."""

    def vectors() -> np.ndarray:
        gradient = begin.field.grad.require_memory()  # read so, it warns of nothing
        return np.zeros_like(gradient) if failed() else -gradient

    name = f"−∂{loss.name}/∂{begin.field.name}"
    return _Downhill(name=name, at=begin, vectors=vectors, among=among)
