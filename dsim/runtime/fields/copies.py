"""Copies of fields, by `copy` and `pickle`: the state of a field, and its reconstruction.

A copy has memory of its own, a place of its own in the layout, and the companions that the user requested.
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import numpy as np

from dsim.runtime.fields.storage import Storage
from dsim.runtime.state.stack import opened

S = TypeVar("S", bound=Storage)


def deep(field: S, memo: dict[int, Any]) -> S:
    """A field like `field`; of a gradient or tangent that of a copied field.

    Inside a tape or forward mode the numbers are copied by a launch, through which derivatives go.
    """
    if field.derivative:
        return copy.deepcopy(field.root, memo).companion(field.derivative)
    wanted = {d: c.shape for d, c in field.companions.items() if c.wanted}
    made = _like(field, field.dtype, field.entry_shape, field.given_name, wanted)
    if field.buffer is None:
        if field.dropped:
            field.require()  # says so
        return made
    _place(made, field.shape, field.first, field.parts, field.node)
    for derivative in ((), *(d for d in wanted if field.companion(d).touched)):
        to: Any = made.companion(derivative)
        to.copy_from(field.companion(derivative))
    return made


def reduced(field: Storage) -> tuple[Any, ...]:
    """What `pickle` keeps of `field`: see ``object.__reduce__``."""
    if field.derivative:
        return _companion, (field.root, field.derivative)
    wanted = {d: c.shape for d, c in field.companions.items() if c.wanted}
    made = _like, (type(field), field.dtype, field.entry_shape, field.given_name, wanted)
    if field.buffer is None and not field.dropped:
        return made
    if opened():
        opened()[-1].element_read(field)  # a gradient ends here, and it is said
    values: dict[tuple[str, ...], np.ndarray] = {(): field.require()}
    for d in wanted:
        if field.companion(d).touched:
            values[d] = field.companion(d).require()
    return _restored, (*made[1], values, field.shape, field.first, field.parts, field.node)


def _restored(
    kind: type[Storage], dtype: Any, entry_shape: Any, name: str, wanted: Any, values: Any, *place: Any
) -> Storage:
    made = _like(kind, dtype, entry_shape, name, wanted)
    _place(made, *place)
    for derivative, numbers in values.items():
        to = made.companion(derivative)
        np.copyto(to.require(), numbers)
        to.written_by_python()
    return made


def _like(kind: Any, dtype: Any, entry_shape: Any, name: str, wanted: dict[Any, Any]) -> Any:
    """A field without memory, of which the companions `wanted` have, or will have, these shapes."""
    made = (kind if isinstance(kind, type) else type(kind))(dtype, entry_shape, name)
    for derivative, shape in wanted.items():
        made.want(derivative).shape = shape
    return made


def _place(made: Storage, shape: Any, first: Any, parts: Any, node: Any) -> None:
    """Gives it and its companions memory, and a place beside that of its original."""
    made.give(shape)
    made.first, made.parts, made.node = first, set(parts), node
    for companion in list(made.companions.values()):
        companion.shape = shape
        if companion.wanted:
            companion.allocate(shape)
    if node is not None:
        node.hold(made)


def _companion(root: Storage, derivative: tuple[str, ...]) -> Storage:
    return root.companion(derivative)
