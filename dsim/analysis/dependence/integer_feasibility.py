"""Whether a system of linear equations and inequalities over integers has a solution.

Equations with a coefficient of ±1 are eliminated exactly, inequalities by Fourier-Motzkin elimination with
rounding to integers (W. Pugh, "The Omega test", SC 1991, without its dark shadows). Conservative:
"infeasible" is a proof; a system that is not shown infeasible, or is too large, counts as feasible.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from dsim.analysis.affine import Affine

Row = tuple[dict[str, int], int]  # coefficients by name, constant
_MOST = 120  # rows at which elimination gives up


class _Impossible(Exception):  # noqa: N818 (a result, not an error)
    pass


def row(form: Affine) -> Row:
    """`form` as a row: coefficients by symbol name, and the constant."""
    return {v.name: k for v, k in form.terms}, form.constant


def infeasible(zero: Iterable[Row], positive: Iterable[Row]) -> bool:
    """Whether provably no integers make every row of `zero` 0 and every row of `positive` at least 0."""
    try:
        rows = _Rows()
        for r in _eliminate(list(zero), list(positive)):
            rows.add(r)
        rows.eliminate()
    except _Impossible:
        return True
    return False


def _eliminate(zero: list[Row], positive: list[Row]) -> list[Row]:
    """The inequalities after elimination of the equations."""
    rest: list[Row] = []
    while zero:
        equation = _divided(zero.pop())
        if equation is None:
            continue
        name = next((n for n, k in equation[0].items() if abs(k) == 1), None)
        if name is None:
            rest.append(equation)
            continue
        zero = [_substituted(r, name, equation) for r in zero]
        rest = [_substituted(r, name, equation) for r in rest]
        positive = [_substituted(r, name, equation) for r in positive]
        zero += [r for r in rest if any(abs(k) == 1 for k in r[0].values()) or not r[0]]
        rest = [r for r in rest if r[0] and all(abs(k) != 1 for k in r[0].values())]
    for terms, c in rest:
        _divided((terms, c))
        positive += [(terms, c), ({n: -k for n, k in terms.items()}, -c)]
    return positive


def _divided(equation: Row) -> Row | None:
    terms, c = equation
    if not terms:
        if c:
            raise _Impossible
        return None
    divisor = gcd(*terms.values())
    if c % divisor:
        raise _Impossible
    return ({n: k // divisor for n, k in terms.items()}, c // divisor) if divisor > 1 else equation


def _substituted(r: Row, name: str, equation: Row) -> Row:
    """`r` with `name` eliminated by `equation`, in which its coefficient is 1 or -1."""
    factor = r[0].get(name)
    if factor is None:
        return r
    return _sum(r, 1, equation, -factor * equation[0][name])


def _sum(a: Row, ka: int, b: Row, kb: int) -> Row:
    terms = {n: k * ka for n, k in a[0].items()}
    for n, k in b[0].items():
        new = terms.get(n, 0) + k * kb
        if new:
            terms[n] = new
        else:
            terms.pop(n, None)
    return terms, a[1] * ka + b[1] * kb


class _Rows:
    """Inequalities ``Σ k·v + c >= 0``; of those with equal coefficients only the tightest."""

    def __init__(self) -> None:
        self.strictest: dict[tuple[tuple[str, int], ...], int] = {}

    def add(self, r: Row) -> None:
        terms, c = r
        if not terms:
            if c < 0:
                raise _Impossible
            return
        divisor = gcd(*terms.values())
        key = tuple(sorted((n, k // divisor) for n, k in terms.items()))
        c //= divisor
        old = self.strictest.get(key)
        if old is not None and old <= c:
            return
        opposite = self.strictest.get(tuple((n, -k) for n, k in key))
        if opposite is not None and opposite + c < 0:
            raise _Impossible
        self.strictest[key] = c

    def eliminate(self) -> None:
        """Eliminates one variable after the other until none is left or there are too many rows."""
        self._drop_unbounded()
        while self.strictest and len(self.strictest) <= _MOST:
            name = self._cheapest()
            lower: list[Row] = []
            upper: list[Row] = []
            rest = {}
            for terms, c in self.strictest.items():
                k = next((k for n, k in terms if n == name), 0)
                if k:
                    (lower if k > 0 else upper).append((dict(terms), c))
                else:
                    rest[terms] = c
            self.strictest = rest
            for a in lower:
                for b in upper:
                    self.add(_sum(a, -b[0][name], b, a[0][name]))
            self._drop_unbounded()

    def _drop_unbounded(self) -> None:
        """Drops rows with a variable that is unbounded in the direction that satisfies them."""
        while True:
            lower, upper = self._sides()
            free = lower.keys() ^ upper.keys()
            if not free:
                return
            self.strictest = {t: c for t, c in self.strictest.items() if free.isdisjoint(n for n, _ in t)}

    def _cheapest(self) -> str:
        lower, upper = self._sides()
        return min(lower, key=lambda n: lower[n] * upper[n])

    def _sides(self) -> tuple[dict[str, int], dict[str, int]]:
        """The numbers of rows that bound each variable from below and from above."""
        lower: dict[str, int] = {}
        upper: dict[str, int] = {}
        for terms in self.strictest:
            for n, k in terms:
                side = lower if k > 0 else upper
                side[n] = side.get(n, 0) + 1
        return lower, upper
