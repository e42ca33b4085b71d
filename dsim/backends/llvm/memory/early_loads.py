"""Loads of neighbouring elements at the start of a trip: ``x[j - 1]``, ``x[j]`` and ``x[j + 1]``.

LLVM keeps what a trip loads for the next two, in which it is ``x[j]`` and ``x[j - 1]``. Such a loop becomes
vectors only if all that a trip does with those can wait for its own load of ``x[j + 1]``. A store cannot; so
these loads come before the first store.
"""

from __future__ import annotations

from dsim.backends.llvm.memory.windows import Forms
from dsim.backends.llvm.writer import Writer
from dsim.ir.nodes import Accumulate, Block, For, Let, Load, Statement, Store, Var
from dsim.ir.walk import binds


def with_early_loads(w: Writer, loop: For) -> Block:
    """The body of `loop`, with its loads of neighbours first if it is certain that no value changes."""
    body = loop.body.statements
    if not loop.parallel or not all(isinstance(s, Let | Load | Store | Accumulate) for s in body):
        return loop.body
    written = {s.memory.key for s in body if isinstance(s, Store | Accumulate)}
    loads = [s for s in body if isinstance(s, Load) and s.memory.key not in written and not w.checked(s)]
    if not written or not _neighbours(Forms(w, loop), loads):
        return loop.body
    early = _early(body, loads)
    rest = (s for s in body if id(s) not in early)
    return Block((*(s for s in body if id(s) in early), *rest), loop.body.yields)


def _neighbours(forms: Forms, loads: list[Load]) -> bool:
    """Whether two of `loads` are of elements that lie next to each other on the axis of the loop."""
    found: dict[object, int] = {}
    for s in loads:
        at = forms.window(s)
        if at is not None and found.setdefault(at[0], at[1]) != at[1]:
            return True
    return False


def _early(body: tuple[Statement, ...], loads: list[Load]) -> set[int]:
    """The identities of those `loads` that need no other memory, and of what computes their indices."""
    makers: dict[Var, Statement] = {v: s for s in body for v in binds(s)}
    movable = {id(s) for s in loads}
    ready: dict[int, bool] = {}
    for s in body:  # in order: what `s` reads has been looked at
        read = s.args if isinstance(s, Let) else s.index if isinstance(s, Load) else ()
        made = (makers[a] for a in read if isinstance(a, Var) and a in makers)
        ready[id(s)] = (isinstance(s, Let) or id(s) in movable) and all(ready[id(m)] for m in made)
    early: set[int] = set()
    waiting: list[Statement] = [s for s in loads if ready[id(s)]]
    while waiting:
        s = waiting.pop()
        if id(s) in early:
            continue
        early.add(id(s))
        read = s.args if isinstance(s, Let) else s.index if isinstance(s, Load) else ()
        waiting.extend(makers[a] for a in read if isinstance(a, Var) and a in makers)
    return early
