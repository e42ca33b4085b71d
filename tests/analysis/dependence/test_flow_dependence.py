"""Flow dependences of needed reads: in the same trip, or carried by which loops."""

from __future__ import annotations

from dataclasses import replace

from dsim.analysis.dependence.flow_dependence import flow_dependences
from dsim.ir.nodes import Block, For, KernelIR, Statement
from dsim.ir.types import i32
from dsim.ir.walk import with_blocks
from tests.analysis.kernels import Program


def fed(kernel: Program | KernelIR, needed: set[int]) -> list[tuple[int, int, bool, list[int]]]:
    """(read, write, direct, depths of the loops) of all pairs."""
    kernel = kernel.kernel() if isinstance(kernel, Program) else kernel
    return [
        (f.read.site, f.write.site, f.direct, [loop.depth for loop in f.loops])
        for f in flow_dependences(kernel, needed)
    ]


def all_parallel(kernel: KernelIR) -> KernelIR:
    def block(b: Block) -> Block:
        return replace(b, statements=tuple(map(statement, b.statements)))

    def statement(s: Statement) -> Statement:
        s = with_blocks(s, block)
        return replace(s, parallel=True) if isinstance(s, For) else s

    return replace(kernel, body=block(kernel.body))


def test_own_elements_are_not_fed() -> None:
    p = Program()
    x = p.field("x", 8)
    with p.loop("i", 0, 8) as i:
        p.store(x, i, value=p.load(x, i).op("sin"))
    assert fed(p, {0}) == []


def test_a_later_trip_of_the_inner_loop() -> None:
    p = Program()
    x = p.field("x", 8)
    with p.loop("i", 0, 8) as i, p.loop("k", 0, 3):
        p.store(x, i, value=p.load(x, i).op("sin"))
    assert fed(p, {0}) == [(0, 1, False, [1])]
    assert fed(p, set()) == []


def test_the_same_trip() -> None:
    p = Program()
    x, y = p.field("x", 8), p.field("y", 8)
    with p.loop("i", 0, 8) as i:
        p.store(x, i, value=2.0)
        p.store(y, i, value=p.load(x, i))
        p.store(x, i, value=3.0)
    assert fed(p, {1}) == [(1, 0, True, [])]


def test_forwards_and_backwards() -> None:
    for ends, step, expected in (((0, 9), 1, [(0, 1, False, [0])]), ((8, -1), -1, [])):
        p = Program()
        x = p.field("x", 10)
        with p.loop("t", *ends, step=step) as t:
            p.store(x, t + 1, value=p.load(x, t).op("sin"))
        assert fed(p, {0}) == expected


def test_iterations_of_a_parallel_loop_see_of_one_another_what_they_accumulate() -> None:
    p = Program()
    count, y = p.field("count", type=i32), p.field("y", 8)
    with p.loop("i", 0, 8) as i:
        p.add(count, value=1)
        p.store(y, p.load(count), value=p.load(y, i))
    kernel = p.kernel()
    pairs = fed(kernel, {0, 1, 2})
    assert (0, 0, False, [0]) in pairs
    assert (1, 0, True, [0]) in pairs
    together = fed(all_parallel(kernel), {0, 1, 2})
    assert together == [(0, 0, False, [0]), (1, 0, True, [])], "the rest is the person's word"
