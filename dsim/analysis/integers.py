"""The affine form of every integer value of a kernel, and the facts that its comparisons imply.

Values that are not affine become symbols. Equal pure expressions, and loads of one element of a
memory that the kernel never writes, share a symbol. Not its job: walking the kernel (`effects.py`).

Integer arithmetic wraps. A result that by its known range may overflow becomes a new symbol. If the operands
have no known range the form is kept, since it is the form of an index that will be checked, but implies
nothing: comparisons of it give no facts, unless only parameters are unknown, whose size `bounds.py` checks
at the launch. Loops of 2**31 trips are not considered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dsim.analysis.affine import Affine, constant, symbol
from dsim.analysis.symbols import INFINITY, Loop, Symbol, assumed_range, span_of, type_range
from dsim.ir.nodes import Atom, Const, For, Let, Load, Var
from dsim.ir.types import ScalarType

Facts = tuple[Affine, ...]
Range = tuple[float, float]


class Integers:
    """Forms of integer variables, symbols by name, conditions of bool variables.

    Attributes
    ----------
    params : frozenset of str
        The kernel's parameters.
    symbols : dict of str to Symbol
        The facts about every symbol of the forms.
    home : dict of str to (Loop or None)
        For every variable of the kernel, the innermost loop in which it is bound.
    conditions : dict of str to (tuple of Affine, tuple of Affine)
        Forms that are at least 0 if the bool of that name is true, and if it is false.
    trips : dict of str to Affine
        For the index of a loop whose step is not ±1, the trip number, as a symbol of its own.
    """

    def __init__(self, params: Iterable[Var] = ()) -> None:
        self.params = frozenset(p.name for p in params)
        self.home: dict[str, Loop | None] = dict.fromkeys(self.params)
        self.symbols: dict[str, Symbol] = {}
        self.conditions: dict[str, tuple[Facts, Facts]] = {}
        self.trips: dict[str, Affine] = {}
        self._forms: dict[str, Affine] = {}
        self._indices: set[str] = set()
        self._numbered: dict[tuple[object, ...], Affine] = {}

    def form(self, atom: Atom) -> Affine:
        """The affine form of an integer or bool atom."""
        if isinstance(atom, Const):
            return constant(int(atom.value))
        known = self._forms.get(atom.name)
        if known is None:
            return self.opaque(atom, self.home.get(atom.name), *assumed_range(atom.type))
        return known

    def opaque(self, var: Var, loop: Loop | None, low: float = -INFINITY, high: float = INFINITY) -> Affine:
        """Makes `var` a symbol with this range, which may vary in `loop`."""
        self.symbols[var.name] = Symbol(var, loop, len(self.symbols), low, high)
        form = self._forms[var.name] = symbol(var)
        return form

    def extent(self, form: Affine) -> Range:
        """The range of `form`, both ends inclusive."""
        low: float = form.constant
        high: float = form.constant
        for v, k in form.terms:
            s = self.symbols[v.name]
            low += k * (s.low if k > 0 else s.high)
            high += k * (s.high if k > 0 else s.low)
        return low, high

    def index(self, s: For, loop: Loop) -> None:
        """Makes the index of `s` a symbol with the range of `loop`."""
        assert loop.start is not None
        assert loop.stop is not None
        first, last = (loop.start, loop.stop + -1) if s.step > 0 else (loop.stop + 1, loop.start)
        if loop.trips and abs(s.step) > 1:
            end = loop.start + s.step * (loop.trips - 1)
            first, last = (first, end) if s.step > 0 else (end, last)
        self.opaque(s.index, loop, self.extent(first)[0], self.extent(last)[1])
        self._indices.add(s.index.name)
        sym = self.symbols[s.index.name]
        sym.lower, sym.upper = first, last
        me = symbol(s.index)
        if abs(s.step) > 1:
            self.trips[s.index.name] = self.opaque(Var(f"{s.index.name}#", s.index.type), loop, 0)
        sym.facts = (me - first, last - me)

    def load(self, s: Load, index: tuple[Affine, ...], unwritten: bool) -> None:
        """Gives the integer that `s` loads a form; `unwritten` if the kernel never writes the memory."""
        if not unwritten or s.memory.private:
            return
        key = ("load", s.memory.key, index)
        self._number(key, s.var, index, lambda: assumed_range(s.var.type))

    def merged(self, var: Var, forms: tuple[Affine, ...]) -> None:
        """Gives `var`, the result of a branch that yields one of `forms`, a form."""
        if all(f == forms[0] for f in forms):
            self._forms[var.name] = forms[0]
        else:
            self.opaque(var, self.home.get(var.name), *span_of(*map(self._sure_extent, forms)))

    def let(self, s: Let) -> None:
        """Gives the integer or bool that `s` computes a form, or facts."""
        if s.var.type.kind == "bool":
            self._condition(s)
            return
        if any(a.type.is_float for a in s.args):
            return
        args = tuple(map(self.form, s.args))
        form = _affine(s.op, args)
        if form is not None and self._keeps(form, s):
            self._forms[s.var.name] = form
            return
        if s.op in ("mod", "floordiv", "shr", "band") and self._divided(s, args):
            return
        made = self._number((s.op, s.var.type, args), s.var, args, lambda: self._range(s, args))
        if made is not None and s.op in ("min", "max") and all(map(self._exact, args)):
            sign = 1 if s.op == "max" else -1
            made.facts = tuple((symbol(s.var) - a) * sign for a in args)

    def _number(
        self, key: tuple[object, ...], var: Var, inputs: tuple[Affine, ...], extent: Callable[[], Range]
    ) -> Symbol | None:
        known = self._numbered.get(key)
        if known is not None:
            self._forms[var.name] = known
            return None
        low, high = extent()
        self._numbered[key] = self.opaque(var, self.deepest(inputs), low, high)
        return self.symbols[var.name]

    def deepest(self, forms: tuple[Affine, ...]) -> Loop | None:
        """The innermost loop in which a function of `forms` may vary."""
        found: Loop | None = None
        for form in forms:
            for v, _ in form.terms:
                loop = self.symbols[v.name].loop
                if loop is not None and (found is None or loop.depth > found.depth):
                    found = loop
        return found

    def _keeps(self, form: Affine, s: Let) -> bool:
        """Whether the result of `s` equals `form`, or wraps only so that a bounds check would detect it."""
        low, high = self.extent(form)
        least, greatest = type_range(s.var.type)
        if s.var.type.bits <= 32 and self._largest(form) > _EXACT:
            return False
        if s.op == "cast":  # the value is unchanged if both types can represent it
            before = type_range(s.args[0].type)
            return max(low, before[0]) >= least and min(high, before[1]) <= greatest
        signed = s.var.type.kind == "int"
        return (low >= least or (signed and low == -INFINITY)) and (high <= greatest or high == INFINITY)

    def _largest(self, form: Affine) -> float:
        """The largest absolute value that `form` or a part of it may have."""
        total: float = abs(form.constant)
        for v, k in form.terms:
            s, (least, greatest) = self.symbols[v.name], type_range(v.type)
            total += abs(k) * max(-max(s.low, least), min(s.high, greatest))
        return total

    def _exact(self, form: Affine, besides: frozenset[str] = frozenset()) -> bool:
        """Whether `form` never wraps, if the symbols in `besides` are small."""
        if not form.terms or (len(form.terms) == 1 and form.terms[0][1] == 1 and not form.constant):
            return True
        return all(
            v.name in self._indices or v.name in besides or not _unlimited(self.symbols[v.name])
            for v, _ in form.terms
        )

    def _sure_extent(self, form: Affine) -> Range:
        return self.extent(form) if self._exact(form) else (-INFINITY, INFINITY)

    def _range(self, s: Let, args: tuple[Affine, ...]) -> Range:
        low, high = assumed_range(s.var.type)
        known = _RANGES.get(s.op)
        if known is None:
            return low, high
        least, greatest = known(*map(self._sure_extent, args))
        if not _fits((least, greatest), s.var.type):
            return low, high
        return max(low, least), min(high, greatest)

    def _divided(self, s: Let, args: tuple[Affine, ...]) -> bool:
        """Makes a quotient or remainder by a positive constant a symbol, related to the dividend by facts."""
        divisor = _divisor(s.op, args)
        if divisor is None:
            return False
        x = args[0]
        if not self._exact(x):
            return False
        low, high = self.extent(x)
        if s.op not in ("mod", "band"):
            self._forms[s.var.name] = self._quotient(x, divisor, s.var)
        elif low >= 0 and high < divisor:
            self._forms[s.var.name] = x
        else:
            made = self._number(("mod", divisor, x), s.var, (x,), lambda: (0, divisor - 1))
            if made is not None:
                quotient = self._quotient(x, divisor, Var(f"{s.var.name}//", s.var.type))
                gap = x - quotient * divisor - symbol(s.var)
                made.facts = (gap, -gap)
        return True

    def _quotient(self, x: Affine, divisor: int, var: Var) -> Affine:
        """The symbol for ``x // divisor``; `var` becomes it if there is none yet."""
        low, high = self.extent(x)
        ends = (low // divisor if low > -INFINITY else low), (high // divisor if high < INFINITY else high)
        key = ("floordiv", divisor, x)
        made = self._number(key, var, (x,), lambda: ends)
        if made is not None:
            q = symbol(var)
            made.facts = (x - q * divisor, q * divisor + (divisor - 1) - x)
        return self._numbered[key]

    def _condition(self, s: Let) -> None:
        match s.op, s.args:
            case ("lt" | "le" | "gt" | "ge" | "eq" | "ne", (a, b)) if a.type.is_integer and b.type.is_integer:
                x, y = self.form(a), self.form(b)
                if self._exact(x, self.params) and self._exact(y, self.params):
                    self.conditions[s.var.name] = _compared(s.op, x, y, self.extent(x - y))
            case "band", (a, b):
                (yes_a, _), (yes_b, _) = self.known(a), self.known(b)
                self.conditions[s.var.name] = (yes_a + yes_b, ())
            case "bor", (a, b):
                (_, no_a), (_, no_b) = self.known(a), self.known(b)
                self.conditions[s.var.name] = ((), no_a + no_b)
            case "bnot", (a,):
                yes, no = self.known(a)
                self.conditions[s.var.name] = (no, yes)
            case _:
                pass

    def known(self, cond: Atom) -> tuple[Facts, Facts]:
        """Forms that are at least 0 if `cond` is true, and if it is false."""
        return self.conditions.get(cond.name, ((), ())) if isinstance(cond, Var) else ((), ())


_EXACT = 1 << 62  # machine code computes indices in 64 bits without wrapping where no part is larger


def _fits(extent: Range, type: ScalarType) -> bool:
    """Whether a value fits its type; one of unknown range is assumed to."""
    low, high = type_range(type)
    return (extent[0] >= low or extent[0] == -INFINITY) and (extent[1] <= high or extent[1] == INFINITY)


def _unlimited(s: Symbol) -> bool:
    return s.low == -INFINITY or s.high == INFINITY


def _affine(op: str, args: tuple[Affine, ...]) -> Affine | None:
    """The affine form of ``op(*args)``; None if it has none."""
    form: Affine | None = None
    match op, args:
        case "add", (a, b):
            form = a + b
        case "sub", (a, b):
            form = a - b
        case "neg", (a,):
            form = -a
        case (("cast" | "stop"), (a,)):
            form = a
        case "mul", (a, b) if a.is_constant or b.is_constant:
            form = b * a.constant if a.is_constant else a * b.constant
        case "shl", (a, b) if b.is_constant and 0 <= b.constant < 31:
            form = a * (1 << b.constant)
        case "select", (_, a, b) if a == b:
            form = a
        case _:
            pass
    return form


def _divisor(op: str, args: tuple[Affine, ...]) -> int | None:
    """The positive constant divisor of an operation, if it has one."""
    by = args[1]
    if not by.is_constant:
        return None
    match op:
        case "mod" | "floordiv":
            return by.constant if by.constant > 0 else None
        case "shr":
            return 1 << by.constant if 0 <= by.constant < 31 else None
        case _:  # band with a mask of the low bits: mod by a power of two
            mask = by.constant
            return mask + 1 if mask >= 0 and mask & (mask + 1) == 0 else None


def _compared(op: str, a: Affine, b: Affine, extent: Range) -> tuple[Facts, Facts]:
    """Forms that are at least 0 if the comparison holds, and if not; `extent` is the range of ``a - b``.

    What is not equal is less, or greater, where the other one is impossible: the first index of a loop.
    """
    less, greater = b - a, a - b
    unequal = (*((greater + -1,) if extent[0] >= 0 else ()), *((less + -1,) if extent[1] <= 0 else ()))
    match op:
        case "lt":
            return (less + -1,), (greater,)
        case "le":
            return (less,), (greater + -1,)
        case "gt":
            return (greater + -1,), (less,)
        case "ge":
            return (greater,), (less + -1,)
        case "eq":
            return (less, greater), unequal
        case _:
            return unequal, (less, greater)


def _product(a: Range, b: Range) -> Range:
    if any(abs(end) == INFINITY for end in (*a, *b)):
        return -INFINITY, INFINITY
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _absolute(a: Range) -> Range:
    if a[0] == -INFINITY:  # the absolute value of the least integer overflows
        return a
    least = 0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))
    return least, max(abs(a[0]), abs(a[1]))


def _masked(a: Range, b: Range) -> Range:
    if a[0] >= 0 or b[0] >= 0:
        return 0, min(r[1] for r in (a, b) if r[0] >= 0)
    return -INFINITY, INFINITY


def _remainder(_: Range, b: Range) -> Range:
    return (0, b[1] - 1) if b[0] > 0 else (-INFINITY, INFINITY)


def _least(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), min(a[1], b[1])


def _greatest(a: Range, b: Range) -> Range:
    return max(a[0], b[0]), max(a[1], b[1])


def _either(_: Range, a: Range, b: Range) -> Range:
    return span_of(a, b)


_RANGES: dict[str, Callable[..., Range]] = {
    "mul": _product,
    "min": _least,
    "max": _greatest,
    "abs": _absolute,
    "band": _masked,
    "mod": _remainder,
    "select": _either,
}
