"""Every pass, and all of them in sequence, preserve a kernel's results."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.backends.reference.source import run
from dsim.ir.check import check
from dsim.ir.nodes import KernelIR
from dsim.passes.common_subexpression_elimination import eliminate_common_subexpressions
from dsim.passes.constant_folding import fold_constants
from dsim.passes.dead_code_elimination import eliminate_dead_code
from dsim.passes.loop_invariant_code_motion import move_loop_invariants
from dsim.passes.reduction_promotion import promote_reductions
from dsim.passes.scalar_promotion import promote_scalars
from dsim.passes.simplify import finish, simplify
from tests.passes.random_programs import Program

EACH = (
    fold_constants,
    eliminate_common_subexpressions,
    eliminate_dead_code,
    move_loop_invariants,
    promote_reductions,
    simplify,
    finish,
)


def carried(kernel: KernelIR) -> KernelIR:
    return promote_scalars(kernel, {m.key for m in kernel.memories})


def outcome(program: Program, kernel: KernelIR) -> list[np.ndarray]:
    buffers = program.buffers()
    returned = run(kernel, buffers, program.arguments)
    return [*map(np.asarray, returned), *buffers.values()]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(120))
def test_results_stay(seed: int) -> None:
    program = Program(seed)
    expected = outcome(program, program.kernel)
    for one in (*EACH, carried):
        after = one(program.kernel)
        check(after)
        for a, b in zip(expected, outcome(program, after), strict=True):
            np.testing.assert_array_equal(a, b, one.__name__)


@pytest.mark.parametrize("seed", range(120, 160))
def test_a_second_time_changes_no_result(seed: int) -> None:
    program = Program(seed)
    expected = outcome(program, program.kernel)
    twice = simplify(simplify(program.kernel))
    check(twice)
    for a, b in zip(expected, outcome(program, twice), strict=True):
        np.testing.assert_array_equal(a, b)
