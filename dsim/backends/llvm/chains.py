"""Long chains of arithmetic in a loop are cut by `freeze` instructions, which change no value.

LLVM's vectoriser asks of each value of a loop whether all lanes share it, and of which type it is, and
looks for the answers through all the arithmetic that leads to it: in a chain of n operations it takes n²
steps. At a `freeze` it stops. The operations at a cut are not fused or reassociated with one another; a
loop that runs one trip at a time takes up to 1.3 times as long. So loops that scatter, which LLVM does not
vectorise, are not cut.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from dsim.backends.llvm.text import TYPE, Function
from dsim.ir.nodes import Accumulate, Const, For, Let, Store, Var
from dsim.ir.walk import statements

_SHORT = 200  # statements of a loop with which LLVM is fast in any case
_LONGEST = 64  # operations between two cuts


class Chains:
    """How many operations lead to each value of a loop.

    Parameters
    ----------
    carried : iterable of Var
        The values that the loop carries. What is computed of them is never cut: LLVM would no longer see that
        it is a sum over the trips.
    """

    def __init__(self, carried: Iterable[Var]) -> None:
        self._kept = set(carried)
        self._length: dict[Var, int] = {}

    def cut(self, f: Function, s: Let, value: str) -> str:
        """`value`, which is that of `s`, or the same behind a `freeze` if its chain is long."""
        if not s.var.type.is_float:
            return value
        args = [a for a in s.args if isinstance(a, Var)]
        if not self._kept.isdisjoint(args):
            self._kept.add(s.var)
            return value
        length = 1 + max((self._length.get(a, 0) for a in args), default=0)
        if length >= _LONGEST:
            self._length[s.var] = 0
            return f.let(f"freeze {TYPE[s.var.type]} {value}")
        self._length[s.var] = length
        return value


def find(s: For, deferred: Container[int]) -> Chains | None:
    """The chains of `s`, if it is so long that it pays to cut them, and LLVM may vectorise it.

    Accumulations in `deferred`, by identity, are not made in the loop.
    """
    body = list(statements(s.body))
    scatters = any(isinstance(t, Store | Accumulate) and _scatters(t, s, deferred) for t in body)
    return None if len(body) <= _SHORT or scatters else Chains(s.carried)


def _scatters(t: Store | Accumulate, s: For, deferred: Container[int]) -> bool:
    """Whether trips of `s` may write elements that are not beside one another."""
    fixed = all(isinstance(a, Const) for a in t.index)
    return not fixed and s.index not in t.index and id(t) not in deferred
