"""Gradients that one sweep has for itself, in place of those that a user sees: these keep their numbers.

The machine code of a known sweep takes the addresses of gradients from its frames. So it works on other
memory without another kernel, and nothing has to be put aside and back around it.

Where that memory begins is free, too. A vector in the middle of a row that crosses pages takes several times
as long as another one; where rows of a grid are a power of two long and gradients begin at pages, none does.
But gradients at one place of a page share the sets of a first cache: more than a few begin where those of
fields do, which are spread.
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from dsim.runtime.fields.aliases import address
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.memory_places import PAGE, like
from dsim.runtime.fields.whole_memory import zero
from dsim.runtime.launching.native_replay import NativeReplay

_FEW = 8  # gradients: four at each place, half as many as a set holds lines


def run(known: NativeReplay, seeds: Container[Field], rows: int, spare: dict[Field, np.ndarray]) -> None:
    """Runs a sweep that can move, from 1 as the gradients of outputs and 0 as all others.

    Parameters
    ----------
    known : NativeReplay
        The sweep.
    seeds : container of Field
        The gradients of outputs.
    rows : int
        The address of the first row.
    spare : dict of Field to ndarray
        Gives memory of earlier sweeps, and has this one's afterwards.
    """
    memory: list[np.ndarray] = []
    for number, bar in enumerate(known.moving):
        private = spare.pop(bar, None)  # not to be shared with a sweep of another thread
        memory.append(_new(bar, number, len(known.moving)) if private is None else private)
        if bar in seeds:
            memory[-1].fill(1)
        else:
            zero(memory[-1])
    known.run_on(memory, rows)
    spare.update(zip(known.moving, memory, strict=True))


def _new(bar: Field, number: int, count: int) -> np.ndarray:
    memory = bar.require_memory()
    place = number % 2 * (PAGE // 2) if count <= _FEW else address(memory) % PAGE
    return like(memory, place)
