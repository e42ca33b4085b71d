"""Random expressions: floats that are smooth almost everywhere and stay small, integers, indices in range.

A `Scope` says what may be read at a place. Statements are `statements.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from tests.fuzz.drawing.program import FieldSpec


@dataclass
class Scope:
    """What can be read and assigned at a place of a kernel.

    Attributes
    ----------
    floats, integers : list of str
        Names of locals and parameters.
    mutable_floats, mutable_integers, vectors, matrices : list of str
        Those that may be assigned to; local vectors of three entries, matrices of two rows and columns.
    structs : list of str
        Local structs, which may be assigned to.
    below : dict
        Of some integers, such as loop indices, the number that they are below; they are not negative.
    above : dict
        Of some of these, what they are not below.
    breaks : bool
        Whether the loop around may be left.
    indexing : bool
        Whether this is inside of an index, where no index is data.
    """

    floats: list[str] = field(default_factory=list)
    integers: list[str] = field(default_factory=list)
    mutable_floats: list[str] = field(default_factory=list)
    mutable_integers: list[str] = field(default_factory=list)
    vectors: list[str] = field(default_factory=list)
    matrices: list[str] = field(default_factory=list)
    structs: list[str] = field(default_factory=list)
    below: dict[str, int] = field(default_factory=dict)
    above: dict[str, int] = field(default_factory=dict)
    breaks: bool = False
    indexing: bool = False

    def inner(self, **changed) -> Scope:
        """The scope of a block inside this one: what is new there is not seen outside."""
        lists = ("floats", "integers", "mutable_floats", "mutable_integers", "vectors", "matrices", "structs")
        copies = {name: [*getattr(self, name)] for name in lists}
        return replace(self, **copies, below={**self.below}, above={**self.above}, **changed)


class Choosing:
    """Makes choices by `random`."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def pick(self, *options):
        """One of the options."""
        return self.random.choice(options)

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases."""
        return self.random.randrange(100) < percent

    def some(self, low: int, high: int) -> int:
        """A number from `low` to `high`."""
        return self.random.randint(low, high)


class Feature:
    """What programs of one kind have beside what all have.

    Each method is given what writes a kernel, and the scope at a place of it.
    """

    def atoms(self, writing: Expressions, scope: Scope) -> list[str]:
        """Floats without an operator."""
        return []

    def integers(self, writing: Expressions, scope: Scope) -> list[str]:
        """Integers without an operator."""
        return []

    def numbers(self, writing: Expressions, scope: Scope, depth: int) -> list[str]:
        """Floats."""
        return []

    def statements(self, writing: Any, scope: Scope) -> list[Callable[[Scope, int], list[str]]]:
        """What writes further statements."""
        return []


class Expressions(Choosing):
    """Writes expressions that read the fields `sources`."""

    def __init__(
        self,
        random: Random,
        sources: tuple[FieldSpec, ...],
        funcs: tuple[str, ...] = (),
        vector_funcs: tuple[str, ...] = (),
        features: tuple[Feature, ...] = (),
    ) -> None:
        super().__init__(random)
        self.features = features
        self.sources, self.funcs, self.vector_funcs = sources, funcs, vector_funcs
        self.stops = self.chance(10)  # whether some values are cut off from derivatives
        self.linear = self.chance(15)  # whether floats are sums with constant weights
        self.steered = bool(integers_of(sources))

    # -- indices

    def index(self, size: int, scope: Scope) -> str:
        """An integer from 0 to before `size`."""
        fitting = [name for name, below in scope.below.items() if below <= size]
        known = [*fitting, *fitting, *scope.below]
        beside = [f"{name} - 1" for name in fitting if scope.above.get(name, 0) > 0]
        beside += [f"{name} + 1" for name in fitting if scope.below[name] < size]
        kinds = ["constant", *["plain"] * 4 * bool(fitting), *["shifted"] * 2 * bool(known)]
        kinds += ["beside"] * 3 * bool(beside)
        kind = self.pick(*kinds, *["data", "any"] * (self.steered and not scope.indexing))
        if kind == "plain":
            return self.pick(*fitting)
        if kind == "beside":
            return self.pick(*beside)
        if kind == "shifted":
            return f"({self.pick(*known)} + {self.pick(1, 2)}) % {size}"
        if kind == "data":
            return f"{self.integer_element(scope)} % {size}"
        if kind == "any":
            return f"({self.integer(scope)}) % {size}"
        return str(self.pick(*range(size)))

    def element(self, of: FieldSpec, scope: Scope) -> str:
        """An element of the field, as it is read or written."""
        if not of.shape:
            return f"{of.name}[None]"
        at = ", ".join(self.index(n, scope) for n in of.shape)
        return of.element(at, of.is_part and self.chance(60))

    def integer_element(self, scope: Scope) -> str:
        """An element of an integer field."""
        return self.element(self.pick(*integers_of(self.sources)), scope.inner(indexing=True))

    # -- integers

    def integer(self, scope: Scope, depth: int = 1) -> str:
        """An integer of any sign and size."""
        form = self.pick(
            "atom",
            *["+", "-", "*", "%", "//", "max", "^", "&", "int"] * bool(depth),
            *["hash"] * (self.steered and depth > 0),
        )
        a = self.integer_atom(scope)
        if form == "atom":
            return a
        if form == "hash":
            # of a literal it would be Python's arithmetic, which does not wrap
            return f"(({self.integer_element(scope)} * 1103515245 + 12345) >> 16)"
        if form == "int":
            return f"int({self.atom(scope)} * {self.pick('2.0', '3.0')} + 4.5)"
        b = self.integer(scope, depth - 1)
        if form in ("%", "//"):
            return f"({a}) {form} {self.pick(2, 3)}"
        return f"max({a}, {b})" if form == "max" else f"({a} {form} ({b}))"

    def integer_atom(self, scope: Scope) -> str:
        """An integer without an operator."""
        kinds = ["literal", *["name"] * 3 * bool(scope.integers), *["element"] * 2 * self.steered]
        more = [] if scope.indexing else [a for f in self.features for a in f.integers(self, scope)]
        kinds += ["more"] * 2 * bool(more)
        kind = self.pick(*kinds)
        if kind == "more":
            return self.pick(*more)
        if kind == "name":
            return self.pick(*scope.integers)
        return self.integer_element(scope) if kind == "element" else str(self.pick(0, 1, 2, 3))

    # -- conditions

    def condition(self, scope: Scope, depth: int = 1) -> str:
        """A condition on integers, on floats, or on both."""
        guarded = [] if self.linear else self.guarded(scope)
        kinds = ["integer", "parity", *["float", "between"] * (not self.linear)]
        kinds += ["and", "or", "not"] * bool(depth)
        form = self.pick(*kinds, *["guarded"] * 3 * bool(guarded))
        if form == "integer":
            return f"{self.integer(scope)} {self.pick('<', '>', '==', '!=', '<=')} {self.pick(0, 1, 2)}"
        if form == "parity":
            return f"({self.integer(scope)}) % 2 == {self.pick(0, 1)}"
        if form == "float":
            limit = self.pick("0.1", "-0.4", self.atom(scope))
            return f"{self.atom(scope)} {self.pick('<', '>')} {limit}"
        if form == "between":
            return f"-0.4 < {self.atom(scope)} < {self.pick('0.1', '0.6')}"
        if form == "guarded":
            guard, element = self.pick(*guarded)
            return f"{guard} and {element} {self.pick('<', '>')} 0.1"
        inner = self.condition(scope, depth - 1)
        return f"not ({inner})" if form == "not" else f"{inner} {form} {self.condition(scope, depth - 1)}"

    def guarded(self, scope: Scope) -> list[tuple[str, str]]:
        """Conditions under which an element beside another one is there, each with the element."""
        found = []
        for f in floats_of(self.sources):
            for name, below in scope.below.items():
                if len(f.shape) == 1 and below <= f.shape[0]:
                    found += [(f"{name} > 0", f"{f.name}[{name} - 1]")]
                    found += [(f"{name} < {f.shape[0] - 1}", f"{f.name}[{name} + 1]")]
        return found

    # -- floats

    def atom(self, scope: Scope) -> str:
        """A float without an operator."""
        numbers, vectors = floats_of(self.sources), floats_of(self.sources, axes=1)
        kinds = ["element"] * 4 * bool(numbers) + ["name"] * 4 * bool(scope.floats) + ["literal"]
        kinds += ["entry", *["product"] * (not self.linear)] * bool(vectors)
        kinds += ["local entry"] * 2 * bool(scope.vectors)
        kinds += ["of matrix"] * 2 * bool(self.matrices(scope))
        guarded = self.guarded(scope)
        kinds += ["guarded"] * bool(guarded)
        more = [] if self.linear else [a for f in self.features for a in f.atoms(self, scope)]
        kinds += ["more"] * 4 * bool(more)
        kind = self.pick(*kinds)
        if kind == "more":
            return self.pick(*more)
        if kind == "name":
            return self.pick(*scope.floats)
        if kind == "literal":
            return self.pick("0.5", "1.3", "-0.7")
        if kind == "entry":
            return f"{self.element(self.pick(*vectors), scope)}[{self.index(2, scope)}]"
        if kind == "product":
            return (
                f"{self.element(self.pick(*vectors), scope)}.dot({self.element(self.pick(*vectors), scope)})"
            )
        if kind == "guarded":
            guard, element = self.pick(*guarded)
            return f"({element} if {guard} else 0.3)"
        if kind == "of matrix":
            return self.of_matrix(scope, vectors)
        if kind == "local entry" and self.chance(15):
            return f"{self.pick(*scope.vectors)}.{self.pick('sum', 'sum' if self.linear else 'norm_sqr')}()"
        if kind == "local entry":
            return f"{self.pick(*scope.vectors)}[{self.index(3, scope)}]"
        return self.element(self.pick(*numbers), scope)

    def matrices(self, scope: Scope) -> list[str]:
        """Matrices that may be read: locals, and elements of fields."""
        return [*scope.matrices, *(self.element(f, scope) for f in floats_of(self.sources, axes=2))]

    def of_matrix(self, scope: Scope, vectors: list[FieldSpec]) -> str:
        """A number that a matrix gives."""
        kinds = ["{0}[{i}, {j}]"] * 3 + ["{0}.trace()"]
        if not self.linear:
            kinds += ["{0}.determinant()", "({0} @ {1})[{i}, {j}]", *["({0} @ {v})[{i}]"] * bool(vectors)]
        form = self.pick(*kinds)
        v = self.element(self.pick(*vectors), scope) if vectors else ""
        i, j = self.index(2, scope), self.index(2, scope)
        return form.format(*(self.pick(*self.matrices(scope)) for _ in "01"), i=i, j=j, v=v)

    _UNARY = (
        "ti.sin({a})", "ti.cos({a})", "ti.tanh({a})", "(-{a})", "abs({a})", "({a}) ** 2",
        "ti.exp(-({a} * {a}))", "ti.sqrt(1.0 + {a} * {a})", "ti.log(1.5 + {a} * {a})", "ti.atan({a})",
        "({a}) ** 3", "(1.2 + {a} * {a}) ** 0.7", "ti.asin(0.6 * ti.sin({a}))", "ti.tan(0.7 * ti.tanh({a}))",
        "ti.rsqrt(1.0 + {a} * {a})", "ti.math.clamp({a}, -0.6, 0.7)", "(0.4 * ti.floor(2.0 * {a}) + {a})",
        "({a}) % 0.7", "ti.sinh(ti.sin({a}))",
    )  # fmt: skip
    _BINARY = (
        "({a} * {b})", "({a} * {b})", "({a} + {b})", "({a} - {b})", "({a} / (1.0 + {b} * {b}))",
        "max({a}, {b})", "min({a}, {b})", "ti.select({c}, {a}, {b})", "({a} if {c} else {b})",
        "ti.atan2({a}, 1.5 + {b} * {b})", "ti.math.mix({a}, {b}, 0.3)",
        "ti.pow(1.1 + {a} * {a}, ti.sin({b}))",
    )  # fmt: skip

    _LINEAR = ("({a} + {b})", "({a} - {b})", "(0.6 * {a} - {b} / 3.0)", "({a} if {c} else {b})")

    def number(self, scope: Scope, depth: int = 2) -> str:
        """A float."""
        if self.linear:
            return self.sum(scope) if depth and self.chance(60) else self.atom(scope)
        kinds = ["atom", *["binary"] * 3 * bool(depth), *["unary"] * 2 * bool(depth), "call", "from integer"]
        more = [a for f in self.features for a in f.numbers(self, scope, depth)] if depth else []
        kinds += ["more"] * 3 * bool(more)
        kind = self.pick(*kinds)
        if kind == "more":
            return self.pick(*more)
        if kind == "from integer":
            return f"(0.3 * ({self.integer_atom(scope)} % 5) - 0.17)"
        if kind == "call" and self.funcs and depth:
            return f"{self.pick(*self.funcs)}({self.number(scope, 0)}, {self.number(scope, 0)})"
        if kind == "unary":
            return self.pick(*self._UNARY, *["ti.stop_grad({a})"] * self.stops).format(
                a=self.number(scope, depth - 1)
            )
        if kind == "binary":
            a, b = self.number(scope, depth - 1), self.number(scope, depth - 1)
            form = self.pick(*self._BINARY)
            return form.format(a=a, b=b, c=self.condition(scope, 0) if "{c}" in form else "")
        return self.atom(scope)

    def sum(self, scope: Scope) -> str:
        """A float that is a sum of two with constant weights."""
        form = self.pick(*self._LINEAR)
        condition = self.condition(scope, 0) if "{c}" in form else ""
        return form.format(a=self.atom(scope), b=self.atom(scope), c=condition)

    def bounded(self, scope: Scope, own: str = "") -> str:
        """A float that stays small however often it is computed; it reads `own` where that is given."""
        value = self.number(scope)
        if self.linear:
            return f"0.5 * {own or '0.7'} + 0.3 * {value}"
        if own:
            value = self.pick("{0} * {1}", "{0} + {1}", "{0} - 0.5 * {1}").format(own, value)
        return self.pick(
            "ti.sin({0})", "ti.tanh({0})", "0.5 * ti.cos({0})", "({0}) / (1.0 + ({0}) ** 2)"
        ).format(value)


def floats_of(fields: tuple[FieldSpec, ...], *, axes: int = 0) -> list[FieldSpec]:
    """Those of floats, of vectors, or of matrices."""
    return [f for f in fields if not f.integers and len(f.entry) == axes]


def integers_of(fields: tuple[FieldSpec, ...]) -> list[FieldSpec]:
    """Those of integers."""
    return [f for f in fields if f.integers]
