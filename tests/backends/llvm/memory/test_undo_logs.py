"""Undo logs: old values of elements in the order of the writes, and their restoration."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.faults import Fault
from dsim.backends.reference.source import run, source
from dsim.ir.check import check
from dsim.ir.nodes import Append, Compact, KernelIR, LogMark, Memory, MemoryKey, RollBack, UndoLog
from dsim.ir.show import show
from dsim.ir.term import Term
from dsim.ir.types import ScalarType, f16, f32, f64, i8, i32, i64, u1, u16
from dsim.passes.common_subexpression_elimination import eliminate_common_subexpressions
from dsim.passes.dead_code_elimination import eliminate_dead_code
from dsim.passes.loop_invariant_code_motion import move_loop_invariants
from dsim.passes.parallelization import parallel
from dsim.passes.reduction_promotion import promote_reductions
from dsim.passes.simplify import finish, simplify
from tests.building import Building, Value
from tests.limits import memory

pytestmark = pytest.mark.slow

Buffers = dict[MemoryKey, np.ndarray]


class Logging(Building):
    """A kernel under construction that logs."""

    def log(self, of: Memory) -> Memory:
        log = Memory(self.names.fresh(f"{of.name}_log"), of.type, (None,), private=True)
        self.add(UndoLog(log, of))
        return log

    def mark(self, log: Memory) -> Term:
        var = self.fresh("mark", i64)
        self.add(LogMark(var, log))
        return self.term(var)

    def logged(self, log: Memory, m: Memory, *rest: Value) -> None:
        """A store after its record."""
        self.add(Append(log, m, self.places(rest[:-1])))
        self.store(m, *rest)

    def rewind(self, log: Memory, m: Memory, mark: Term) -> None:
        self.add(RollBack(log, m, mark.atom))


def same(kernel: KernelIR, buffers: Callable[[], Buffers]) -> Buffers:
    """What the reference leaves; machine code and passed kernels must leave it too, bit for bit."""
    check(kernel)
    wanted = buffers()
    run(kernel, wanted, ())
    passed = parallel(finish(simplify(kernel)))
    check(passed)
    for k, threads in itertools.product((kernel, passed), (0, 1, 2)):
        found = buffers()
        if threads:
            compile_kernel(k, threads=threads).bind(found)()
        else:
            run(k, found, ())
        for key, a in wanted.items():
            assert a.tobytes() == found[key].tobytes(), key
    return wanted


@pytest.mark.parametrize("t", [f64, f32, f16, i32, i8, u16, u1])
@pytest.mark.parametrize("own", [True, False])
def test_what_is_rewound_is_as_it_was(t: ScalarType, own: bool) -> None:
    """An undo log outgrows its first room; one of each iteration's own lets the loop be parallel."""
    k = Logging()
    x, y = k.field("x", 300, 2, type=t), k.field("y", 300, type=t)
    log = None if own else k.log(x)
    with k.loop("i", 0, 300) as row:
        log = k.log(x) if own else log
        assert log is not None
        start = k.mark(log)
        with k.loop("j", 0, 100) as col:
            k.logged(log, x, row.i, col.i.op("mod", 2), k.load(y, row.i))
            k.store(y, row.i, k.load(x, row.i, (col.i + 1).op("mod", 2)))
        k.rewind(log, x, start)
    rng = np.random.default_rng(1)
    x_data, y_data = rng.integers(0, 2, (300, 2)), rng.integers(0, 2, 300)

    def buffers() -> Buffers:
        return {x.key: x_data.astype(t.numpy), y.key: y_data.astype(t.numpy)}

    kernel = k.kernel()
    assert same(kernel, buffers)[x.key].tobytes() == buffers()[x.key].tobytes()
    assert ("parallel for i" in show(parallel(kernel))) == own


def test_the_oldest_value_is_put_back_last() -> None:
    k = Logging()
    x, seen = k.field("x", 2), k.field("seen", 2)
    log = k.log(x)
    k.logged(log, x, 0, 1.0)
    middle = k.mark(log)
    k.logged(log, x, 0, 2.0)
    k.logged(log, x, 1, 3.0)
    k.logged(log, x, 0, 4.0)
    k.rewind(log, x, middle)
    k.store(seen, 0, k.load(x, 0))
    k.store(seen, 1, k.load(x, 1))
    k.rewind(log, x, k.term(k.value(0, i64)))
    found = same(k.kernel(), lambda: {x.key: np.array([7.0, 8.0]), seen.key: np.zeros(2)})
    np.testing.assert_array_equal(found[seen.key], [1, 8])
    np.testing.assert_array_equal(found[x.key], [7, 8])


