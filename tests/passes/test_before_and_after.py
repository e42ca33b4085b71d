"""One small program after each pass, as readable text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dsim.autodiff import reverse
from dsim.ir.check import check
from dsim.ir.nodes import KernelIR
from dsim.ir.show import show
from dsim.ir.types import f32, i32
from dsim.passes.common_subexpression_elimination import eliminate_common_subexpressions
from dsim.passes.constant_folding import fold_constants
from dsim.passes.dead_code_elimination import eliminate_dead_code
from dsim.passes.loop_invariant_code_motion import move_loop_invariants
from dsim.passes.parallelization import parallel
from dsim.passes.reduction_promotion import promote_reductions
from dsim.passes.simplify import finish, simplify
from tests.building import Building


def springs() -> KernelIR:
    """The energy of springs between the points that an integer field names, over several steps."""
    k = Building("springs", f32)
    x, ends, U = k.field("x", 9, 2, entries=1), k.field("ends", 12, 2, type=i32, entries=1), k.field("U")
    stiffness = k.param("stiffness")
    with k.loop("s", 0, 12) as s, k.loop("t", 0, 3, unused=1.0, trip=0) as t:
        a, b = k.load(ends, s.i, 0, hint="a"), k.load(ends, s.i, 1, hint="b")
        r = [k.load(x, a, c) - k.load(x, b, c) for c in (0, 1)]
        length = (r[0] * r[0] + r[1] * r[1]).op("sqrt0")
        stretch = (length - 1.0).op("max", 0.0)
        k.accumulate(U, stiffness * 0.5 * (stretch * stretch))
        k.branch(t.trip > 1, lambda: k.accumulate(U, stiffness * 0.5))
        t.then(unused=t.unused * 2.0, trip=t.trip + 1)
    return k.kernel()


def adjoint_of_springs() -> KernelIR:
    return reverse(springs(), frozenset({("x", ()), ("U", ())})).kernel


@pytest.mark.parametrize(
    "one",
    [
        eliminate_dead_code,
        fold_constants,
        eliminate_common_subexpressions,
        move_loop_invariants,
        promote_reductions,
        parallel,
        simplify,
        finish,
    ],
)
def test_springs(one: Callable[[KernelIR], KernelIR], golden) -> None:
    after = one(springs())
    check(after)
    golden(show(after), one.__name__)


@pytest.mark.parametrize(
    "one",
    [
        fold_constants,
        eliminate_common_subexpressions,
        move_loop_invariants,
        promote_reductions,
        simplify,
        finish,
    ],
)
def test_adjoint_of_springs(one: Callable[[KernelIR], KernelIR], golden) -> None:
    after = one(adjoint_of_springs())
    check(after)
    golden(show(after), one.__name__)


def test_the_programs_themselves(golden) -> None:
    golden(show(springs()), "springs")
    golden(show(adjoint_of_springs()), "adjoint")
