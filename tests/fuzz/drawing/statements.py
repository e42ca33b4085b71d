"""Random statements of a kernel: locals, in-place updates of fields, scatters, branches, loops, exits."""

from __future__ import annotations

from itertools import count
from random import Random

from tests.fuzz.drawing.expressions import Expressions, Feature, Scope, floats_of, integers_of
from tests.fuzz.drawing.program import FieldSpec, Head

Lines = list[str]


def indented(lines: Lines) -> Lines:
    """The lines as a block's."""
    return [f"    {line}" for line in lines]


class Statements(Expressions):
    """Writes statements; each method gives lines, and adds to the scope what they define.

    They read `sources` and write `targets`. Where those are not the same, no field is in both, and nothing
    is overwritten that was read.
    """

    def __init__(
        self,
        random: Random,
        sources: tuple[FieldSpec, ...],
        targets: tuple[FieldSpec, ...],
        funcs: tuple[str, ...] = (),
        vector_funcs: tuple[str, ...] = (),
        features: tuple[Feature, ...] = (),
    ) -> None:
        super().__init__(random, sources, funcs, vector_funcs, features)
        self.targets = targets
        self.in_place = sources is targets
        self.numbers = count()
        self.left = 14  # statements that the kernel may still have
        self.answers = False  # whether it may return a number

    def fresh(self, letter: str) -> str:
        """A new name."""
        return f"{letter}{next(self.numbers)}"

    def block(self, scope: Scope, depth: int, least: int = 1) -> Lines:
        """A few statements, with up to `depth` loops or branches inside one another."""
        lines: Lines = []
        for _ in range(self.pick(least, least + 1, least + 2)):
            lines += self.statement(scope, depth)
        return lines

    def statement(self, scope: Scope, depth: int) -> Lines:
        """One statement."""
        self.left -= 1
        kinds = ["local"] * 3 + ["integer_local", "vector", "vector", "matrix"] + ["answer"] * self.answers
        kinds += (["store"] * 2 + ["accumulate"] * 3) * bool(self.targets)
        if self.in_place and self.targets:
            kinds += ["overwrite"] * 5 + ["extreme", "old_value", "swap", "taken"]
            kinds += ["extreme"] * 4 * self.linear
        kinds += ["steer"] * 2 * bool(integers_of(self.targets))
        kinds += ["change"] * 3 * bool(scope.mutable_floats) + ["count"] * bool(scope.mutable_integers)
        kinds += ["touch"] * 3 * bool(scope.vectors or scope.matrices)
        kinds += ["store_matrix"] * 2 * bool(floats_of(self.targets, axes=2))
        if depth and self.left > 0:
            kinds += ["branch"] * 6 + ["repeat"] * 4 + ["pairs", "unrolled", "while_", "while_"]
        kinds += ["leave"] * 2 * scope.breaks
        ways = [getattr(self, kind) for kind in kinds]
        ways += [way for f in self.features for way in f.statements(self, scope)]
        return self.pick(*ways)(scope, depth)

    # -- locals

    def local(self, scope: Scope, depth: int) -> Lines:
        """A new float."""
        line = f"{(name := self.fresh('a'))} = {self.number(scope)}"
        scope.floats.append(name)
        scope.mutable_floats.append(name)
        return [line]

    def integer_local(self, scope: Scope, depth: int) -> Lines:
        """A new integer."""
        line = f"{(name := self.fresh('n'))} = {self.integer(scope)}"
        scope.integers.append(name)
        scope.mutable_integers.append(name)
        return [line]

    def change(self, scope: Scope, depth: int) -> Lines:
        """A local float changes."""
        name = self.pick(*scope.mutable_floats)
        if self.chance(30):
            return [f"{name} += 0.3 * {self.bounded(scope)}"]
        return [f"{name} = {self.bounded(scope, name if self.chance(50) else '')}"]

    def count(self, scope: Scope, depth: int) -> Lines:
        """A local integer changes."""
        name = self.pick(*scope.mutable_integers)
        return [f"{name} += {self.pick(1, 2)}" if self.chance(50) else f"{name} = {self.integer(scope)}"]

    def vector(self, scope: Scope, depth: int) -> Lines:
        """A new local vector, which is a private buffer when its index is data."""
        name = self.fresh("p")
        if scope.vectors and self.vector_funcs and self.chance(30):
            args = f"{self.pick(*scope.vectors)}, {self.number(scope, 1)}"
            line = f"{name} = {self.pick(*self.vector_funcs)}({args})"
        elif scope.vectors and self.chance(40):
            line = f"{name} = {self.pick('{0}', '0.5 * {0}', '{0} + {1}', '{0} * {1}')}"
            line = line.format(self.pick(*scope.vectors), self.pick(*scope.vectors))
        else:
            line = f"{name} = ti.Vector([{', '.join(self.number(scope, 1) for _ in range(3))}])"
        scope.vectors.append(name)
        return [line]

    def touch(self, scope: Scope, depth: int) -> Lines:
        """An entry of a local vector or matrix changes."""
        target = self.pick(*scope.vectors, *scope.matrices)
        if target in scope.vectors:
            target += f"[{self.index(3, scope)}]"
        else:
            target += f"[{self.index(2, scope)}, {self.index(2, scope)}]"
        if self.chance(40):
            return [f"{target} += 0.3 * {self.bounded(scope)}"]
        return [f"{target} = {self.bounded(scope, target if self.chance(50) else '')}"]

    def matrix(self, scope: Scope, depth: int) -> Lines:
        """A new local matrix."""
        line = f"{(name := self.fresh('q'))} = {self.whole_matrix(scope)}"
        scope.matrices.append(name)
        return [line]

    def whole_matrix(self, scope: Scope) -> str:
        """A matrix."""
        if self.matrices(scope) and self.chance(60):
            forms = (
                "{0}",
                "0.5 * {0}",
                "0.4 * ({0} + {1})",
                "{0} - 0.5 * {1}",
                "{0} * {1}",
                "0.4 * ({0} @ {1})",
            )
            form = self.pick(*forms, "{0}.transpose()")
            return form.format(*(self.pick(*self.matrices(scope)) for _ in "01"))
        rows = (f"[{self.bounded(scope)}, {self.bounded(scope)}]" for _ in "01")
        return f"ti.Matrix([{', '.join(rows)}])"

    # -- fields

    def store_matrix(self, scope: Scope, depth: int) -> Lines:
        """A matrix of a field becomes another one, or something is added to it."""
        target = self.element(self.pick(*floats_of(self.targets, axes=2)), scope)
        if self.chance(30):
            return [f"{target} += 0.3 * {self.whole_matrix(scope)}"]
        return [f"{target} = 0.7 * {self.whole_matrix(scope)}"]

    def target(self, scope: Scope) -> str:
        """An element of a float field, or an entry of one."""
        entries = floats_of(self.targets, axes=1) + floats_of(self.targets, axes=2)
        if entries and self.chance(25):
            chosen = self.pick(*entries)
            at = ", ".join(self.index(2, scope) for _ in chosen.entry)
            return f"{self.element(chosen, scope)}[{at}]"
        return self.element(self.pick(*floats_of(self.targets)), scope)

    def overwrite(self, scope: Scope, depth: int) -> Lines:
        """An element becomes a function of itself."""
        target = self.target(scope)
        return [f"{target} = {self.bounded(scope, target)}"]

    def store(self, scope: Scope, depth: int) -> Lines:
        """An element becomes something else."""
        entries = floats_of(self.targets, axes=1)
        if entries and self.chance(25):
            pair = f"ti.Vector([{self.bounded(scope)}, {self.bounded(scope)}])"
            target = self.element(self.pick(*entries), scope)
            sources = floats_of(self.sources, axes=1)
            if sources and self.chance(50):
                return [f"{target} = 0.5 * {self.element(self.pick(*sources), scope)} + 0.4 * {pair}"]
            return [f"{target} {self.pick('=', '=', '+=')} {pair}"]
        return [f"{self.target(scope)} = {self.bounded(scope)}"]

    def accumulate(self, scope: Scope, depth: int) -> Lines:
        """Something is added to an element."""
        value, target = f"0.4 * {self.bounded(scope)}", self.target(scope)
        if self.chance(15):
            target = "loss[None]"
        elif self.in_place and self.chance(20):
            return [f"{target} {self.pick('*= 0.8', '/= 1.3')} + {value}"]
        return [f"{target} {self.pick('+=', '+=', '-=')} {value}"]

    def extreme(self, scope: Scope, depth: int) -> Lines:
        """An element becomes the larger, or the smaller, of itself and something else; sums may use it."""
        target = self.target(scope)
        update = f"ti.atomic_{self.pick('max', 'min')}({target}, {self.bounded(scope)})"
        uses = [update, f"loss[None] += 0.3 * {target}"], [f"loss[None] -= 0.4 * {update}"]
        return self.pick([update], *uses)

    def old_value(self, scope: Scope, depth: int) -> Lines:
        """An element is updated, and what it was before is used."""
        line = f"{(name := self.fresh('a'))} = {self.update(scope)}"
        scope.floats.append(name)
        return [line]

    def update(self, scope: Scope) -> str:
        """An update of an element, whose value is what the element was before."""
        operation, value = self.pick("add", "add", "max", "min"), self.bounded(scope)
        value = f"0.4 * {value}" if operation == "add" else value
        return f"ti.atomic_{operation}({self.target(scope)}, {value})"

    def swap(self, scope: Scope, depth: int) -> Lines:
        """Two elements change places."""
        a, b = self.target(scope), self.target(scope)
        return [f"{a}, {b} = {b}, {a}"]

    def taken(self, scope: Scope, depth: int) -> Lines:
        """A counter goes on, and what it was is used as an index."""
        counter = self.element(self.pick(*integers_of(self.targets)), scope.inner(indexing=True))
        line = f"{(name := self.fresh('n'))} = ti.atomic_add({counter}, {self.pick(1, 2)})"
        scope.integers.append(name)
        return [line]

    def answer(self, scope: Scope, depth: int) -> Lines:
        """An early return."""
        return [f"if {self.condition(scope)}:", f"    return {self.number(scope)}"]

    def steer(self, scope: Scope, depth: int) -> Lines:
        """An integer that steers changes."""
        target = self.element(self.pick(*integers_of(self.targets)), scope.inner(indexing=True))
        if self.chance(40):
            return [f"{target} += {self.pick(1, 2, -1)}"]
        if self.in_place and self.chance(20):
            return [f"ti.atomic_{self.pick('max', 'min')}({target}, {self.integer(scope, 0)})"]
        return [f"{target} = ({self.integer(scope)}) % {self.pick(3, 4)}"]

    # -- control

    def branch(self, scope: Scope, depth: int) -> Lines:
        """An `if`, with or without other cases."""
        lines = [f"if {self.condition(scope)}:", *indented(self.block(scope.inner(), depth - 1))]
        if self.chance(25):
            lines += [f"elif {self.condition(scope)}:", *indented(self.block(scope.inner(), depth - 1))]
        if self.chance(50):
            lines += ["else:", *indented(self.block(scope.inner(), depth - 1))]
        return lines

    def repeat(self, scope: Scope, depth: int) -> Lines:
        """A loop that counts, up or down, as often as is written or as data says."""
        inner, name = scope.inner(breaks=True), self.fresh("j")
        kind = self.pick("constant", "constant", "size", "data", "data", "down", "from", "steps")
        size = self.pick(2, 3)
        below = {"constant": size, "size": size, "data": 4, "down": size, "from": 4, "steps": 4}[kind]
        bounds = {
            "constant": f"{size}",
            "size": f"{self.pick(0, 1)}, {size}",
            "data": f"({self.integer(scope)}) % 4",
            "down": f"{size - 1}, -1, -1",
            "steps": f"{self.pick(0, 1)}, {self.pick(3, 4)}, 2",
            "from": f"{self.index(2, scope)}, {self.pick(3, 4)}",
        }[kind]
        inner.below[name] = below
        inner.integers.append(name)
        return [f"for {name} in range({bounds}):", *indented(self.block(inner, depth - 1))]

    def unrolled(self, scope: Scope, depth: int) -> Lines:
        """A loop that is unrolled."""
        inner, name = scope.inner(breaks=False), self.fresh("j")
        inner.below[name] = 2
        inner.integers.append(name)
        return [f"for {name} in ti.static(range(2)):", *indented(self.block(inner, 0))]

    def pairs(self, scope: Scope, depth: int) -> Lines:
        """A loop over pairs."""
        inner, names = scope.inner(breaks=True), (self.fresh("j"), self.fresh("j"))
        for name, size in zip(names, (2, 3), strict=True):
            inner.below[name] = size
            inner.integers.append(name)
        return [f"for {', '.join(names)} in ti.ndrange(2, (1, 3)):", *indented(self.block(inner, depth - 1))]

    def while_(self, scope: Scope, depth: int) -> Lines:
        """A loop that goes on while a condition holds, but not for long."""
        inner, name = scope.inner(breaks=True), self.fresh("w")
        inner.integers.append(name)
        body = [f"{name} += 1", *self.block(inner, depth - 1)]
        if self.chance(25) and not any("continue" in line for line in body):  # it ends from inside
            return [f"{name} = 0", "while True:", *indented([*body, f"if {name} >= 3:", "    break"])]
        goes = f"{name} < {self.pick(2, 3)}"
        if self.in_place and self.targets and self.chance(25):
            goes += f" and {self.update(scope)} {self.pick('<', '>')} 0.3"
        elif self.chance(70):
            goes += f" and ({self.condition(scope)})"
        return [f"{name} = 0", f"while {goes}:", *indented(body)]

    def leave(self, scope: Scope, depth: int) -> Lines:
        """A way out of the loop, or of this trip."""
        return [f"if {self.condition(scope)}:", f"    {self.pick('break', 'continue')}"]

    # -- what a program must have

    def nest(self, scope: Scope) -> Lines:
        """A loop with a branch that overwrites what was read, and whatever else."""
        inner, name = scope.inner(breaks=True), self.fresh("j")
        inner.below[name] = 3
        inner.integers.append(name)
        first, then = self.block(inner, 1, 0), inner.inner()
        branch = [f"if {self.condition(inner)}:", *indented(self.block(then, 1, 0) + self.overwrite(then, 0))]
        if self.chance(50):
            branch += ["else:", *indented(self.block(inner.inner(), 1))]
        body = [*first, *branch, *self.overwrite(inner, 0), *self.block(inner, 1, 0)]
        return [f"for {name} in range({self.pick('2', '3', self.index(4, scope))}):", *indented(body)]

    def outermost(self, scope: Scope, sizes: tuple[int, int]) -> tuple[Head, Scope]:
        """A loop at the top of a kernel, and the scope in it."""
        n, m = sizes
        i, j = self.fresh("i"), self.fresh("i")
        kind = self.pick("range", "field", "from", "to", "time", "ndrange", "pairs")
        one = {"range": ((0, n), f"range({n})"), "field": ((0, n), "x"), "from": ((1, n), f"range(1, {n})")}
        one["time"], one["to"] = ((0, m - 1), f"range({m - 1})"), ((0, n - 1), f"range({n - 1})")
        if kind in one:
            (low, high), space = one[kind]
            head = Head((i,), ((low, high),), f"for {i} in {space}:")
        elif kind == "ndrange":
            head = Head((i, j), ((0, m), (0, n)), f"for {i}, {j} in ti.ndrange({m}, {n}):")
        else:
            head = Head((i, j), ((0, m), (0, n)), f"for {i}, {j} in u:")
        inner = scope.inner(breaks=False)
        for name, (low, high) in zip(head.names, head.ranges, strict=True):
            inner.below[name], inner.above[name] = high, low
            inner.integers.append(name)
        return head, inner
