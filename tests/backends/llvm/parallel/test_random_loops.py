"""Random parallel loops that add to, set and read elements of one memory give on threads what one gives.

Numbers are whole, so sums are exact in any order.
"""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from dsim.analysis.write_plans import write_plan
from dsim.backends.cpu.machine import compile_kernel
from dsim.ir.nodes import For, KernelIR, MemoryKey
from dsim.ir.term import Term
from dsim.passes.parallelization import parallel
from dsim.passes.simplify import simplify
from tests.building import Building

N = 300
Buffers = dict[MemoryKey, np.ndarray]


class Random:
    """A loop whose iterations share some elements, and have others of their own."""

    def __init__(self, seed: int) -> None:
        self.random, self.k = random.Random(seed), Building()
        self.x, self.y, self.z = (self.k.field(name, 3 * N) for name in "xyz")
        with self.k.loop("i", 0, N) as loop, self.k.loop("t", 0, 60) as again:  # long enough for two threads
            for _ in range(self.random.randrange(3, 7)):
                self.statement(loop.i, again.i)

    def shared(self, i: Term, t: Term) -> Term:
        return self.random.choice((i.op("mod", 2), t.op("mod", 3), i.op("mod", 3) + 1))

    def own(self, i: Term) -> Term:
        return i + self.random.choice((N, 2 * N))

    def statement(self, i: Term, t: Term) -> None:
        k, kind = self.k, self.random.randrange(6)
        if kind < 2:
            k.accumulate(self.y, self.shared(i, t), k.load(self.x, i))
        elif kind == 2:
            k.accumulate(self.y, self.own(i), 1.0)
        elif kind == 3:
            k.store(self.z, self.own(i), k.load(self.y, self.own(i)))
        elif kind == 4:
            k.store(self.y, self.own(i), k.load(self.x, i))
        else:
            k.store(self.z, self.own(i), k.swap_in(self.y, self.own(i), 2.0))


def launched(kernel: KernelIR, threads: int) -> Buffers:
    rng = np.random.default_rng(3)
    arrays = {m.key: rng.integers(-4, 5, m.shape).astype(float) for m in kernel.memories}
    compile_kernel(kernel, threads=threads).bind(arrays)()
    return arrays


@pytest.mark.slow
def test_random_loops() -> None:
    plans: Counter[str] = Counter()
    for seed in range(80):
        kernel = parallel(simplify(Random(seed).k.kernel()))
        (loop,) = kernel.body.statements
        assert isinstance(loop, For)
        assert loop.parallel
        plans.update(plan.kind for plan in write_plan(kernel, loop).values())
        alone = launched(kernel, 1)
        for threads in (2, 16):
            for key, values in launched(kernel, threads).items():
                np.testing.assert_array_equal(values, alone[key], err_msg=f"seed {seed}: {key}")
    assert min(plans[kind] for kind in ("plain", "private", "atomic")) > 10
