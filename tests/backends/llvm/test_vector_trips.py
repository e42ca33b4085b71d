"""How many iterations of a loop one trip of its vectorised form runs; LLVM may unroll that further."""

from __future__ import annotations

import re

import numpy as np

from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.reference.source import run
from dsim.ir.nodes import KernelIR
from dsim.ir.types import f32, i32
from dsim.passes.parallelization import parallel
from tests.building import Building


def widths(kernel: KernelIR, *args: int) -> tuple[set[int], set[int]]:
    """Runs `kernel` both ways on equal buffers; lengths of its vectors, steps of its vector loops."""
    kernel = parallel(kernel)
    start = {m.key: np.linspace(0.1, 0.9, m.shape[0]).astype(m.type.numpy) for m in kernel.memories}
    wanted, arrays = ({key: a.copy() for key, a in start.items()} for _ in range(2))
    run(kernel, wanted, args)
    code = compile_kernel(kernel, threads=1)
    code.bind(arrays)(*args)
    for key, a in arrays.items():
        np.testing.assert_allclose(a, wanted[key], rtol=1e-5, atol=1e-6, err_msg=str(key))
    text = code.llvm
    lanes = {int(n) for n in re.findall(r"load <(\d+) x float>", text)}
    return lanes, {
        int(n) for n in re.findall(r"%index\.next[\w.]* = add (?:\w+ )*i64 %index[\w.]*, (\d+)", text)
    }


def test_a_stencil_leaves_less_than_a_vector_of_each_row_to_scalar_code() -> None:
    k = Building(float_type=f32)
    x, y, end = k.field("x", 400), k.field("y", 400), k.param("end", i32)
    with k.loop("i", 1, end) as loop:
        k.store(y, loop.i, k.load(x, loop.i - 1) + k.load(x, loop.i + 1) - 2.0 * k.load(x, loop.i))
    lanes, steps = widths(k.kernel(), 399)
    assert lanes
    assert steps == lanes


def test_a_sum_has_several_vectors_under_way() -> None:
    """Each addition waits for the one before in its vector."""
    k = Building(float_type=f32)
    x, y = k.field("x", 4000), k.field("y", 4000)
    with k.loop("i", 0, 4000, total=k.load(y, 0)) as loop:
        loop.then(total=loop.total + k.load(x, loop.i))
    k.store(y, 0, loop.out("total"))
    lanes, steps = widths(k.kernel())
    assert lanes
    assert min(steps) > max(lanes)
