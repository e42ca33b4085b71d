"""How often loops poll the stop flag.

A poll would prevent vectorisation of a loop, and slow a short one down. So loops that are known to be short
do not poll; innermost ones poll between blocks of trips, and small ones inside others have code without
blocks for short runs; those around others poll where their index is a multiple of a power of two; `while`
loops poll once in a few trips, which are unrolled. The number of instructions between two polls is the sum
over the loop nest.
"""

from __future__ import annotations

from dsim.backends.llvm.cost import cost, known_trips, one
from dsim.ir.nodes import Accumulate, Block, Const, For, If, Let, Load, Statement, Store, Var, While
from dsim.ir.walk import binds, statements

_SHORT = 1 << 20  # simple instructions of a loop that does not poll: a few milliseconds
_BLOCK = 1 << 18  # of a block of trips of an innermost loop
_QUIET = 1 << 22  # between two polls of a loop around others
_UNROLLED = 1 << 11  # of an inner loop from which LLVM does not unroll it
_PIECE = 1 << 10  # trips for which the cost of a call is negligible
_TINY = 64  # of a loop's body for which a poll, or blocks, would cost measurably
_COPIES = 8  # trips of a `While`, at most, that are unrolled


def every(s: For) -> int:
    """After how many trips `s` polls: a power of two; 0 for never, in a short loop."""
    return _Nest().every(s)


def every_inside(s: For) -> int:
    """The same for the function of a parallel loop, where that is not called for blocks of trips instead."""
    nest = _Nest()
    trips = nest.every(s)
    return 0 if nest.innermost(s) or trips >= _PIECE else trips


def innermost(s: For) -> bool:
    """Whether `s` may be vectorised: nothing inside it polls, and LLVM unrolls inner loops."""
    return _Nest().innermost(s)


def short(s: While) -> bool:
    """Whether `s` counts up to a number, ``while n < 10 and …: …; n += 1``, and is short with all trips."""
    return _Nest().short(s)


def block_of(s: While) -> int:
    """How many trips of a counted loop need no poll."""
    return _BLOCK // _Nest().trip(s)


def copies(s: While) -> int:
    """How many trips of a loop that polls are unrolled, with one poll for all of them."""
    return min(_COPIES, max(1, _TINY // (cost(s.condition) + cost(s.body) + 1))) if repeatable(s) else 1


def repeatable(s: For | While) -> bool:
    """Whether writing the body of `s` more than once is cheap."""
    return cost(s.body) <= _TINY and all(
        isinstance(i, Let | Load | Store | Accumulate | If) for i in statements(s.body)
    )


class _Nest:
    """The loops of one nest. Each block is looked at once, however often the loops around it ask."""

    def __init__(self) -> None:
        # By the identities of blocks, which the nest holds while it is asked.
        self._polls: dict[int, bool] = {}
        self._quiet: dict[int, int] = {}

    def every(self, s: For) -> int:
        each, trips = self.quiet(s.body) + 1, known_trips(s)
        if trips is not None and trips * each <= _SHORT and not self.polls(s.body):
            return 0
        innermost = self.innermost(s)
        most = (_BLOCK if innermost else _QUIET) // each
        if s.step % 2 == 0 and not innermost:
            return 1
        return 1 << max(0, most.bit_length() - 1)

    def innermost(self, s: For) -> bool:
        return not self.polls(s.body) and not any(
            isinstance(i, For) and _whole(i) > _UNROLLED for i in s.body.statements
        )

    def polls(self, block: Block) -> bool:
        """Whether a loop of `block` polls."""
        known = self._polls.get(id(block))
        if known is None:
            known = self._polls[id(block)] = any(map(self._polls_in, block.statements))
        return known

    def _polls_in(self, s: Statement) -> bool:
        if isinstance(s, While):
            return not self.short(s)
        if isinstance(s, For):
            return self.every(s) > 0
        return isinstance(s, If) and (self.polls(s.then) or self.polls(s.orelse))

    def quiet(self, block: Block) -> int:
        """The most simple instructions that a run of `block` executes without a poll."""
        known = self._quiet.get(id(block))
        if known is None:
            known = self._quiet[id(block)] = sum(map(self._quiet_in, block.statements))
        return known

    def _quiet_in(self, s: Statement) -> int:
        if isinstance(s, If):
            return self.quiet(s.then) + self.quiet(s.orelse)
        if isinstance(s, While):
            most = self._counted(s)
            if most is not None and most <= _SHORT:
                return most
            return copies(s) * self.trip(s) if bound(s) is None else _BLOCK
        if isinstance(s, For):
            most = min((n for n in (self.every(s), known_trips(s)) if n), default=0)
            return most * (self.quiet(s.body) + 1)
        return one(s)

    def trip(self, s: While) -> int:
        """Simple instructions of a trip."""
        return self.quiet(s.condition) + self.quiet(s.body) + 1

    def short(self, s: While) -> bool:
        most = self._counted(s)
        return most is not None and most <= _SHORT

    def _counted(self, s: While) -> int | None:
        """Simple instructions of all trips of a loop that counts up to a number; None for any other."""
        most = [
            int(last.value) - int(first.value)
            for _, first, last in _counters(s)
            if isinstance(first, Const) and isinstance(last, Const)
        ]
        return max(0, min(most)) * (self.trip(s) + 1) if most and not self.polls(s.body) else None


# loops that count with ``while`` ------------------------------------------------------------------


def bound(s: While) -> tuple[Var | Const, Var | Const] | None:
    """From what to what `s` counts, if it counts up by one to a value that stays, and that is all."""
    inside = {v for i in statements(Block((s,))) for v in binds(i)} | set(s.carried)
    if len(s.condition.statements) != 1 or not repeatable(s):
        return None
    return next(((first, last) for _, first, last in _counters(s) if last not in inside), None)


def _counters(s: While) -> list[tuple[Var, Var | Const, Var | Const]]:
    """The integers without which `s` does not go on: each with its first value, and what it stays below."""
    made = {i.var: i for i in (*s.condition.statements, *s.body.statements) if isinstance(i, Let)}
    needed, found = list(s.condition.yields), []
    while needed:
        v = needed.pop()
        test = made.get(v) if isinstance(v, Var) else None
        if test is not None and test.op == "band":
            needed += test.args
        elif test is not None and test.op == "lt" and test.args[0] in s.carried:
            n, last = test.args
            k = s.carried.index(n)
            after = s.body.yields[k]
            step = made.get(after) if isinstance(after, Var) else None
            if (
                n.type.is_integer
                and step is not None
                and step.op == "add"
                and step.args == (n, Const(1, n.type))
            ):
                found.append((n, s.init[k], last))
    return found


def _whole(s: For) -> int:
    """Simple instructions of all trips of a loop, if their number is known."""
    return (known_trips(s) or 0) * (1 + cost(s.body))
