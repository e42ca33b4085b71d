"""Dependence test: whether two accesses to one memory may alias (touch one element), and in which iterations.

Conservative: False is a proof that they do not alias; True means that they may.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import gcd

from dsim.analysis.affine import Affine, symbol, variables
from dsim.analysis.dependence.integer_feasibility import Row, infeasible, row
from dsim.analysis.effects import Access, Effects, is_write, never_runs
from dsim.analysis.symbols import INFINITY, Loop

_DISTANCE = "<"  # the distance in trips between the two accesses; no variable has this name
_SAME, _LATER = "same", "later"


class DependenceTest:
    """The dependence test for the accesses of one kernel; memoised."""

    def __init__(self, facts: Effects) -> None:
        self.facts = facts
        self.symbols = facts.integers.symbols
        self._known: dict[tuple[object, ...], bool] = {}
        self._names: dict[int, set[str]] = {}
        self._bounds: dict[int, tuple[list[Affine], list[Affine]]] = {}
        self._unguarded: dict[tuple[object, ...], Access] = {}

    def level_of(self, name: str) -> int:
        """The depth of the innermost loop in which the symbol `name` may vary, or -1."""
        loop = self.symbols[name].loop
        return -1 if loop is None else loop.depth

    def same_trip(self, a: Access, b: Access) -> bool:
        """Whether both may touch one element in the same trip of all loops around both."""
        if exclusive(a, b):
            return False
        return self._ask(a, b, common(a, b), _SAME)

    def within_trip(self, a: Access, b: Access, level: int) -> bool:
        """Whether both may touch one element in the same trip of loop number `level` around both.

        The trips of the loops inside that one are arbitrary.
        """
        return self._ask(a, b, level + 1, _SAME)

    def later_trip(self, a: Access, b: Access, level: int) -> bool:
        """Whether `b` may touch, in a later trip of loop number `level` around both, what `a` touches.

        The trips of the loops around that one are the same, those of the loops inside it are arbitrary.
        """
        if self._one_trip(a, level):
            return False
        return self._ask(a, b, level, _LATER)

    def other_trip(self, a: Access, b: Access, level: int) -> bool:
        """Whether they may touch one element in two different trips of loop number `level`."""
        return self.later_trip(a, b, level) or (a is not b and self.later_trip(b, a, level))

    def suspects(self, accesses: list[Access], level: int) -> list[Access]:
        """Those of `accesses` that may touch what another one touches in another trip of loop number `level`.

        At least one of the two writes. Guards are left aside, so that it asks once for all branches that
        index alike: more may be suspects than are guilty.
        """
        bare = {a: self._bare(a) for a in accesses}
        writing = {bare[a] for a in accesses if is_write(a)}
        distinct = list(dict.fromkeys(bare.values()))
        found: set[Access] = set()
        for n, a in enumerate(distinct):
            for b in distinct[n:]:
                known = (a in found and b in found) or (a not in writing and b not in writing)
                if not known and self.other_trip(a, b, level):
                    found |= {a, b}
        return [a for a, alone in bare.items() if alone in found]

    def _bare(self, a: Access) -> Access:
        """`a` as if it stood outside all branches; the same for all accesses of its index and loops."""
        key = (a.memory.key, a.index, a.loops)
        if key not in self._unguarded:
            self._unguarded[key] = replace(a, guards=(), form=-1 - len(self._unguarded)) if a.guards else a
        return self._unguarded[key]

    def _one_trip(self, a: Access, level: int) -> bool:
        loop = a.loops[level]
        if loop.trips is not None and loop.trips <= 1:
            return True
        key = a.memory.key
        if key not in self.facts.allocated:
            return False
        home = self.facts.allocated[key]  # each trip of the loops around its `Alloc` has a memory of its own
        return home is not None and home.depth >= level

    def _ask(self, a: Access, b: Access, level: int, relation: str) -> bool:
        key = (a.form, b.form, level, relation)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._may(a, b, level, relation)
        return known

    def _may(self, a: Access, b: Access, level: int, relation: str) -> bool:
        if never_runs(a) or never_runs(b):
            return False
        moving = a.loops[level] if relation == _LATER else None
        shift = _Second(self, b, level, moving)
        zero: list[Row] = []
        for x, y in zip(a.index, b.index, strict=True):
            terms, c = row(x)
            other, d = shift.row(y)
            for n, k in other.items():
                terms[n] = terms.get(n, 0) - k
            terms = {n: k for n, k in terms.items() if k}
            if _never_zero(terms, c - d):
                return False
            if terms:
                zero.append((terms, c - d))
        if not a.guards and not b.guards:
            known = self._limited(a) | self._limited(b) | {_DISTANCE}
            zero = [e for e in zero if not self._defines(e, zero, known)]
            if not zero:
                return True
        return not self._contradiction(a, shift, zero)

    def _limited(self, a: Access) -> set[str]:
        """The names of the symbols that occur in facts about `a`."""
        if a.form not in self._names:
            positive, zero = self.bounds(a)
            self._names[a.form] = set(variables((*positive, *zero)))
        return self._names[a.form]

    def _defines(self, equation: Row, equations: list[Row], known: set[str]) -> bool:
        """Whether `equation` only defines a symbol that no other equation or fact constrains."""
        return any(
            abs(k) == 1
            and n.removesuffix("'") not in known
            and not any(n in e[0] for e in equations if e is not equation)
            for n, k in equation[0].items()
        )

    def _contradiction(self, a: Access, shift: _Second, zero: list[Row]) -> bool:
        first, strides = self.bounds(a)
        second, more = self.bounds(shift.access)
        positive = [row(form) for form in first] + [shift.row(form) for form in second]
        zero += [row(form) for form in strides] + [shift.row(form) for form in more]
        if shift.moving is not None and shift.moving.index is not None:
            positive.append(({_DISTANCE: 1}, -1))
        return infeasible(zero, positive)

    def bounds(self, a: Access) -> tuple[list[Affine], list[Affine]]:
        """Forms that are at least 0, and forms that are 0, whenever `a` runs."""
        if a.form not in self._bounds:
            self._bounds[a.form] = self._find_bounds(a)
        return self._bounds[a.form]

    def _find_bounds(self, a: Access) -> tuple[list[Affine], list[Affine]]:
        positive: dict[Affine, None] = {}
        for guard in a.guards:
            positive.update(dict.fromkeys(guard.facts))
        for loop in a.loops:
            if loop.index is not None:
                positive.update(dict.fromkeys(self.symbols[loop.index.name].facts))
        todo = {v.name for form in (*a.index, *positive) for v, _ in form.terms}
        seen: set[str] = set()
        while todo:
            name = todo.pop()
            seen.add(name)
            new = self._facts(name)
            positive.update(dict.fromkeys(new))
            todo |= {v.name for form in new for v, _ in form.terms} - seen
        return list(positive), self._strides(a)

    def _facts(self, name: str) -> list[Affine]:
        s = self.symbols[name]
        me = symbol(s.var)
        found = list(s.facts)
        if abs(s.low) != INFINITY:
            found.append(me + -int(s.low))
        if abs(s.high) != INFINITY:
            found.append(-me + int(s.high))
        return found

    def _strides(self, a: Access) -> list[Affine]:
        """Equations between indices and trip numbers, for loops whose step is not ±1."""
        found: list[Affine] = []
        for loop in a.loops:
            if loop.index is not None and loop.start is not None and abs(loop.step) > 1:
                trip = self.facts.integers.trips[loop.index.name]
                found.append(symbol(loop.index) - loop.start - trip * loop.step)
        return found


class _Second:
    """Renames the symbols that may differ between the iterations of the first and the second access."""

    def __init__(self, dependence: DependenceTest, access: Access, level: int, moving: Loop | None) -> None:
        self.symbols = dependence.symbols
        self.access = access
        self.level = level
        self.moving = moving

    def row(self, form: Affine) -> Row:
        """`form` in the second access's iteration."""
        terms: dict[str, int] = {}
        for v, k in form.terms:
            loop = self.symbols[v.name].loop
            if loop is None or loop.depth < self.level:
                terms[v.name] = terms.get(v.name, 0) + k
            elif loop is self.moving and loop.index is not None and loop.index.name == v.name:
                terms[v.name] = terms.get(v.name, 0) + k
                terms[_DISTANCE] = terms.get(_DISTANCE, 0) + k * loop.step
            else:
                terms[v.name + "'"] = k
        return terms, form.constant