def test_a_field_without_axes() -> None:
    k = Logging()
    x, y = k.field("x"), k.field("y")
    log = k.log(x)
    start = k.mark(log)
    with k.loop("i", 0, 5):
        k.logged(log, x, k.load(x) * 2.0)
    k.store(y, k.load(x))
    k.rewind(log, x, start)
    found = same(k.kernel(), lambda: {x.key: np.array(1.5), y.key: np.array(0.0)})
    assert (found[x.key], found[y.key]) == (1.5, 48.0)


def test_a_undo_log_reads_well_in_python() -> None:
    k = Logging()
    x = k.field("x", 4)
    log = k.log(x)
    start = k.mark(log)
    with k.loop("i", 0, 4) as row:
        k.logged(log, x, row.i, 0.0)
    k.rewind(log, x, start)
    assert source(k.kernel()).splitlines()[3:] == [
        "def k(x):",
        "    x_log = []",
        "    mark = i64(len(x_log))",
        "    for i in map(i32, range(4)):",
        "        x_log.append(((i,), x[i]))",
        "        x[i] = 0.0",
        "    while len(x_log) > mark:",
        "        at, value = x_log.pop()",
        "        x[at] = value",
    ]


def test_a_undo_log_that_nothing_rewinds_goes() -> None:
    k = Logging()
    x = k.field("x", 4)
    log = k.log(x)
    k.mark(log)
    k.logged(log, x, 1, 2.0)
    assert show(eliminate_dead_code(k.kernel())) == "kernel k():\n  memory x: f64[4]\n  x[1] = 2.0f64"


def test_a_rewound_field_keeps_all_that_it_needs() -> None:
    k = Logging()
    x = k.field("x", 4)
    log = k.log(x)
    start = k.mark(log)
    k.logged(log, x, 1, 2.0)
    k.rewind(log, x, start)
    kernel = k.kernel()
    assert eliminate_dead_code(kernel) == kernel


def test_passes_know_that_a_rewind_may_write_any_element() -> None:
    k = Logging()
    x, y = k.field("x", 4), k.field("y", 4)
    log = k.log(x)
    start = k.mark(log)
    with k.loop("i", 0, 4) as row, k.loop("j", 0, 3) as col:
        k.store(y, row.i, k.load(x, 2))
        k.logged(log, x, col.i, 5.0)
        k.accumulate(x, 3, 1.0)
        k.rewind(log, x, start)
        k.accumulate(y, row.i, k.load(x, 2))
    kernel = k.kernel()
    assert show(eliminate_common_subexpressions(kernel)).count("= x[2]") == 2
    assert move_loop_invariants(kernel) is kernel
    assert promote_reductions(kernel) is kernel
    same(kernel, lambda: {x.key: np.arange(4.0), y.key: np.zeros(4)})


def test_no_memory_for_one_more_value_is_a_fault() -> None:
    k = Logging()
    x = k.field("x", 1 << 20)
    log = k.log(x)
    with k.loop("i", 0, 1 << 20) as row:
        k.logged(log, x, row.i, 5.0)
    k.rewind(log, x, k.mark(log))
    launch = compile_kernel(k.kernel()).bind({x.key: np.zeros(1 << 20)})
    with memory(1 << 20), pytest.raises(Fault) as caught:
        launch()
    assert caught.value.kind == "memory"
    assert isinstance(caught.value.statement, Append)
    assert caught.value.values == (1 << 16,)  # as many as fit into the limit


