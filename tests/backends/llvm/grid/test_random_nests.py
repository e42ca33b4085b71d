"""Random loops in loops in grid form equal the processor's own form."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from dsim.analysis.bounds import bounds
from dsim.ir.nodes import KernelIR
from dsim.ir.term import Term
from dsim.ir.types import i32
from dsim.passes.parallelization import parallel
from dsim.passes.simplify import finish, simplify
from tests.backends.llvm.grid.corpus import forms
from tests.backends.llvm.grid.launching import GRIDS, REAL, Buffers, alone, launched
from tests.building import Building, Loop

pytestmark = pytest.mark.usefixtures("quick_code")

BINS = 5
ACTIONS = ("store", "sum", "greatest", "neighbours", "bins", "row", "integers")
FOUND: Counter[str] = Counter()


class Nest:
    """A kernel of two to four loops in each other, with a few actions in the innermost."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.k = k = Building()
        depth = int(self.random.integers(2, 5))
        self.shape = tuple(int(n) for n in self.random.integers(1, 7, depth))
        self.lengths = [k.param(f"n{axis}", i32) for axis in range(depth)]
        self.x, self.y = k.field("x", *self.shape), k.field("y", *self.shape)
        self.at = k.field("at", *self.shape, type=i32)
        self.a, self.rows = k.field("a", self.shape[0]), k.field("rows", *self.shape[:-1])
        self.g = k.field("g", *(n + 2 for n in self.shape))
        self.h, self.m = k.field("h", BINS), k.field("m", BINS, type=i32)
        self.s, self.top = k.field("s"), k.field("top")
        self.actions = self.random.choice(ACTIONS, int(self.random.integers(1, 5)), replace=False)
        self.carries = self.chance(0.4)
        self.results: list[Term] = []

    def chance(self, p: float) -> bool:
        return bool(self.random.random() < p)

    def kernel(self) -> KernelIR:
        self.loops((), self.k.term(self.k.value(1.0)), None)
        kernel = self.k.kernel(*self.results)
        return finish(parallel(simplify(kernel)))

    def data(self) -> Buffers:
        """Whole numbers: sums of them are exact in any order."""
        k, data = self, {}
        for m in (k.x, k.y, k.at, k.a, k.rows, k.g, k.h, k.m, k.s, k.top):
            high = BINS if m is k.at else 9
            data[m.name] = self.random.integers(0, high, m.shape).astype(m.type.numpy)
        return {name: np.asarray(a) for name, a in data.items()}

    def arguments(self) -> tuple[int, ...]:
        return tuple(int(self.random.integers(0, n + 1)) for n in self.shape)

    def loops(self, index: tuple[Term, ...], v: Term, around: Loop | None) -> None:
        k, axis = self.k, len(index)
        if axis == len(self.shape):
            assert around is not None
            self.innermost(index, v, around)
            return
        length = self.lengths[axis] if self.chance(0.3) else self.shape[axis]
        outer = around if self.carries and self.chance(0.7) else None  # whose sum the loop goes on with
        begins = {"c": outer.c if outer is not None else 0.0} if self.carries else {}
        first, last, step = (0, length, 1)
        if not isinstance(length, Term) and self.chance(0.3):
            first, last, step = length - 1, -1, -int(self.random.integers(1, 3))
        with k.loop("i", first, last, step=step, **begins) as loop:
            here = (*index, loop.i)
            if axis + 1 < len(self.shape) and self.chance(0.4):
                v = v * k.load(self.a, here[0])
            self.loops(here, v, loop)
        if self.carries and around is not None:
            around.then(c=loop.out("c") if outer is not None else around.c + loop.out("c"))
        elif self.carries:
            self.results.append(loop.out("c"))

    def innermost(self, index: tuple[Term, ...], v: Term, around: Loop) -> None:
        k = self.k
        value = v * k.load(self.x, *index)
        for action in self.actions:
            match action:
                case "store":
                    k.store(self.y, *index, value + 1.0)
                case "sum":
                    k.accumulate(self.s, value)
                case "greatest":
                    k.accumulate(self.top, value, op="max")
                case "neighbours":
                    axis = int(self.random.integers(len(index)))
                    for o in range(3):
                        k.accumulate(self.g, *(i + o if a == axis else i for a, i in enumerate(index)), value)
                case "bins":
                    k.accumulate(self.h, k.load(self.at, *index), value)
                case "row":
                    k.accumulate(self.rows, *index[:-1], value)
                case _:
                    k.branch(value > 3.0, lambda: k.accumulate(self.m, k.load(self.at, *index), 1))
        if self.carries:
            around.then(c=around.c + value)


def agree(seed: int) -> None:
    nest = Nest(seed)
    kernel, data, arguments = nest.kernel(), nest.data(), nest.arguments()
    grid = (*GRIDS, REAL)[seed % 3]
    wanted = alone(kernel, data, *arguments)
    for options in ({}, {"bounds": bounds(kernel)}, {"deterministic": True}):
        found = launched(kernel, data, *arguments, grid=grid, **options)
        FOUND.update(forms(found.modules))
        assert found.returned == wanted.returned
        for name, array in wanted.arrays.items():
            np.testing.assert_array_equal(found.arrays[name], array, err_msg=f"{name}, {options}")


@pytest.mark.parametrize("seed", range(24))
def test_a_random_nest(seed: int) -> None:
    agree(seed)


def test_they_have_every_form() -> None:
    if not FOUND:  # run by itself
        for seed in range(24):
            agree(seed)
    assert {"nests of several loops", "copies in shared memory", "atomic additions", "sums"} <= set(FOUND)
