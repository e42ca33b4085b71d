"""Long chains of arithmetic are cut where LLVM may vectorise the loop, and there only."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.reference.source import run
from dsim.ir.nodes import KernelIR
from dsim.ir.types import f32
from dsim.passes.parallelization import parallel
from tests.building import Building


def freezes(kernel: KernelIR) -> int:
    """Runs `kernel` both ways on equal buffers; the number of cuts in its vectorised code."""
    kernel = parallel(kernel)
    start = {m.key: np.linspace(0.1, 0.9, m.shape[0]).astype(m.type.numpy) for m in kernel.memories}
    wanted, arrays = ({key: a.copy() for key, a in start.items()} for _ in range(2))
    run(kernel, wanted, ())
    code = compile_kernel(kernel, threads=1)
    code.bind(arrays)()
    for key, a in arrays.items():
        np.testing.assert_allclose(a, wanted[key], rtol=1e-5, atol=1e-6, err_msg=str(key))
    text = code.llvm
    assert "x float>" in text
    return text.count("freeze <")


def longer(value, x, terms: int):
    for n in range(terms):
        value = value * (0.5 + n % 7 / 16) + x * 0.25
    return value


@pytest.mark.parametrize(("terms", "cut"), [(20, False), (120, True)])
def test_only_in_long_loops(terms: int, cut: bool) -> None:
    k = Building(float_type=f32)
    x, y = k.field("x", 40), k.field("y", 40)
    with k.loop("i", 0, 40) as loop:
        value = k.load(x, loop.i)
        k.store(y, loop.i, longer(value, value, terms))
    assert (freezes(k.kernel()) > 0) == cut


def test_a_sum_over_the_trips_is_not_cut_and_stays_a_sum_in_vectors() -> None:
    k = Building(float_type=f32)
    x, y = k.field("x", 400), k.field("y", 400)
    with k.loop("i", 0, 400, total=k.load(y, 0)) as loop:
        value, total = k.load(x, loop.i), loop.total
        for _ in range(120):
            value = value * 0.5 + 0.125
            total = total + value
        loop.then(total=total)
    k.store(y, 0, loop.out("total"))
    freezes(k.kernel())


def test_not_in_loops_that_scatter() -> None:
    k = Building(float_type=f32)
    x, y, z = k.field("x", 40), k.field("y", 40), k.field("z", 99)
    with k.loop("i", 0, 40) as loop:
        value = longer(k.load(x, loop.i), k.load(y, loop.i), 120)
        k.accumulate(z, loop.i * 2, value)
        k.accumulate(z, loop.i * 2 + 1, value)
    kernel = parallel(k.kernel())
    assert "freeze" not in compile_kernel(kernel, threads=1).llvm
