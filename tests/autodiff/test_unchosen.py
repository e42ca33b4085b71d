"""Random expressions at poles that a `select` does not choose: no adjoint becomes NaN."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dsim.analysis.poles import unchosen
from dsim.autodiff import forward, reverse
from dsim.backends.reference.source import run
from dsim.ir.build import Builder, const, index
from dsim.ir.check import check
from dsim.ir.nodes import Atom, Block, For, KernelIR, Load, Memory, Store
from dsim.ir.primitives import TABLE
from dsim.ir.sites import number
from dsim.ir.types import f64, i32

X, Y = Memory("x", f64, (4,)), Memory("y", f64, ())
ACTIVE = frozenset({X.key, Y.key})
X_BAR, Y_BAR, X_DOT, Y_DOT = [(m, (d,)) for d in ("bar", "dot") for m in ("x", "y")]
# sqrt0 is for sums of squares alone.
ONE = sorted(n for n, row in TABLE.items() if row.signature == "T->T" and "F" in row.over and n != "sqrt0")
TWO = sorted(n for n, row in TABLE.items() if row.signature == "TT->T" and "F" in row.over)

# Where a pole behind another one makes the adjoint of an adjoint infinite, and that meets a partial of 0.
BEHIND_ANOTHER = {11, 44}


def expression(b: Builder, rng: random.Random, known: list[Atom], count: int) -> Atom:
    """A value computed by `count` primitives from those in `known`."""
    known = list(known)
    for _ in range(count):
        if rng.random() < 0.15:
            known.append(b.let("powi", rng.choice(known), const(rng.choice((-2, -1, 2, 3)), i32)))
        elif rng.random() < 0.5:
            known.append(b.let(rng.choice(ONE), rng.choice(known)))
        else:
            known.append(b.let(rng.choice(TWO), rng.choice(known), rng.choice(known)))
    return known[-1]


def kernel(seed: int) -> KernelIR:
    """``y = select(x[3] > 5, some expression, x[3] * x[3])``, some of it carried through a loop."""
    rng, b = random.Random(seed), Builder()
    for m in (X, Y):
        b.names.fresh(m.name)
    given = []
    for i in range(4):
        given.append(b.fresh(f"x{i}", f64))
        b.add(Load(given[-1], X, (index(i),)))
    wild = expression(b, rng, given, 6)
    if rng.random() < 0.5:
        carried, i, result = b.fresh("c", f64), b.fresh("i", i32), b.fresh("r", f64)
        with b.block() as inner:
            following = expression(b, rng, [*given, wild, carried], 3)
        b.add(
            For(
                i,
                index(0),
                index(2),
                1,
                Block(tuple(inner), (following,)),
                (carried,),
                (given[0],),
                (result,),
            )
        )
        wild = expression(b, rng, [*given, wild, result], 2)
    chosen = b.let("gt", given[3], const(5.0, f64))
    b.add(Store(Y, (), b.let("select", chosen, wild, b.let("mul", given[3], given[3]))))
    return number(KernelIR("unchosen", (), (X, Y), b.close()))


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_not_chosen_has_no_gradient(seed: int) -> None:
    made = kernel(seed)
    check(made)
    rng = np.random.default_rng(seed)
    x = np.array([*rng.choice([0.0, -1.0, 1.0, 2.0, 1e3, -1e3], 3), rng.choice([0.0, 1.0, -1.0])])
    right = np.array([0.0, 0.0, 0.0, 2 * x[3]])
    adjoint, tangent = reverse(made, ACTIVE).kernel, forward(made, ACTIVE)
    check(adjoint)
    buffers = {X.key: x.copy(), Y.key: np.array(x[3] ** 2), X_BAR: np.zeros(4), Y_BAR: np.array(1.0)}
    run(adjoint, buffers, ())
    np.testing.assert_array_equal(buffers[X_BAR], right)
    for n in range(4):
        buffers = {X.key: x.copy(), Y.key: np.array(0.0), X_DOT: np.eye(4)[n], Y_DOT: np.array(0.0)}
        run(tangent, buffers, ())
        assert buffers[Y_DOT] == right[n]


@pytest.mark.parametrize("seed", sorted({*range(150)} - BEHIND_ANOTHER))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nor_has_its_adjoint(seed: int) -> None:
    """Reverse over reverse: the adjoints of what an adjoint multiplies by an adjoint that is 0."""
    rng = np.random.default_rng(seed)
    x = np.array([*rng.choice([0.0, -1.0, 1.0, 2.0, 1e3, -1e3], 3), rng.choice([0.0, 1.0, -1.0])])
    adjoint = number(reverse(kernel(seed), ACTIVE).kernel)
    second = reverse(adjoint, ACTIVE | {X_BAR, Y_BAR}, "bar2").kernel
    check(second)
    buffers = {m.key: np.zeros(m.shape) for m in second.memories}
    buffers |= {X.key: x.copy(), X_BAR: np.array([0.0, 0.0, 0.0, 2 * x[3]])}
    buffers[("x", ("bar", "bar2"))] = rng.normal(size=4)
    run(second, buffers, ())
    np.testing.assert_array_equal(buffers[("x", ("bar2",))][:3], 0.0)


def test_the_expressions_have_poles() -> None:
    assert sum(bool(unchosen(kernel(seed).body)) for seed in range(150)) > 70
