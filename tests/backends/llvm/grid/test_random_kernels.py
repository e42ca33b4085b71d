"""Random kernels in grid form equal the readable Python, faults included."""

from functools import partial

import numpy as np
import pytest

from dsim.analysis.bounds import bounds
from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.reference.source import run
from dsim.passes.parallelization import parallel
from dsim.passes.simplify import simplify
from tests.backends.llvm.grid.launching import GRIDS, REAL
from tests.backends.llvm.grid.on_cpu import Grid, grid_form
from tests.backends.llvm.test_random_kernels import Maker, outcome

pytestmark = pytest.mark.usefixtures("quick_code")

ARGUMENTS = (0.75, 0.5, 4)


@pytest.mark.parametrize("seed", range(100, 124))
def test_a_random_kernel(seed: int) -> None:
    agree(seed, (*GRIDS, REAL)[seed % 3])


def agree(seed: int, grid: Grid) -> None:
    kernel = parallel(simplify(Maker(seed).kernel()))
    expected, fault, wanted = outcome(partial(run, kernel, args=ARGUMENTS), kernel, seed)
    with grid_form(grid):
        compiled = compile_kernel(kernel, bounds(kernel))
        returned, found, arrays = outcome(lambda a: compiled.bind(a)(*ARGUMENTS), kernel, seed)
    assert bool(found) == bool(fault)  # which of several faults comes first depends on the threads
    close = {"rtol": 1e-4, "atol": 1e-4}
    np.testing.assert_allclose(np.array(returned, float), np.array(expected, float), **close)
    for key, a in arrays.items() if not fault else ():
        np.testing.assert_allclose(a, wanted[key], err_msg=str(key), **close)
