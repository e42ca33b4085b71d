"""How many iterations of a loop one trip of its vectorised form runs; LLVM may unroll that further."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.reference.source import run
from dsim.ir.nodes import KernelIR
from dsim.ir.term import Term
from dsim.ir.types import f32, i32
from dsim.passes.parallelization import parallel
from tests.building import Building


def widths(kernel: KernelIR, *args: int, threads: int = 1) -> tuple[set[int], set[int]]:
    """Runs `kernel` both ways on equal buffers; lengths of its vectors, steps of its vector loops."""
    kernel = parallel(kernel)
    start = {m.key: np.linspace(0.1, 0.9, m.shape[0]).astype(m.type.numpy) for m in kernel.memories}
    wanted, arrays = ({key: a.copy() for key, a in start.items()} for _ in range(2))
    run(kernel, wanted, args)
    code = compile_kernel(kernel, threads=threads)
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


def stores(trips: int | None) -> int:
    """How many stores there are in the code of a loop whose iterations add where integers say."""
    k = Building(float_type=f32)
    x, y, at = k.field("x", 40), k.field("y", 40), k.field("at", 40, type=i32)
    with k.loop("i", 0, k.param("end", i32) if trips is None else trips) as loop:
        k.store(y, k.load(at, loop.i), k.load(y, k.load(at, loop.i)) + k.load(x, loop.i))
    text = compile_kernel(parallel(k.kernel()), threads=1).llvm
    return len(re.findall(r"store (?:<\d+ x )?float", text))


def test_code_of_a_loop_is_repeated_only_where_no_loop_is_left() -> None:
    assert stores(None) == stores(1000) == 1
    assert stores(3) == 3


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


@pytest.mark.parametrize("outer", [0, 2])
@pytest.mark.parametrize(("trips", "most"), [(3, 0), (7, 4), (15, 8)])
def test_vectors_are_no_longer_than_the_longest_loop(trips: int, most: int, outer: int) -> None:
    k = Building(float_type=f32)
    x, y = k.field("x", 40), k.field("y", 40)

    def row(at: Term | int) -> None:
        with k.loop("i", 0, trips) as loop:
            k.store(y, loop.i + at, k.load(x, loop.i + at) / (1.0 + k.load(x, loop.i + at)))

    if outer:
        with k.loop("j", 0, outer) as rows:
            row(rows.i)
    else:
        row(0)
    lanes, _ = widths(k.kernel(), threads=2)
    assert max(lanes, default=0) <= most
    assert lanes or not most or outer


def test_a_loop_inside_a_short_one_has_the_longest_vectors() -> None:
    def longest(end: int | None) -> int:
        k = Building(float_type=f32)
        x, y = k.field("x", 40), k.field("y", 40)
        n = k.param("n", i32) if end is None else end
        with k.loop("i", 0, 5) as rows:
            with k.loop("j", 0, n, total=k.load(x, rows.i)) as loop:
                loop.then(total=loop.total + k.load(x, loop.i))
            k.store(y, rows.i, loop.out("total"))
        return max(widths(k.kernel(), *([33] if end is None else []), threads=2)[0], default=0)

    assert longest(None) == longest(33) > 4 >= longest(7)
