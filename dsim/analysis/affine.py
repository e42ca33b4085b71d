"""Integer values as affine forms ``c + Σ kᵢ·sᵢ`` over symbols, and how they combine.

A symbol is an opaque variable: a parameter, a loop's index, or a value that is not affine in those.
`symbols.py` has the facts about a symbol (its range, the loop in which it varies).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from dsim.ir.nodes import Var
from dsim.records import record

Terms = tuple[tuple[Var, int], ...]


@record
class Affine:
    """``constant + Σ coefficient · symbol``.

    Attributes
    ----------
    terms : tuple of (Var, int)
        The symbols with their coefficients, none of them 0, in order of the symbols' names.
    constant : int
        The value when all symbols are 0.
    """

    terms: Terms = ()
    constant: int = 0

    @property
    def is_constant(self) -> bool:
        """Whether the form has no symbols."""
        return not self.terms

    def coefficient(self, symbol: Var) -> int:
        """The coefficient of `symbol`; 0 if the form does not have it."""
        return next((k for v, k in self.terms if v.name == symbol.name), 0)

    def without(self, symbol: Var) -> Affine:
        """The same with `symbol` set to 0."""
        return Affine(tuple((v, k) for v, k in self.terms if v.name != symbol.name), self.constant)

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.terms, self.constant + other) if other else self
        if not other.terms:
            return self + other.constant
        if not self.terms:
            return other + self.constant
        return Affine(_merge(self.terms, other.terms), self.constant + other.constant)

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Affine | int) -> Affine:
        return self + (-other)

    def __mul__(self, factor: int) -> Affine:
        if factor == 0:
            return ZERO
        if factor == 1:
            return self
        return Affine(tuple((v, k * factor) for v, k in self.terms), self.constant * factor)

    def value(self, of: Callable[[Var], int]) -> int:
        """The value of the form when each symbol is ``of(symbol)``."""
        return self.constant + sum(k * of(v) for v, k in self.terms)

    def replace(self, values: Mapping[str, Affine]) -> Affine:
        """The form with the symbols of these names replaced by other forms."""
        result = Affine((), self.constant)
        for v, k in self.terms:
            result = result + (values[v.name] * k if v.name in values else Affine(((v, k),)))
        return result

    def __str__(self) -> str:
        parts = [v.name if k == 1 else f"-{v.name}" if k == -1 else f"{k}*{v.name}" for v, k in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts).replace("+ -", "- ")


ZERO = Affine()


def constant(value: int) -> Affine:
    """The constant form `value`."""
    return Affine((), value)


def symbol(var: Var) -> Affine:
    """The form of one symbol, `var`."""
    return Affine(((var, 1),))


def _merge(a: Terms, b: Terms) -> Terms:
    if len(a) == 1 and len(b) == 1:
        (v, k), (w, m) = a[0], b[0]
        if v.name == w.name:
            return ((v, k + m),) if k + m else ()
        return (a[0], b[0]) if v.name < w.name else (b[0], a[0])
    sums = {v.name: (v, k) for v, k in a}
    for v, k in b:
        old = sums.get(v.name)
        sums[v.name] = (v, k if old is None else old[1] + k)
    return tuple(sums[name] for name in sorted(sums) if sums[name][1])


def variables(forms: Iterable[Affine]) -> dict[str, Var]:
    """The symbols of `forms` by name."""
    return {v.name: v for form in forms for v, _ in form.terms}