def _never_zero(terms: dict[str, int], c: int) -> bool:
    if not terms:
        return c != 0
    if len(terms) == 1 and _DISTANCE in terms:  # the distance is at least 1
        k = terms[_DISTANCE]
        return c % k != 0 or -c // k < 1
    return c % gcd(*terms.values()) != 0


def apart(accesses: list[Access]) -> Iterable[list[Access]]:
    """Partitions `accesses` to one memory; accesses of two groups never alias.

    Groups differ on an axis that all accesses index by constants, as for the entries of vectors.
    """
    axes = [
        axis for axis in range(len(accesses[0].index)) if all(a.index[axis].is_constant for a in accesses)
    ]
    groups: dict[tuple[int, ...], list[Access]] = {}
    for a in accesses:
        groups.setdefault(tuple(a.index[axis].constant for axis in axes), []).append(a)
    return groups.values()


def common(a: Access, b: Access) -> int:
    """The number of loops around both."""
    n = 0
    for x, y in zip(a.loops, b.loops, strict=False):
        if x is not y:
            break
        n += 1
    return n


def exclusive(a: Access, b: Access) -> bool:
    """Whether the two are in different branches of one `If`, so that one trip runs only one of them."""
    for x, y in zip(a.guards, b.guards, strict=False):
        if x.condition != y.condition:
            return False
        if x.branch != y.branch:
            return True
    return False