def test_what_no_mark_stands_between_takes_no_more_room() -> None:
    k = Logging()
    x, y = k.field("x", 50), k.field("y", 50)
    log = k.log(x)
    start = k.mark(log)
    with k.loop("i", 0, 1 << 15) as row:
        k.logged(log, x, (row.i * 7).op("mod", 50), row.i.cast(f64))
    middle = k.mark(log)
    with k.loop("i", 0, 1 << 15) as row:
        k.logged(log, x, (row.i * 3).op("mod", 50), row.i.cast(f64) * 0.5)
    k.rewind(log, x, middle)
    with k.loop("i", 0, 50) as row:
        k.store(y, row.i, k.load(x, row.i))
    k.rewind(log, x, start)
    kernel = k.kernel()

    def buffers() -> Buffers:
        return {x.key: np.arange(50.0), y.key: np.zeros(50)}

    with memory(1 << 17):
        found = same(kernel, buffers)
    np.testing.assert_array_equal(found[x.key], np.arange(50.0))
    last = {i * 7 % 50: i for i in range(1 << 15)}
    np.testing.assert_array_equal(found[y.key], [last[i] for i in range(50)])


@pytest.mark.parametrize("t", [f64, f32, f16, i64, i32, i8, u16, u1])
@pytest.mark.parametrize("row", [1, 700])
def test_of_each_element_the_oldest_value_is_kept(t: ScalarType, row: int) -> None:
    """More elements than a byte has values, too; entries before the mark stay."""
    k = Logging()
    n = 3 * row
    x, seen, lengths = k.field("x", n, type=t), k.field("seen", n, type=t), k.field("lengths", 3, type=i64)
    log = k.log(x)
    start = k.mark(log)
    values = k.field("values", 4 * n, type=t)
    with k.loop("i", 0, row) as i:
        k.logged(log, x, i.i * 2, k.load(values, i.i))
    middle = k.mark(log)
    with k.loop("i", 0, 4 * n) as i:
        k.logged(log, x, (i.i * i.i + 7).op("mod", n), k.load(values, i.i))
    k.add(Compact(log, x, middle.atom))
    k.store(lengths, 0, k.mark(log))
    k.rewind(log, x, middle)
    with k.loop("i", 0, n) as i:
        k.store(seen, i.i, k.load(x, i.i))
    k.store(lengths, 1, k.mark(log))
    k.rewind(log, x, start)
    k.store(lengths, 2, k.mark(log))
    rng = np.random.default_rng(1)
    data = rng.integers(0, 2 if t == u1 else 100, 5 * n).astype(t.numpy)

    def buffers() -> Buffers:
        return {
            x.key: data[:n].copy(),
            values.key: data[n:].copy(),
            seen.key: np.zeros(n, t.numpy),
            lengths.key: np.zeros(3, np.int64),
        }

    found = same(k.kernel(), buffers)
    assert found[x.key].tobytes() == data[:n].tobytes()
    expected = data[:n].copy()
    expected[: 2 * row : 2] = data[n : n + row]
    assert found[seen.key].tobytes() == expected.tobytes()
    different = len({(i * i + 7) % n for i in range(4 * n)})
    if t not in (i8, u1):  # there all numbers of elements fit into an element
        assert found[lengths.key].tolist() == [row + different, row, 0]


def test_a_undo_log_beside_another_has_its_marks() -> None:
    """It forgets nothing that they stand between, though nobody marks it."""
    k = Logging()
    x, dx, seen = k.field("x", 3), k.field("dx", 3), k.field("seen", 3)
    log = k.log(x)
    other = Memory("other", f64, (None,), private=True)
    k.add(UndoLog(other, dx, beside=log))
    start = k.mark(log)
    middle = start
    for value in (1.0, 2.0):
        with k.loop("i", 0, 1 << 14) as i:
            for m, j in ((x, log), (dx, other)):
                k.add(Append(j, m, (i.i.op("mod", 3).atom,)))
                k.store(m, i.i.op("mod", 3), value)
        middle = k.mark(log) if value == 1.0 else middle
    k.rewind(log, x, middle)
    k.rewind(other, dx, middle)
    with k.loop("i", 0, 3) as i:
        k.store(seen, i.i, k.load(dx, i.i))
    k.rewind(log, x, start)
    k.rewind(other, dx, start)
    found = same(k.kernel(), lambda: {x.key: np.arange(3.0), dx.key: np.arange(3.0), seen.key: np.zeros(3)})
    assert found[dx.key].tolist() == found[x.key].tolist() == [0, 1, 2]
    assert found[seen.key].tolist() == [1, 1, 1]
