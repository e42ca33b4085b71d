"""Simulated lack of memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dsim.backends.cpu.runtime import runtime
from dsim.backends.llvm import frame


@contextmanager
def memory(size: int) -> Iterator[None]:
    """Inside, machine code has `size` bytes for private buffers and undo logs; it gives all of it back."""
    block = runtime()._block
    limit, block[frame.MEMORY_LEFT] = block[frame.MEMORY_LEFT], size
    try:
        yield
        assert block[frame.MEMORY_LEFT] == size
    finally:
        block[frame.MEMORY_LEFT] = limit
