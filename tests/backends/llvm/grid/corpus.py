"""The programs of the corpus in grid form: their values and derivatives are those of the processor's form.

What is right in that form, `tests/corpus` checks. `python -m tests.backends.llvm.grid` runs all of them.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable

import numpy as np

from dsim.backends.llvm.grid.module import GridModule
from tests.backends.llvm.grid.on_cpu import Grid, grid_form
from tests.corpus import matrix, test_second_order
from tests.corpus.matrix import Outcome, Trial

GRIDS = (Grid(2, 2), Grid(4, 8))
_CLOSE = {"f32": 1e-4, "f64": 1e-11}

# What a module may contain, and a piece of text that says so.
FORMS = {
    "sums": "_fold(",
    "nests of several loops": " sub nuw nsw i64 ",
    "copies in shared memory": "_flush(",
    "atomic additions": "= atomicrmw ",
    "compare and exchange": "@dsim_atomic_",
    "buffers of several tasks": "@dsim_claim(",
    "buffers from the pool": "@dsim_alloc(",
    "undo logs": "@dsim_grow(",
    "compacted undo logs": "call i1 @dsim_compact",
    "checks": "@dsim_record_1_",
    "random numbers": "@dsim_random_bits(",
    "functions of the C library": "@dsim_math_",
    "exact remainders": "@dsim_math_fmod_",
}


def forms(modules: Iterable[GridModule]) -> Counter[str]:
    """How many modules have each of `FORMS`, and kernels of each kind."""
    found: Counter[str] = Counter()
    for module in modules:
        found.update(name for name, piece in FORMS.items() if piece in module.text)
        found.update(f"{k.kind} kernels" for k in module.kernels)
        found.update("loops on one thread: " + a.reason for a in module.alone)
        found["modules"] += 1
    return found


def check(name: str, real: str, grid: Grid) -> list[GridModule]:
    """Raises an `AssertionError` when a program gives something else in grid form; what ran."""
    wanted = _in_own_form(name, real)
    with grid_form(grid) as modules:
        found = Trial(name, real).outcome()
    for column in Outcome.__annotations__:
        right = getattr(wanted, column)
        size = max(1.0, float(np.abs(right).max(initial=0.0)))
        np.testing.assert_allclose(
            getattr(found, column), right, rtol=0, atol=_CLOSE[real] * size, err_msg=column
        )
    return modules


@functools.lru_cache(maxsize=2)
def _in_own_form(name: str, real: str) -> Outcome:
    return Trial(name, real).outcome()


def check_second_derivatives(name: str, grid: Grid) -> list[GridModule]:
    """The same of the second derivatives, beside differences of the gradient."""
    matrix._last.cache_clear()
    try:
        with grid_form(grid) as modules:
            test_second_order.test_second_derivatives(name)
    finally:
        matrix._last.cache_clear()
    return modules
