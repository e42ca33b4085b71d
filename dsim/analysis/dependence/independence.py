"""Which loops have independent iterations, and for each other loop the loop-carried dependence.

Accumulations with one operation commute, so they cause no dependence. A read in one iteration and a write in
another to one element do, and so do two stores to one element, unless all store the same value. The value
before an accumulation depends on the order of iterations: for integers (a counter that assigns indices) every
order is accepted; for floats, which have derivatives, the loop runs in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from dsim.analysis.dependence.dependence_test import DependenceTest, apart
from dsim.analysis.effects import Access, Effects, effects, is_write, shown
from dsim.analysis.reductions import Reductions
from dsim.analysis.symbols import Loop
from dsim.diagnostics import Diagnostic, Label, Span
from dsim.ir.nodes import (
    Accumulate,
    AccumulateOp,
    Const,
    For,
    KernelIR,
    Let,
    MemoryKey,
    Probe,
    Statement,
    Store,
    Var,
)
from dsim.ir.walk import statements
from dsim.records import record


@record
class Verdict:
    """Whether the iterations of one loop are independent.

    Attributes
    ----------
    independent : bool
        Whether the iterations may run in any order and concurrently.
    reason : Diagnostic or None
        The loop-carried dependence, if there is one to report.
    reductions : mapping of Var to str
        The carried values that are reductions, with their operations. An independent loop carries
        no other values; a parallel run must combine the partial results.
    """

    independent: bool
    reason: Diagnostic | None = None
    reductions: Mapping[Var, AccumulateOp] = field(default_factory=dict[Var, AccumulateOp])


def loop_independence(kernel: KernelIR, facts: Effects | None = None) -> dict[Var, Verdict]:
    """The verdict on every `For` of `kernel`, by its index."""
    judge = _Judge(facts if facts is not None else effects(kernel))
    return {loop.index: judge.verdict(loop) for loop in judge.facts.loops.values() if loop.index is not None}


class _Judge:
    def __init__(self, facts: Effects) -> None:
        self.facts = facts
        self.dependence = DependenceTest(facts)
        self.reductions = Reductions(facts.kernel)
        self.watched = any(isinstance(s, Probe) for s in statements(facts.kernel.body))
        self.known: dict[int, Verdict] = {}

    def verdict(self, loop: Loop) -> Verdict:
        found = self.known.get(id(loop))
        if found is None:
            found = self.known[id(loop)] = self._verdict(loop)
        return found

    def _verdict(self, loop: Loop) -> Verdict:
        s = loop.statement
        assert isinstance(s, For)
        if self.watched:  # a probe shows the last value, which depends on the order
            return Verdict(False)
        if s.goes_on is not None:
            return Verdict(False, _goes_on(s))
        found: dict[Var, AccumulateOp] = {}
        for carried, op in (self.reductions.of(s) if s.carried else {}).items():
            if op is None:
                return Verdict(False, _carried(s, carried))
            found[carried] = op
        clash = self._clash(loop)
        if clash is not None:
            return Verdict(False, self._told(s, *clash))
        return Verdict(True, None, found)

    def _told(self, s: For, a: Access, b: Access) -> Diagnostic:
        """The diagnostic: why the iterations of `s` depend on one another, and what the person can do."""
        place = next((p for x in (a, b) if (p := self._handed_out(x)) is not None), None)
        if place is not None and a.kind == b.kind == "store":
            return _places(s, a, place)
        said = _clashing(s, a, b)
        return replace(said, help=_STEPS) if self._steps(s) else said

    def _handed_out(self, a: Access) -> Accumulate | None:
        """The `atomic_add` whose returned value is an index of `a`."""
        if not isinstance(a.statement, Store):
            return None
        names = {i.name for i in a.statement.index if isinstance(i, Var)}
        counters = (c for c in statements(self.facts.kernel.body) if isinstance(c, Accumulate))
        return next((c for c in counters if c.old is not None and c.old.name in names), None)

    def _steps(self, s: For) -> bool:
        """Whether `s` is a loop over time steps: its body has loops with independent iterations."""
        loops = [self.facts.loops.get(t.index.name) for t in s.body.statements if isinstance(t, For)]
        return any(inner is not None and self.verdict(inner).independent for inner in loops)

    def _clash(self, loop: Loop) -> tuple[Access, Access] | None:
        """Two accesses with a dependence carried by `loop`."""
        inside: dict[MemoryKey, list[Access]] = {}
        for a in self.facts.inside(loop):
            inside.setdefault(a.memory.key, []).append(a)
        for accesses in inside.values():
            uniform = len({(a.kind, a.op) for a in accesses}) == 1 and accesses[0].kind != "store"
            if uniform and not any(map(_ordered, accesses)):
                continue
            for group in apart(accesses):
                for a, b in _pairs(self.dependence.suspects(group, loop.depth)):
                    if not self._harmless(a, b, loop) and self.dependence.other_trip(a, b, loop.depth):
                        return a, b
        return None

    def _harmless(self, a: Access, b: Access, loop: Loop) -> bool:
        if a.kind == "accumulate" and b.kind == "accumulate":
            return a.op == b.op and not _ordered(a) and not _ordered(b)
        if not (isinstance(a.statement, Store) and isinstance(b.statement, Store)):
            return False
        value = a.statement.value
        return value == b.statement.value and self._unchanging(value, loop)

    def _unchanging(self, value: Var | Const, loop: Loop) -> bool:
        """Whether `value` is the same in all iterations of `loop`."""
        if isinstance(value, Const):
            return True
        home = self.facts.integers.home.get(value.name)
        return home is None or home.depth < loop.depth


_STEPS = (
    "launch the loops inside it from Python, once in each trip: each then runs on all threads, and its "
    "gradient takes less time"
)


def _places(s: For, a: Access, counter: Accumulate) -> Diagnostic:
    """The diagnostic for stores at indices that `counter` assigns in the order of iterations."""
    name, handed = shown(a.memory), shown(counter.memory)
    label = () if (at := _span(counter)) is None else (Label(at, "the place is taken here"),)
    return Diagnostic(
        "serial",
        f"this loop runs serially: `{handed}` hands out the places in `{name}` in the order of iterations",
        _span(a.statement) or s.origin.span,
        "stored here",
        label,
        "where their order does not matter, say `loop_config(parallel=True)`",
    )


def _pairs(accesses: Iterable[Access]) -> Iterable[tuple[Access, Access]]:
    """Pairs with at least one write, one per form and kind; also an access with itself."""
    distinct = list({(a.form, a.kind, a.op, _value(a), _ordered(a)): a for a in accesses}.values())
    for n, a in enumerate(distinct):
        for b in distinct[n:]:
            if is_write(a) or is_write(b):
                yield a, b


def _ordered(a: Access) -> bool:
    """Whether `a` returns the float that the element had before."""
    s = a.statement
    return isinstance(s, Accumulate) and s.old is not None and s.memory.type.is_float


def _value(a: Access) -> object:
    return a.statement.value if isinstance(a.statement, Store) else None


def _clashing(s: For, a: Access, b: Access) -> Diagnostic:
    first, second = (b, a) if is_write(b) and not is_write(a) else (a, b)  # the write first
    name = shown(first.memory)
    write, other = _span(first.statement), _span(second.statement)
    if _ordered(first) or _ordered(second):
        message = f"this loop runs serially: what stood in `{name}` before depends on the iterations' order"
        remedy = "leave the returned value unused, or compute the running sum in a loop of its own"
    elif first is second or (first.kind, second.kind) == ("store", "store"):
        message = f"this loop runs serially: two iterations may store to one element of `{name}`"
        remedy = (
            f"index `{name}` by the loop's index, use `+=`, or assert it: `loop_config(parallel=True)`"
            if first.index
            else "use `+=`, or assign a local variable and store that after the loop"
        )
    elif second.kind == "load":
        message = f"this loop runs serially: an iteration may read what another one writes to `{name}`"
        remedy = f"write to a second field and read `{name}` only, or split the loop in two"
    else:
        message = f"this loop runs serially: iterations write to one element of `{name}` in different ways"
        remedy = "split the loop in two"
    verb = {"load": "read", "store": "stored", "accumulate": "accumulated"}
    if write is None:
        return Diagnostic("serial", message, s.origin.span, help=remedy)
    labels = () if other is None or other == write else (Label(other, f"{verb[second.kind]} here"),)
    return Diagnostic("serial", message, write, f"{verb[first.kind]} here", labels, remedy)


def _span(s: Statement) -> Span | None:
    """The location of `s` in the kernel's own source; for inlined code that of the call."""
    return s.origin.inlined[0] if s.origin.inlined else s.origin.span


def _carried(s: For, carried: Var) -> Diagnostic:
    message = f"this loop runs serially: `{carried.name}` goes from one iteration to the next"
    remedy = (
        f"start `{carried.name}` with the type of what is added, so that it need not be cast each time"
        if _cast_back(s, carried)
        else f"only combine it (`{carried.name} += …`), or make it local to the iteration"
    )
    return Diagnostic("serial", message, s.origin.span, help=remedy)


def _cast_back(s: For, carried: Var) -> bool:
    """Whether `carried` is computed in another type and cast back in each iteration."""
    after = s.body.yields[s.carried.index(carried)]
    made_by = (t for t in statements(s.body) if isinstance(t, Let) and t.var == after)
    return any(t.op == "cast" for t in made_by)


def _goes_on(s: For) -> Diagnostic:
    message = "this loop runs serially: `break` or `return` ends it early"
    return Diagnostic("serial", message, s.origin.span, help="skip the rest of the iterations by an `if`")
