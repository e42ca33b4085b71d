"""Statements without dependents are removed; those with side effects stay."""

from __future__ import annotations

from dataclasses import replace

from dsim.ir.check import check
from dsim.ir.nodes import Block, KernelIR, Statement, While
from dsim.ir.show import show
from dsim.ir.types import i32, u1
from dsim.ir.walk import with_blocks
from dsim.passes.dead_code_elimination import eliminate_dead_code
from tests.building import Building


def lean(kernel: KernelIR) -> str:
    after = eliminate_dead_code(kernel)
    check(after)
    assert eliminate_dead_code(after) == after
    return show(after)


def test_unused_values_and_the_memories_only_they_read_go() -> None:
    k = Building()
    x, y = k.field("x", 4), k.field("y", 4)
    a = k.load(x, 0)
    _ = a * k.load(y, 1) + 2.0
    k.store(x, 1, a * 3.0)
    assert lean(k.kernel()) == (
        "kernel k():\n  memory x: f64[4]\n  x_at: f64 = x[0]\n  t_2: f64 = mul x_at, 3.0f64\n  x[1] = t_2"
    )


def test_a_private_memory_that_is_not_read_goes_with_what_is_written_to_it() -> None:
    k = Building()
    x = k.field("x", 4)
    read, unread = k.buffer("read", 3), k.buffer("unread", 3)
    k.store(read, 0, 1.0)
    k.accumulate(unread, 0, k.load(x, 0))
    k.store(x, 0, k.load(read, 0))
    k.load(unread, 1)
    text = lean(k.kernel())
    assert "unread" not in text
    assert "read[0] = 1.0" in text


def test_a_private_memory_whose_value_before_is_used_stays() -> None:
    k = Building()
    counter = k.buffer("counter", 1, type=i32)
    k.swap_in(counter, 0, 1)
    old = k.swap_in(counter, 0, 1)
    text = lean(k.kernel(old))
    assert text.count("counter[0] += 1") == 2
    assert text.count("old") == 2  # the second one's, bound and returned


def test_carried_values_that_need_only_each_other_go() -> None:
    k = Building()
    x = k.field("x", 8)
    with k.loop("i", 0, 8, a=1.0, b=2.0, n=0) as loop:
        k.accumulate(x, loop.i, loop.n.cast(k.float_type))
        loop.then(a=loop.b, b=loop.a, n=loop.n + 1)
    text = lean(k.kernel())
    assert "carrying (n: i32 = 0) -> (n_out: i32)" in text


def test_a_carried_value_used_after_the_loop_keeps_what_it_is_made_of() -> None:
    k = Building()
    with k.loop("i", 0, 8, a=1.0, b=2.0, c=3.0) as loop:
        loop.then(a=loop.b, b=loop.b * 2.0, c=loop.c * 3.0)
    text = lean(k.kernel(loop.out("a")))
    assert "carrying (a: f64 = 1.0f64, b: f64 = 2.0f64)" in text
    assert "c" not in text.replace("carrying", "")


def test_loops_and_branches_without_effect_go() -> None:
    k = Building()
    x = k.field("x", 8)
    p = k.param("p")
    with k.loop("i", 0, 8, a=1.0) as loop:
        k.load(x, loop.i)
        loop.then(a=loop.a * 2.0)
    k.branch(p > 0.0, lambda: (p * 2.0,), lambda: (p,))
    assert lean(k.kernel()) == "kernel k(p: f64):\n  pass"


def doubling(above: float) -> Building:
    """A loop of which nobody reads the result, and which never ends for a number that is not positive."""
    k = Building()
    p = k.param("p")

    def loop() -> None:
        with k.repeat(lambda w: w.a < 10.0, a=p) as w:
            w.then(a=w.a * 2.0)

    k.branch(p > above, loop)
    return k


def test_a_loop_that_may_never_end_stays_with_the_branches_around_it() -> None:
    text = lean(doubling(0.5).kernel())
    assert "while carrying" in text
    assert "if" in text


def test_it_goes_from_an_adjoint_whose_kernel_has_ended() -> None:
    kernel = doubling(0.5).kernel()
    ended = replace(kernel, body=_ended(kernel.body))
    assert show(eliminate_dead_code(ended)) == "kernel k(p: f64):\n  pass"


def _ended(block: Block) -> Block:
    def one(s: Statement) -> Statement:
        s = with_blocks(s, _ended)
        return replace(s, ends=True) if isinstance(s, While) else s

    return Block(tuple(map(one, block.statements)), block.yields)


def test_an_effect_keeps_the_loops_and_branches_around_it() -> None:
    k = Building()
    p = k.param("p")
    with k.loop("i", 0, 8, going=True, goes_on="going") as loop:
        k.branch(p > 0.0, lambda: k.say("p = ", p))
        loop.then(going=k.term(k.let("lt", loop.index, k.value(3))))
    with k.repeat(lambda w: w.a < 10.0, a=p) as w:
        k.insist(p > 1.0, "p is ", p)
        w.then(a=w.a * 2.0)
    before = k.kernel()
    assert eliminate_dead_code(before) == before


def test_unused_results_of_branches_go() -> None:
    k = Building()
    p = k.param("p")
    r, _ = k.branch(p > 0.0, lambda: (p * 2.0, p * 3.0), lambda: (p * 4.0, p * 5.0))
    text = lean(k.kernel(r))
    assert "if t -> (r: f64):" in text
    assert "3.0" not in text
    assert "5.0" not in text


def test_the_fact_whether_a_loop_goes_on_stays() -> None:
    k = Building()
    x = k.field("x", 8)
    flags = k.field("flags", 8, type=u1)
    with k.loop("i", 0, 8, going=True, n=0, goes_on="going") as loop:
        k.store(x, loop.i, 1.0)
        loop.then(going=k.load(flags, loop.n), n=loop.n + 1)
    before = k.kernel()
    assert eliminate_dead_code(before) == before
