"""A kernel in grid form, and how it is launched."""

from __future__ import annotations

from typing import Literal, NamedTuple

from dsim.backends.llvm.frame import FrameLayout
from dsim.backends.llvm.writer import Messages
from dsim.ir.nodes import Statement

Kind = Literal["serial", "parallel", "combine"]

COORDINATES = "ptr %given, i64 %tid, i64 %ntid, i64 %cta, i64 %ncta, ptr %shared, ptr %barrier"
MOST_THREADS = 1024  # of a block


class GridKernel(NamedTuple):
    """One kernel of a module: its function is ``name_thread``, with the parameters `COORDINATES`.

    These are the frame, the thread in its block and the threads of a block, the block and the blocks of the
    grid, the block's shared memory, and what the target's barrier takes.

    Attributes
    ----------
    kind : str
        ``"parallel"``: any number of blocks, of up to `MOST_THREADS` threads. ``"serial"``: one block of one
        thread. ``"combine"``: one block of up to `MOST_THREADS` threads.
    shared_bytes : int
        Shared memory for each thread of a block.
    block_bytes : int
        Shared memory of the block besides.
    sums : int
        Words that each block writes to the memory at slot `SUMS` of the frame.
    pool : bool
        Whether it takes memory from the pool.
    """

    name: str
    kind: Kind
    shared_bytes: int = 0
    block_bytes: int = 0
    sums: int = 0
    pool: bool = False

    def shared_memory(self, threads: int) -> int:
        """Bytes of shared memory of a block of so many threads."""
        return self.shared_bytes * threads + self.block_bytes


class Alone(NamedTuple):
    """A parallel loop that runs on one thread in grid form, and why."""

    statement: Statement
    reason: str


class GridModule(NamedTuple):
    """A kernel as LLVM IR in grid form.

    A launch zeroes the frame, writes the addresses of memories, the parameters and the `slots` of the pool,
    the sums and the prints into it, and runs `kernels` in their order, each after the end of the one before.

    Attributes
    ----------
    text : str
        The module. What it declares and does not define, the target defines: see `device.py`.
    kernels : tuple of GridKernel
        What is launched.
    layout : FrameLayout
        Where things lie in the frame.
    messages : Messages
        What the machine code may report.
    results : tuple of int or None
        The slots of the frame that have what the kernel returns; None for a constant.
    alone : tuple of Alone
        The parallel loops that are run by one thread.
    """

    text: str
    kernels: tuple[GridKernel, ...]
    layout: FrameLayout
    messages: Messages
    results: tuple[int | None, ...]
    alone: tuple[Alone, ...]
