"""Which accesses are in bounds: proved for every launch, decided by a launch's arguments, or unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from dsim.analysis.affine import Affine, constant, symbol, variables
from dsim.analysis.dependence.dependence_test import DependenceTest
from dsim.analysis.dependence.integer_feasibility import infeasible, row
from dsim.analysis.effects import Access, Effects, effects, never_runs
from dsim.analysis.interval_hull import Hulls, compiled, python
from dsim.ir.nodes import KernelIR

Status = Literal["proved", "launch", "checked"]
_WORST: dict[Status, int] = {"proved": 0, "launch": 1, "checked": 2}

_SMALL = 1 << 28  # parameters up to this are assumed not to wrap in comparisons


class Bounds(NamedTuple):
    """The result of the bounds analysis of a kernel.

    Attributes
    ----------
    sites : mapping of int to str
        "proved": in bounds in every launch. "launch": in bounds in launches for which `holds`.
        "checked": the index is data, or may be out of bounds. Site -1 stands for all accesses to fields
        that a transform made; private memories of a transform, indexed by its own counters, are omitted.
    conditions : tuple of Affine
        Forms of the parameters that must be at least 0 for the "launch" sites to be in bounds.
    places : mapping of str to int
        Where among the kernel's arguments each parameter is.
    holds : callable
        Whether the conditions hold, given all of the kernel's arguments in order.
    """

    sites: Mapping[int, Status]
    conditions: tuple[Affine, ...]
    places: Mapping[str, int]
    holds: Callable[[tuple[object, ...]], bool]

    def test(self, args: Sequence[str]) -> str:
        """The Python expression for `holds`, with variables of these names for the arguments."""
        return _test(self.conditions, self.places, args)

    @property
    def always(self) -> bool:
        """Whether no launch needs a bounds check."""
        return all(status == "proved" for status in self.sites.values())


def bounds(kernel: KernelIR, facts: Effects | None = None) -> Bounds:
    """Which accesses of `kernel` are in bounds."""
    facts = facts if facts is not None else effects(kernel)
    prover = _Prover(facts)
    sites: dict[int, Status] = {}
    conditions: dict[int, dict[Affine, None]] = {}
    for a in facts.accesses:
        if a.memory.private and (a.site < 0 or a.memory.key not in facts.lengths):  # or an undo log
            continue
        status, needs = prover.access(a)
        old = sites.get(a.site, "proved")
        sites[a.site] = max(old, status, key=_WORST.__getitem__)
        conditions.setdefault(a.site, {}).update(dict.fromkeys(needs))
    asked = tuple(
        dict.fromkeys(form for site, forms in conditions.items() if sites[site] == "launch" for form in forms)
    )
    return Bounds(sites, asked, prover.places, _holds(asked, prover.places))


class _Prover:
    def __init__(self, facts: Effects) -> None:
        self.facts = facts
        self.dependence = DependenceTest(facts)
        self.places = {p.name: n for n, p in enumerate(facts.kernel.params) if p.type.is_integer}
        self.hulls = Hulls(facts, self.places)
        self._known: dict[tuple[int, tuple[Affine, ...]], tuple[Status, tuple[Affine, ...]]] = {}
        self._proved: dict[tuple[object, ...], bool] = {}

    def access(self, a: Access) -> tuple[Status, tuple[Affine, ...]]:
        """The status of `a`, and the forms that must be at least 0 if it is "launch"."""
        if never_runs(a):
            return "proved", ()
        lengths = self._lengths(a)
        key = (a.form, lengths)
        if key not in self._known:
            self._known[key] = self._answer(a, lengths)
        return self._known[key]

    def _lengths(self, a: Access) -> tuple[Affine, ...]:
        if a.memory.private:
            return self.facts.lengths[a.memory.key]
        return tuple(constant(n or 0) for n in a.memory.shape)

    def _answer(self, a: Access, lengths: tuple[Affine, ...]) -> tuple[Status, tuple[Affine, ...]]:
        needs: list[Affine] = []
        for form, length in zip(a.index, lengths, strict=True):
            low, high = self.facts.integers.extent(form)
            if low >= 0 and length.is_constant and high < length.constant:
                continue
            for inside in (form, length - form + -1):
                if self._sure(inside, a):
                    continue
                if self._guarded(inside, a):
                    needs += self._sizes(a)
                    continue
                least = self.hulls.end(inside, -1)
                if least is None or least.is_constant:
                    return "checked", ()
                needs.append(least)
        return ("launch" if needs else "proved"), tuple(needs)

    def _sure(self, inside: Affine, a: Access) -> bool:
        """Whether the range of `inside` is never negative."""
        return self.facts.integers.extent(inside)[0] >= 0

    def _guarded(self, inside: Affine, a: Access) -> bool:
        """Whether the loops and branches around `a` imply that `inside` is not negative."""
        key = (inside, a.loops, a.guards)
        if key not in self._proved:
            self._proved[key] = not inside.is_constant and self._proof(-inside + -1, a)
        return self._proved[key]

    def _sizes(self, a: Access) -> list[Affine]:
        """Forms that, if at least 0, imply that no operand of the comparisons around `a` wraps."""
        params = variables(fact for guard in a.guards for fact in guard.facts)
        forms = [symbol(v) for name, v in params.items() if name in self.places]
        return [sign + _SMALL for form in forms for sign in (form, -form)]

    def _proof(self, outside: Affine, a: Access) -> bool:
        """Whether `outside` is provably negative whenever `a` runs."""
        positive, zero = self.dependence.bounds(a)
        if not zero:
            bounded = {(v.name, k > 0) for f in positive for v, k in f.terms}
            if any((v.name, k < 0) not in bounded for v, k in outside.terms):
                return False
        return infeasible([row(f) for f in zero], [row(f) for f in (*positive, outside)])


def _holds(conditions: tuple[Affine, ...], places: Mapping[str, int]) -> Callable[[tuple[object, ...]], bool]:
    return compiled(f"def holds(p):\n    return {_test(conditions, places)}", "holds")  # type: ignore[return-value]


def _test(
    conditions: tuple[Affine, ...], places: Mapping[str, int], args: Sequence[str] | None = None
) -> str:
    return " and ".join(f"{python(form, places, args)} >= 0" for form in conditions) or "True"
