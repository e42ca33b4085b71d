"""Random programs: fields and their values, funcs, kernels, launches, and writes by Python."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
from hypothesis import strategies as st

from tests.fuzz.drawing import captures, casts, layers, rules, structs
from tests.fuzz.drawing.captures import Captured
from tests.fuzz.drawing.casts import Casts
from tests.fuzz.drawing.expressions import Choosing, Feature, Scope
from tests.fuzz.drawing.layers import Layers
from tests.fuzz.drawing.program import (
    Action,
    BlockSpec,
    FieldSpec,
    Head,
    KernelSpec,
    Launch,
    Program,
    mentioned,
    written,
)
from tests.fuzz.drawing.rules import Ruled
from tests.fuzz.drawing.statements import Statements, indented
from tests.fuzz.drawing.structs import Structs
from tests.fuzz.drawing.views import Views, as_arrays, bases
from tests.fuzz.drawing.writes import HostWrites

_NAMES = ("f0", "f1")
_VECTORS = ("g0",)

# What programs may have beside what all have: structs; floats and integers of several sizes; funcs with
# derivatives of their own; names that Python gives other meanings; arrays and views as arguments; more writes
# by Python; one launch of each kernel, of which none overwrites what an earlier one names; few statements;
# functions of Python in the place of funcs; loops over rows that are written out.
STRUCTS, MIXED, RULES, CAPTURES, VIEWS, WRITES, ONCE, SMALL, FUNCTIONS, LAYERS = (
    "structs", "mixed types", "own derivatives", "redefinitions", "views", "writes", "launched once", "small",
    "plain functions", "layers",
)  # fmt: skip


def _fields(choosing: Choosing, sizes: tuple[int, int]) -> tuple[FieldSpec, ...]:
    n, m = sizes
    rng = np.random.default_rng(choosing.some(0, 9999))

    def floats(name: str, *shape: int, entry: tuple[int, ...] = (), needs_grad: bool = True) -> FieldSpec:
        start = np.array(np.round(rng.uniform(-1, 1, (*shape, *entry)), 2))
        return FieldSpec(name, shape, start, False, entry, needs_grad)

    def integers(name: str, *shape: int) -> FieldSpec:
        return FieldSpec(name, shape, np.array(rng.integers(0, 4, shape), np.int32), True)

    found = [floats("x", n), floats("y", n, needs_grad=choosing.chance(75)), integers("k", n)]
    found += [floats("u", m, n), floats("s"), integers("c")]
    if choosing.chance(50):
        found.append(floats("v", n, entry=(2,)))
    if choosing.chance(40):
        found.append(floats("m", n, entry=(2, 2)))
    return (*found, FieldSpec("loss", (), np.array(0.0)))


class Drawing(Choosing):
    """Draws one program, with what `has` says."""

    def __init__(self, random: Random, has: frozenset[str] = frozenset()) -> None:
        super().__init__(random)
        self.has = has
        self.sizes = self.pick(16, 24, 32) if self.chance(4) else self.pick(2, 3, 4), self.pick(2, 3)
        self.fields = _fields(self, self.sizes)
        self.rich = SMALL not in has and self.chance(30 if has else 70)
        self.features: tuple[Feature, ...] = ()
        self.heads: list[str] = []
        self.views: Views | None = None
        if has:
            self.more()
        self.writes = HostWrites(self, self.fields)

    def more(self) -> None:
        """What the program has beside what all have."""
        n, m = self.sizes
        rng = np.random.default_rng(self.some(0, 9999))
        *fields, loss = self.fields
        found = {RULES: Ruled(), STRUCTS: Structs(n), MIXED: Casts(), CAPTURES: Captured(), LAYERS: Layers()}
        self.features = tuple(found[name] for name in found if name in self.has)
        if MIXED in self.has:
            fields = [*casts.mixed(self, tuple(fields))]
        if STRUCTS in self.has:
            fields += structs.members(rng, n)
            self.heads.append(structs.head(self, n))
        if LAYERS in self.has:
            fields += layers.fields(rng, n)
        if CAPTURES in self.has:
            self.heads.append(captures.declared())
        if VIEWS in self.has:
            fields = [*as_arrays(self, tuple(fields)), *bases(rng, n, m)]
            self.views = Views(self, self.sizes, tuple(fields))
        if ONCE in self.has:
            fields = [f if f.integers else replace(f, needs_grad=True) for f in fields]
        self.fields = (*fields, loss)

    def program(self) -> Program:
        """The program."""
        kernels = [self.kernel(f"k{number}", self.rich and number == 0) for number in range(self.some(1, 2))]
        actions: list[Action] = [self.launch(k) for k in kernels]
        for _ in range(0 if ONCE in self.has else self.some(3, 9) if WRITES in self.has else self.some(0, 4)):
            actions.insert(self.some(0, len(actions)), self.action(kernels))
        if CAPTURES in self.has:
            for kernel in self.random.choices(kernels, k=self.some(1, 3)):
                actions += [captures.change(self, kernel.text()), self.launch(kernel)]
        if ONCE in self.has:
            kernels, actions = self.once(kernels, actions)
        measure = KernelSpec("measure", (), tuple(self.measures()))
        actions.append(Launch("measure", ()))
        if self.views:
            measure = self.views.measured(measure)
            actions[-1] = self.views.measure()
        if ONCE not in self.has and self.chance(10):  # the loss does not depend on all that runs
            actions.append(self.launch(self.pick(*kernels)))
        resets = captures.resets() if CAPTURES in self.has else ()
        bits = self.pick(32, 64) if MIXED in self.has else 64
        head, all = "\n\n\n".join(self.heads), (*kernels, measure)
        return Program(self.fields, self.funcs(), all, tuple(actions), head, resets, bits)

    def action(self, kernels: list[KernelSpec]) -> Action:
        """A launch, or what Python does between launches."""
        if not self.chance(60 if WRITES in self.has or CAPTURES in self.has else 40):
            return self.launch(self.pick(*kernels))
        if CAPTURES in self.has and self.chance(75):
            return captures.change(self, "\n".join(k.text() for k in kernels))
        if self.views and self.chance(60):
            return self.views.host_write()
        return self.writes.any() if WRITES in self.has else self.writes.simple()

    def once(self, kernels: list[KernelSpec], actions: list[Action]) -> tuple[list[KernelSpec], list[Action]]:
        """The launches that overwrite nothing that an earlier one names."""
        names = tuple(f.name for f in self.fields if f.name != "loss")
        first, *others = kernels
        seen = mentioned(names, first.text())
        kept = [k for k in others if not seen & written(names, k.text())]
        return [first, *kept], actions[: 1 + len(kept)]

    def funcs(self) -> tuple[str, ...]:
        """The funcs that kernels call."""
        if CAPTURES in self.has:
            numbers = [text for name in _NAMES for text in self.versions(name)]
        else:
            numbers = [*map(self.func, _NAMES)]
        found = [*numbers, *map(self.vector_func, _VECTORS)]
        if FUNCTIONS in self.has:
            # In Python's functions `p = v` is no copy, and `p` must not be changed then.
            texts = [text.removeprefix("@ti.func\n") for text in (found[0], self.function(), *found[2:])]
            found = [text.replace("    p = v\n", "    p = 1.0 * v\n") for text in texts]
        if RULES in self.has:
            found += rules.funcs(self)
        if STRUCTS in self.has:
            found.append(structs.func(self, self.sizes[0]))
        return tuple(found)

    def function(self) -> str:
        """A lambda."""
        writing, scope = Statements(self.random, (), (), _NAMES[:1]), Scope(floats=["a", "b"])
        return f"f1 = lambda a, b: {writing.bounded(scope)}"

    def versions(self, name: str) -> list[str]:
        """Two funcs, of which a name means the one or the other."""
        return [self.func(f"{name}_{end}", _NAMES[:1] if name == "f1" else ()) for end in "ab"]

    def func(self, name: str, funcs: tuple[str, ...] = ()) -> str:
        """A func of two numbers, with ways out."""
        writing, scope = Statements(self.random, (), (), funcs), Scope(floats=["a", "b"])
        writing.left, writing.answers = 3, True
        lines = [*writing.block(scope, 1), f"return {writing.bounded(scope)}"]
        return "\n".join(["@ti.func", f"def {name}(a, b):", *indented(lines)])

    def vector_func(self, name: str) -> str:
        """A func of a vector and a number that gives a vector."""
        writing, scope = Statements(self.random, (), ()), Scope(floats=["a"], vectors=["p"])
        writing.left = 2
        lines = ["p = v", *writing.block(scope, 1), f"return 0.7 * p + {writing.bounded(scope)}"]
        return "\n".join(["@ti.func", f"def {name}(v, a):", *indented(lines)])

    def kernel(self, name: str, rich: bool) -> KernelSpec:
        """A kernel of up to three blocks."""
        writing = self.writing(rich)
        scope, params = Scope(), []
        if writing.chance(30):
            params.append(("t", "ti.i32"))
            scope.integers.append("t")
            scope.below["t"] = self.sizes[1]
        if writing.chance(30):
            params.append(("g", "float"))
            scope.floats.append("g")
        blocks, together = [], False
        if writing.chance(20):
            together = True
            scope.mutable_floats += scope.floats
            blocks.append(BlockSpec(tuple(writing.local(scope, 0) + writing.integer_local(scope, 0))))
        count = 1 if SMALL in self.has else writing.pick(1, 2, 3)
        blocks += [self.block(writing, scope, rich and number == 0) for number in range(count)]
        kernel = KernelSpec(name, tuple(params), tuple(blocks), together)
        return self.views.taking(kernel) if self.views else kernel

    def writing(self, in_place: bool) -> Statements:
        """What writes a kernel's statements: in place, or from some fields to others."""
        usable = tuple(f for f in self.fields if f.name != "loss" and not f.is_array)
        if self.views:
            usable += self.views.specs() * 2
        if in_place or self.chance(20 if self.has & {ONCE, LAYERS} else 50):
            return self.limited(Statements(self.random, usable, usable, _NAMES, _VECTORS, self.features))
        targets = self.pick(("y", "s"), ("u", "v"), ("x", "k", "m"), ("s",), ("y", "c", "v"))
        if self.has & {STRUCTS, MIXED, VIEWS, LAYERS}:
            more = (
                ("b_q", "b_p", "h", "A0"),
                ("b_t_a", "b_t_c", "l", "h"),
                ("A0", "P0"),
                ("b_p", "b_n", "A1", "s"),
                ("w", "s"),
                ("r", "y"),
            )
            known = {f.name for f in usable}
            targets = self.pick(targets, *(t for t in more if known & {*t} - {"l", "b_n"}))
        written = tuple(f for f in usable if f.name in targets)
        sources = tuple(f for f in usable if f.name not in targets)
        return self.limited(Statements(self.random, sources, written, _NAMES, _VECTORS, self.features))

    def limited(self, writing: Statements) -> Statements:
        """What writes a kernel of a certain size."""
        writing.left = 4 if SMALL in self.has else writing.left
        return writing

    def block(self, writing: Statements, scope: Scope, rich: bool) -> BlockSpec:
        """One top-level loop, or serial statements."""
        if not rich and writing.chance(15):
            return BlockSpec(tuple(writing.statement(scope.inner(), writing.pick(1, 2))))
        head, inner = writing.outermost(scope, self.sizes)
        if LAYERS in self.has and not rich and len(head.names) == 1 and writing.chance(90):
            return layers.block(writing, head, inner)
        lines = writing.block(inner, 2, 0 if rich else 1)
        if rich:
            lines += writing.nest(inner) + writing.block(inner, 1, 0)
        if len(head.names) == 2 and writing.chance(15):
            split = [f"{name} = I[{axis}]" for axis, name in enumerate(head.names)]
            return BlockSpec(("for I in ti.grouped(u):", *indented([*split, *lines])))
        if len(head.names) == 1 and writing.chance(10):
            way = [f"if {writing.condition(scope)}:", f"    {writing.pick('break', 'continue', 'return')}"]
            return BlockSpec((head.text, *indented([*way, *lines])))
        return BlockSpec(tuple(lines), head)

    def launch(self, kernel: KernelSpec) -> Launch:
        """A launch, with arguments."""
        drawn = {"ti.i32": lambda: self.some(0, self.sizes[1] - 1), "float": lambda: self.some(-2, 3) * 0.25}
        launch = Launch(kernel.name, tuple(drawn[k]() for _, k in kernel.params if k in drawn))
        return self.views.launch(kernel, launch) if self.views else launch

    def measures(self):
        """What adds everything to the loss, so that nothing is without effect."""
        n, m = self.sizes
        for name, weight in (("x", 0.7), ("y", -0.4)):
            head = _head(("i",), (n,))
            yield BlockSpec((f"loss[None] += ({weight} + 0.2 * i) * {name}[i]",), head)
        head = _head(("i", "j"), (m, n))
        yield BlockSpec(("loss[None] += (0.3 * i - 0.1 * j + 0.2) * u[i, j] * u[i, j]",), head)
        if any(f.name == "v" for f in self.fields):
            head = _head(("i",), (n,))
            yield BlockSpec(("loss[None] += v[i][0] * 0.6 - (0.5 + i) * v[i][1]",), head)
        if any(f.name == "m" for f in self.fields):
            head = _head(("i",), (n,))
            line = (
                "loss[None] += 0.4 * m[i].determinant() + (0.3 - 0.2 * i) * m[i].trace() + 0.5 * m[i][0, 1]"
            )
            yield BlockSpec((line,), head)
        yield BlockSpec(("loss[None] += s[None] * 0.9",))
        yield from self.further_measures()

    def further_measures(self):
        """The same of fields that not all programs have."""
        head = _head(("i",), (self.sizes[0],))
        for f in self.fields:
            if f.name in ("h", "b_q", "b_t_a", "b_t_c"):
                yield BlockSpec((f"loss[None] += (0.5 - 0.3 * i) * {f.name}[i]",), head)
            if f.name in (layers.ROWS, layers.INPUTS):
                axes = "i, j" if f.name == layers.ROWS else "i"
                inner = _head(tuple(axes.split(", ")), f.shape)
                yield BlockSpec((f"loss[None] += (0.4 - 0.1 * i) * {f.name}[{axes}]",), inner)
            if f.name == "b_p":
                yield BlockSpec(("loss[None] += b[i].p[0] * 0.4 - (0.2 + i) * b[i].p[1] * b[i].q",), head)


def _head(names: tuple[str, ...], sizes: tuple[int, ...]) -> Head:
    """A plain loop."""
    space = f"range({sizes[0]})" if len(names) == 1 else f"ti.ndrange{sizes}"
    return Head(names, tuple((0, size) for size in sizes), f"for {', '.join(names)} in {space}:")


@st.composite
def programs(draw, has: frozenset[str] = frozenset()) -> Program:
    """Random programs with what `has` says, each one drawn anew.

    Made of Hypothesis's own choices they would be variations of one another, and `shrinking.py` knows what is
    smaller better than it does.
    """
    return Drawing(draw(st.randoms(use_true_random=True)), has).program()
