"""A kernel before and after a pass: what both compute, by the reference backend and as machine code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.reference.source import run
from dsim.ir.check import check
from dsim.ir.nodes import KernelIR
from dsim.passes.parallelization import parallel
from dsim.passes.simplify import finish, simplify


def agree(kernel: KernelIR, change: Callable[[KernelIR], KernelIR], *args: object) -> KernelIR:
    """`kernel` after the pass `change`; compared are whole numbers, so sums are exact."""
    kernel = parallel(simplify(kernel))
    after = change(kernel)
    check(after)
    rng = np.random.default_rng(3)
    start = {m.key: rng.integers(-4, 5, m.shape).astype(m.type.numpy) for m in kernel.memories}
    wanted, got, compiled = ({key: a.copy() for key, a in start.items()} for _ in range(3))
    run(kernel, wanted, args)
    run(after, got, args)
    compile_kernel(finish(kernel)).bind(compiled)(*args)
    for key, values in wanted.items():
        np.testing.assert_array_equal(got[key], values)
        np.testing.assert_array_equal(compiled[key], values)
    return after
