"""Passes keep the numbers of adjoints, of tangents of adjoints, and of adjoints of optimized kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dsim.autodiff import forward, reverse
from dsim.backends.reference.source import run
from dsim.ir.check import check
from dsim.ir.nodes import KernelIR, MemoryKey
from dsim.passes.parallelization import parallel
from dsim.passes.simplify import simplify
from tests.autodiff.random_kernels import Generator, X, Y

ACTIVE = frozenset({X.key, Y.key})


def outcome(kernel: KernelIR, seed: int, like: KernelIR) -> dict[MemoryKey, np.ndarray]:
    """Its buffers after a run, random at first; those of `like` too."""
    rng = np.random.default_rng(seed)
    buffers = {}
    for m in like.memories:
        integers = rng.integers(0, 4, m.shape).astype(m.type.numpy)
        buffers[m.key] = rng.normal(size=m.shape) if m.type.is_float else integers
    run(replace(kernel, memories=like.memories), buffers)
    return buffers


@pytest.mark.parametrize("seed", range(15))
def test_the_numbers_stay(seed: int) -> None:
    primal = Generator(seed).kernel()
    adjoint = reverse(primal, ACTIVE).kernel
    again = reverse(parallel(simplify(primal)), ACTIVE).kernel
    floats = frozenset(m.key for m in adjoint.memories if m.type.is_float)
    second = forward(adjoint, floats)
    for before, after in ((adjoint, adjoint), (adjoint, again), (second, second)):
        simple = parallel(simplify(after))
        check(simple)
        assert {m.key for m in simple.memories} <= {m.key for m in before.memories}
        expected, got = (outcome(each, seed, before) for each in (before, simple))
        for key in expected:
            np.testing.assert_allclose(got[key], expected[key], rtol=1e-9, atol=1e-11)
