"""The memory of large results: that of one which nobody has any more serves for the next one.

A system sets new memory to zero when it is first written to, which takes as long as a backward pass.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.memory_places import LINE, aligned
from dsim.runtime.recording.record import TapeRecord

_MEMINFO = Path("/proc/meminfo")
_KEPT = range(1 << 20, 1 << 29)  # bytes that a tape keeps of what its user has let go


def room(tape: TapeRecord, field: Field, count: int) -> np.ndarray:
    """Memory for `count` gradients, all of which are to be written.

    Raises
    ------
    GradientError
        When there is not enough: a system that overcommits memory grants more than it has, and ends the
        process that uses it.
    """
    shape, dtype = (count, *field.full_shape), np.dtype(field.dtype.numpy)
    size = count * int(np.prod(field.full_shape, dtype=object)) * dtype.itemsize
    kept = _let_go(tape) if size in _KEPT else None
    if kept is not None and _bytes(kept) == size + LINE:
        return aligned(kept, shape, dtype)
    del kept  # before more is asked for
    free = _available()
    try:
        if free is None or size <= free:
            return aligned(np.empty(size + LINE, np.uint8), shape, dtype)
    except (MemoryError, ValueError):
        pass
    message = (
        f"{count:,} gradients with respect to {field.quoted} need {size / 2**30:.3g} GiB, "
        "which are not available"
    )
    raise GradientError(Diagnostic("memory", message, help="ask for fewer: a larger `every=`, or some calls"))


def keep(tape: TapeRecord, values: np.ndarray) -> bool:
    """Lets the next result have this memory when nobody has it any more; says whether it is worth that."""
    if values.nbytes not in _KEPT:  # of less, the allocator of C keeps some itself
        return False
    tape.result = values.base  # `values` and each view of it refer to this
    return True


def _let_go(tape: TapeRecord) -> np.ndarray | None:
    """The bytes of the last result if nobody has a part of it any more; the tape gives them away."""
    held = [vars(tape).pop("result", None)]  # by one of the threads that ask at the same time
    return held[0] if _references(held) == _ALONE else None


def _bytes(memory: np.ndarray) -> int:
    """How many bytes it has to write to; 0 if somebody has made something else of it."""
    plain = memory.dtype == np.uint8 and memory.ndim == 1 and memory.flags.carray
    return memory.nbytes if plain else 0


def _references(held: list[np.ndarray | None]) -> int:
    """How many there are of the only array in a list: each array, buffer or tensor on its bytes has one.

    Of None there are many.
    """
    return sys.getrefcount(held[0])


_ALONE = _references([np.empty(0)])  # versions of Python count those of the call differently


def _available() -> int | None:
    """The bytes that processes can still get; None where the system does not say."""
    try:
        lines = _MEMINFO.read_text().splitlines()
    except OSError:
        return None
    found = next((line.split()[1] for line in lines if line.startswith("MemAvailable:")), None)
    return None if found is None else int(found) * 1024
