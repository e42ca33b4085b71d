"""Loops of one thread that begin at different trips in different threads.

``for i: for j: g[j] += …``, of which threads share the loop over `i`: in step, all threads of a warp would
add to the same element at once, one after the other. Where a thread's first trip is that of its own number,
neighbours add to neighbouring elements. The trips of a parallel loop may have any order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from dsim.backends.llvm.places import Length
from dsim.backends.llvm.writer import Writer
from dsim.ir.nodes import Accumulate, For, If, Let, Load, MemoryKey, Statement, Store
from dsim.ir.walk import statements

_ANY_ORDER = (Let, Load, Store, Accumulate, If, For)  # neither prints nor undo logs, which have one


def rotated(
    atomic: Collection[MemoryKey], w: Writer, s: For, start: Length, stop: Length
) -> Callable[[str], str] | None:
    """What gives the index of each trip of `s`, in a loop that shares `atomic`; None where it stays as it is.

    The function's ``%first`` is the number of a thread's first iteration.
    """
    if not _gains(s, atomic) or (w.f.module.exact and s.carried):
        return None
    f = w.f
    trips = f.let(f"sub i64 {stop}, {start}")
    some = f.let(f"call i64 @llvm.smax.i64(i64 {trips}, i64 1)")
    f.module.declare("llvm.smax.i64", "declare i64 @llvm.smax.i64(i64, i64)")
    by = f.let(f"urem i64 %first, {some}")

    def index(number: str) -> str:
        later = f.let(f"add i64 {number}, {by}")
        beyond = f.let(f"icmp sge i64 {later}, {stop}")
        return f.let(f"select i1 {beyond}, i64 {f.let(f'sub i64 {later}, {trips}')}, i64 {later}")

    return index


def _gains(s: For, atomic: Collection[MemoryKey]) -> bool:
    """Whether `s` may run in any order, and its trips add to elements that they share with other threads'."""
    if not s.parallel or s.step != 1 or s.goes_on is not None or s.index.type.bits == 64:
        return False
    inside = list(statements(s.body))
    return all(isinstance(x, _ANY_ORDER) for x in inside) and any(_shared(x, atomic) for x in inside)


def _shared(s: Statement, atomic: Collection[MemoryKey]) -> bool:
    return isinstance(s, Accumulate) and s.memory.key in atomic and s.old is None
