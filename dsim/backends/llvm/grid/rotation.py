"""Loops of one thread that begin at different trips in different threads.

``for i: for j: g[j] += …``, of which threads share the loop over `i`: in step, all threads of a warp would
add to the same element at once, one after the other. Where a thread's first trip is that of its own number,
neighbours add to neighbouring elements. A loop is rotated where its trips may have any order, and nothing
that they leave shows which one they had.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from dsim.analysis.reductions import Reductions
from dsim.backends.llvm.places import Length
from dsim.backends.llvm.writer import Writer
from dsim.ir.nodes import Accumulate, Block, For, If, Let, Load, MemoryKey, Statement, Store, Var
from dsim.ir.walk import statements

_ANY_ORDER = (Let, Load, Store, Accumulate, If, For)  # neither prints nor undo logs, which have one


def rotated_loops(
    body: Block, atomic: Collection[MemoryKey], reductions: Reductions, ordered: bool
) -> frozenset[Var]:
    """The indices of the loops in `body`, an iteration of a shared loop, that gain by rotation.

    Parameters
    ----------
    body : Block
        What a thread does in an iteration.
    atomic : collection of MemoryKey
        The memories that it shares with other threads.
    reductions : Reductions
        Those of the kernel.
    ordered : bool
        Whether sums of floats keep the order in which the kernel adds them.
    """
    loops = [s for s in statements(body) if isinstance(s, For) and _gains(s, atomic)]
    return frozenset(s.index for s in loops if _any_order(s, atomic, reductions, ordered))


def _gains(s: For, atomic: Collection[MemoryKey]) -> bool:
    """Whether trips of `s` add to elements that they share with other threads."""
    return any(isinstance(x, Accumulate) and x.memory.key in atomic for x in statements(s.body))


def _any_order(s: For, atomic: Collection[MemoryKey], reductions: Reductions, ordered: bool) -> bool:
    """Whether it does not matter in which order the trips of `s` run."""
    if not s.parallel or abs(s.step) != 1 or s.goes_on is not None or s.index.type.bits == 64:
        return False
    if any(op is None for op in reductions.of(s).values()):
        return False
    if ordered and any(v.type.is_float for v in s.carried):
        return False
    return all(_indifferent(x, atomic, ordered) for x in statements(s.body))


def _indifferent(s: Statement, atomic: Collection[MemoryKey], ordered: bool) -> bool:
    """Whether it does not matter when, among the trips, `s` is done."""
    if not isinstance(s, Accumulate):
        return isinstance(s, _ANY_ORDER)
    own = s.memory.key not in atomic  # what is shared is added to by other threads in any order, too
    return s.old is None and not (ordered and own and s.memory.type.is_float and s.op in ("add", "mul"))


def turned(
    loops: Collection[Var], w: Writer, s: For, start: Length, stop: Length
) -> Callable[[str], str] | None:
    """What gives the index of each trip of `s`, if it is one of `loops`; None where it stays as it is.

    The function's ``%first`` is the number of a thread's first iteration.
    """
    if s.index not in loops or s.step != 1:
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
