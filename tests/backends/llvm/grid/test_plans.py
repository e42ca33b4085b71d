"""Loops that threads of a grid share, or one thread runs and why; and what the text asks of its target."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from dsim.backends.cuda.kernels import emit_kernel
from dsim.backends.llvm.grid.module import GridModule
from dsim.ir.nodes import KernelIR, Memory, Probe
from dsim.ir.probe_buffer import WIDTH
from dsim.ir.types import f64, i32
from tests.backends.llvm.grid.launching import Grid, alone, launched, same
from tests.building import Building, marked_parallel

pytestmark = pytest.mark.usefixtures("quick_code")

RANDOM = np.random.default_rng(16)
N = 97


def reasons(module: GridModule) -> list[str]:
    return [a.reason for a in module.alone]


def kinds(module: GridModule) -> list[str]:
    return [k.kind for k in module.kernels]


def test_a_loop_that_is_not_parallel_runs_on_one_thread_without_a_word() -> None:
    k = Building()
    x = k.field("x", N)
    with k.loop("i", 1, N) as loop:
        k.store(x, loop.i, k.load(x, loop.i - 1) + 1.0)
    found = same(k.kernel(), {"x": np.zeros(N)}, grid=Grid(4, 8))
    assert found.kinds == ["serial"]
    assert reasons(found.modules[0]) == []


def test_a_carried_value_that_is_no_sum() -> None:
    k = Building()
    x = k.field("x", N)
    with k.loop("i", 0, N, last=0.0) as loop:
        k.store(x, loop.i, loop.last)
        loop.then(last=loop.last * 0.5 + 1.0)
    found = same(marked_parallel(k.kernel(loop.out("last"))), {"x": np.zeros(N)}, grid=Grid(4, 8))
    assert found.kinds == ["serial"]
    assert reasons(found.modules[0]) == ["a value that its iterations share is not a sum"]


def watched() -> KernelIR:
    k = Building()
    x, probes = k.field("x", N), Memory("probes", f64, (2, WIDTH))
    with k.loop("i", 0, N) as loop:
        v = k.load(x, loop.i) * 2.0
        k.add(Probe(probes, 0, v.op("copy").atom, (loop.i.atom,), own=1))
        k.store(x, loop.i, v)
    kernel = k.kernel()
    return marked_parallel(replace(kernel, memories=(*kernel.memories, probes)))


def test_a_watched_loop() -> None:
    module = emit_kernel(watched())
    assert kinds(module) == ["serial"]
    assert reasons(module) == ["it is watched"]


def test_tasks_in_their_order() -> None:
    k = Building()
    x, s, y, n = k.field("x", N), k.field("s"), k.field("y"), k.param("n", i32)
    k.store(s, 0.0)
    b = k.buffer("b", n)
    with k.loop("i", 0, N) as loop:
        k.accumulate(s, k.load(x, loop.i))
        k.store(b, loop.i, k.load(x, loop.i))
    k.store(y, k.load(s) * 2.0)
    with k.loop("j", 0, N) as other:
        k.store(x, other.i, k.load(b, other.i) + k.load(y))
    kernel = marked_parallel(k.kernel())
    found = same(kernel, {"x": RANDOM.random(N), "s": np.array(5.0), "y": np.array(0.0)}, N, grid=Grid(2, 2))
    names = [(g.name, g.kind) for g in found.modules[0].kernels]
    assert names == [
        ("task_0", "serial"),
        ("task_1", "serial"),
        ("task_1_zeros", "parallel"),
        ("task_2", "parallel"),
        ("task_2_combine", "combine"),
        ("task_3", "serial"),
        ("task_6", "parallel"),
    ]


def test_a_kernel_without_statements() -> None:
    k = Building()
    n = k.param("n", i32)
    module = emit_kernel(k.kernel(n, 3))
    assert module.kernels == ()
    assert module.results == (module.layout.params, None)


def test_memories_that_are_not_in_c_order() -> None:
    k = Building()
    x, y = k.field("x", 7, 5), k.field("y", 7)
    with k.loop("i", 0, 7) as loop:
        with k.loop("j", 0, 5, s=0.0) as inner:
            inner.then(s=inner.s + k.load(x, loop.i, inner.i))
        k.store(y, loop.i, inner.out("s"))
    kernel, x_data = marked_parallel(k.kernel()), RANDOM.random((7, 5))
    data = {"x": np.asfortranarray(x_data), "y": np.zeros(7)}
    key = next(m.key for m in kernel.memories if m.name == "x")
    found = launched(kernel, data, grid=Grid(2, 2), strides={key: (1, 7)})
    np.testing.assert_allclose(found.arrays["y"], x_data.sum(axis=1))


def outside(module: GridModule) -> set[str]:
    """The functions that a module declares and does not define."""
    return set(re.findall(r"^declare .*?@([\w.]+)\(", module.text, re.MULTILINE))


def test_the_text_asks_for_little() -> None:
    k = Building()
    x, s, h = k.field("x", N), k.field("s"), k.field("h", 3)
    with k.loop("i", 0, N) as loop:
        v = k.load(x, loop.i)
        b = k.buffer("b", 400)
        k.accumulate(b, loop.i, v.op("sin"))
        k.accumulate(s, k.load(b, 7))
        k.accumulate(h, loop.i.op("mod", k.term(k.value(3))), v)
        k.branch(v > 2.0, lambda: k.say(v))
    module = emit_kernel(marked_parallel(k.kernel()))
    own = {name for name in outside(module) if not name.startswith("llvm.")}
    assert own == {"dsim_global", "dsim_barrier", "dsim_math_sin_f64"}
    assert not re.search(r"optnone|noinline|llvm\.(x86|aarch64)|malloc|dispatch", module.text)


@pytest.mark.parametrize("threads", [1, 4])
def test_the_number_of_threads_of_this_processor_is_of_no_concern(threads: int) -> None:
    k = Building()
    x, s = k.field("x", N), k.field("s")
    with k.loop("i", 0, N) as loop:
        k.accumulate(s, k.load(x, loop.i))
    kernel, data = marked_parallel(k.kernel()), {"x": RANDOM.random(N), "s": np.array(0.0)}
    found = launched(kernel, data, grid=Grid(4, 8), threads=threads)
    assert found.kinds == ["parallel", "combine"]
    np.testing.assert_allclose(found.arrays["s"], alone(kernel, data).arrays["s"])
