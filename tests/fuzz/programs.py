"""Random programs: fields and what they hold, funcs, kernels, launches, and writes by Python."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import strategies as st

from tests.fuzz.expressions import Choosing, Scope
from tests.fuzz.program import (
    Action,
    BlockSpec,
    FieldSpec,
    Head,
    HostWrite,
    KernelSpec,
    Launch,
    Program,
)
from tests.fuzz.statements import Statements, indented

_NAMES = ("f0", "f1")
_VECTORS = ("g0",)


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
    """Draws one program."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.sizes = self.pick(16, 24, 32) if self.chance(4) else self.pick(2, 3, 4), self.pick(2, 3)
        self.fields = _fields(self, self.sizes)
        self.rich = self.chance(70)

    def program(self) -> Program:
        """The program."""
        kernels = [self.kernel(f"k{number}", self.rich and number == 0) for number in range(self.some(1, 2))]
        actions: list[Action] = [self.launch(k) for k in kernels]
        for _ in range(self.some(0, 4)):
            action = self.host_write() if self.chance(40) else self.launch(self.pick(*kernels))
            actions.insert(self.some(0, len(actions)), action)
        measure = KernelSpec("measure", (), tuple(self.measures()))
        funcs = *map(self.func, _NAMES), *map(self.vector_func, _VECTORS)
        actions.append(Launch("measure", ()))
        if self.chance(10):  # the loss does not depend on all that runs
            actions.append(self.launch(self.pick(*kernels)))
        return Program(self.fields, funcs, (*kernels, measure), tuple(actions))

    def func(self, name: str) -> str:
        """A func of two numbers, with ways out."""
        writing, scope = Statements(self.random, (), ()), Scope(floats=["a", "b"])
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
        count = writing.pick(1, 2, 3)
        blocks += [self.block(writing, scope, rich and number == 0) for number in range(count)]
        return KernelSpec(name, tuple(params), tuple(blocks), together)

    def writing(self, in_place: bool) -> Statements:
        """What writes a kernel's statements: in place, or from some fields to others."""
        usable = tuple(f for f in self.fields if f.name != "loss")
        if in_place or self.chance(50):
            return Statements(self.random, usable, usable, _NAMES, _VECTORS)
        targets = self.pick(("y", "s"), ("u", "v"), ("x", "k", "m"), ("s",), ("y", "c", "v"))
        written = tuple(f for f in usable if f.name in targets)
        return Statements(
            self.random, tuple(f for f in usable if f not in written), written, _NAMES, _VECTORS
        )

    def block(self, writing: Statements, scope: Scope, rich: bool) -> BlockSpec:
        """One top-level loop, or serial statements."""
        if not rich and writing.chance(15):
            return BlockSpec(tuple(writing.statement(scope.inner(), writing.pick(1, 2))))
        head, inner = writing.outermost(scope, self.sizes)
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
        return Launch(kernel.name, tuple(drawn[kind]() for _, kind in kernel.params))

    def host_write(self) -> Action:
        """Python writes an element or a whole field."""
        which = self.pick(*(f for f in self.fields if f.name not in ("v", "m", "loss")))
        value = self.some(0, 3) if which.integers else self.some(-3, 4) * 0.25
        at = ", ".join(str(self.some(0, n - 1)) for n in which.shape) or "None"
        kind = self.pick("put", "put", "fill", "array", "copy")
        if kind == "copy" and which.name in ("x", "y"):
            return HostWrite(which.name, "{0}.copy_from({1})", ("y" if which.name == "x" else "x",))
        if kind == "array":
            values = [
                self.some(0, 3) if which.integers else self.some(-3, 4) * 0.25
                for _ in range(which.start.size)
            ]
            dtype = ", dtype=np.int32" if which.integers else ""
            array = np.array(values).reshape(which.start.shape).tolist()
            return HostWrite(which.name, "{0}.from_numpy(np.array(" + f"{array}{dtype}))")
        if kind == "fill":
            return HostWrite(which.name, "{0}.fill(" + f"{value})")
        return HostWrite(which.name, "{0}[" + f"{at}] = {value}")

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


def _head(names: tuple[str, ...], sizes: tuple[int, ...]) -> Head:
    """A plain loop."""
    space = f"range({sizes[0]})" if len(names) == 1 else f"ti.ndrange{sizes}"
    return Head(names, tuple((0, size) for size in sizes), f"for {', '.join(names)} in {space}:")


@st.composite
def programs(draw) -> Program:
    """Random programs, each one drawn anew.

    Made of Hypothesis's own choices they would be variations of one another, and `shrinking.py` knows what is
    smaller better than it does.
    """
    return Drawing(draw(st.randoms(use_true_random=True))).program()
