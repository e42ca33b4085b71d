"""Values needed by a gradient that a kernel overwrites itself."""

from __future__ import annotations

from dataclasses import replace

from dsim.analysis.access_rules import fed, overwritten
from dsim.ir.nodes import Block, For, KernelIR, Statement
from dsim.ir.types import f32, i32
from dsim.ir.walk import with_blocks
from tests.analysis.kernels import Program


def found(p: Program | KernelIR, needed: set[int] | None = None) -> list[tuple[int, int, bool]]:
    """Site of the read, site of the write, whether certain; all loads are needed by default."""
    kernel = p.kernel() if isinstance(p, Program) else p
    conflicts = overwritten(kernel, needed if needed is not None else set(range(1000)))
    return [(o.read.site, o.write.site, o.certain) for o in conflicts if needed is not None or not o.read.op]


def seen(p: Program, needed: set[int]) -> list[int]:
    """Sites of the needed reads that may see what the kernel wrote."""
    return [a.site for a in fed(p.kernel(), needed)]


def test_what_is_read_before_it_is_written_has_its_entry_value() -> None:
    p = Program()
    x, loss = p.field("x", 8), p.field("loss")
    with p.loop("i", 0, 8) as i:
        p.store(x, i, value=p.load(x, i).op("sin"))
    p.add(loss, value=p.load(loss))
    assert seen(p, {0, 2}) == []


def test_what_is_read_after_a_write_is_fed() -> None:
    for ends, step, expected in (((0, 9), 1, [0]), ((8, -1), -1, [])):
        p = Program()
        x = p.field("x", 10)
        with p.loop("t", *ends, step=step) as t:
            p.store(x, t + 1, value=p.load(x, t).op("sin"))
        assert seen(p, {0}) == expected
    p = Program()
    x = p.field("x", 10)
    with p.loop("i", 0, 10) as i, p.loop("k", 0, 3):
        p.store(x, i, value=p.load(x, i).op("sin"))
    assert seen(p, {0}) == [0]


def test_final_values_of_extrema_are_fed() -> None:
    p = Program()
    x, most = p.field("x", 8), p.field("most")
    with p.loop("i", 0, 8) as i:
        p.add(most, value=p.load(x, i), op="max")
    assert seen(p, {0, 1}) == [1]


def test_read_then_overwritten() -> None:
    p = Program()
    x, loss, b = p.field("x", 16), p.field("loss"), p.field("b")
    p.store(loss, value=p.load(x, 1) * p.load(b))  # 0, 1; 2
    p.add(b, value=100.0)  # 3
    assert found(p) == [(1, 3, True)]


def test_written_before_it_is_read() -> None:
    p = Program()
    x, b = p.field("x", 16), p.field("b")
    p.store(b, value=2.0)
    p.store(x, 1, value=p.load(b))
    assert found(p) == []


def test_own_element_in_a_loop() -> None:
    p = Program()
    x = p.field("x", 8)
    with p.loop("i", 0, 8) as i:
        p.store(x, i, value=p.load(x, i).op("sin"))
    assert found(p) == [(0, 1, True)]


def test_time_loops_up_and_down() -> None:
    for step, ends, expected in ((1, (0, 9), []), (-1, (8, -1), [(0, 1, True)])):
        p = Program()
        x = p.field("x", 10)
        with p.loop("t", *ends, step=step) as t:
            p.store(x, t + 1, value=p.load(x, t).op("sin"))
        assert found(p) == expected


def test_neighbours_in_an_ascending_loop() -> None:
    for offset, expected in ((-1, []), (1, [(0, 1, True)]), (3, [(0, 1, True)]), (7, [])):
        p = Program()
        x = p.field("x", 20)
        with p.loop("i", 1, 8) as i:
            p.store(x, i, value=p.load(x, i + offset))
        assert found(p) == expected


def test_time_indexed_field_with_inner_loops() -> None:
    p = Program()
    x = p.field("x", 10, 8)
    with p.loop("t", 1, 10) as t, p.loop("i", 1, 7) as i:
        p.store(x, t, i, value=p.load(x, t - 1, i - 1) + p.load(x, t - 1, i + 1))
    assert found(p) == []


def test_in_place_state_in_a_time_loop() -> None:
    p = Program()
    x, v = p.field("x", 8), p.field("v", 8)
    with p.loop("t", 0, 10):
        with p.loop("i", 0, 8) as i:
            p.add(v, i, value=-p.load(x, i))  # 0, 1
        with p.loop("i", 0, 8) as i:
            p.add(x, i, value=p.load(v, i))  # 2, 3
    assert {(r, w) for r, w, _ in found(p)} == {(0, 3), (2, 1)}


def test_a_parallel_loop_has_no_order() -> None:
    p = Program()
    x = p.field("x", 20)
    with p.loop("i", 1, 8) as i:
        p.store(x, i, value=p.load(x, i - 1))
    kernel = p.kernel()
    assert found(kernel) == []

    def parallel(s: Statement) -> Statement:
        return replace(s, parallel=True) if isinstance(s, For) else with_blocks(s, lambda b: b)

    body = Block(tuple(map(parallel, kernel.body.statements)))
    assert [c[:2] for c in found(replace(kernel, body=body))] == [(0, 1)]


def test_data_as_an_index_may_hit_and_the_same_data_does() -> None:
    p = Program()
    f, ends = p.field("f", 8), p.field("ends", 8, 2, type=i32)
    with p.loop("s", 0, 8) as s:
        a, b = p.load(ends, s, 0), p.load(ends, s, 1)  # 0, 1
        p.store(f, a, value=p.load(f, b) + p.load(f, a))  # 2, 3; 4
    assert found(p) == [(2, 4, False), (3, 4, True)]


def test_guards_that_exclude_one_another() -> None:
    p = Program()
    x, y = p.field("x"), p.field("y", 8)
    c = p.param("c")
    with p.either(c > 0):
        v = p.load(x)
        p.store(y, 0, value=v)
        p.otherwise()
        p.store(x, value=1.0)
    assert found(p) == []


def test_a_guarded_write_is_not_certain() -> None:
    p = Program()
    x, y = p.field("x"), p.field("y", 8)
    c = p.param("c")
    p.store(y, 0, value=p.load(x))
    with p.when(c > 0):
        p.store(x, value=1.0)
    assert found(p) == [(0, 2, False)]


def test_guards_tell_elements_apart() -> None:
    p = Program()
    x = p.field("x", 8)
    with p.loop("i", 0, 7) as i:
        v = p.load(x, i + 1)
        with p.when(i.equals(0)):
            p.store(x, i, value=v)
    assert found(p) == []


def test_iterations_of_a_while_are_in_order_of_nothing_known() -> None:
    p = Program()
    x = p.field("x", 8)
    n = p.param("n")
    with p.repeat():
        p.store(x, n, value=1.0)  # 1
        p.load(x, 3)  # 2
    assert (2, 1, False) in found(p)


def test_minimum_is_spared_by_minimum_only() -> None:
    p = Program()
    x, low = p.field("x", 8), p.field("low")
    with p.loop("i", 0, 8) as i:
        p.add(low, value=p.load(x, i), op="min")  # 0, 1
    assert found(p, {1}) == []
    p = Program()
    x, low = p.field("x", 8), p.field("low")
    with p.loop("i", 0, 8) as i:
        p.add(low, value=p.load(x, i), op="min")  # 0, 1
    p.add(low, value=2.0)  # 2
    assert found(p, {1}) == [(1, 2, True)]


def test_an_extremum_that_is_read_in_between_is_not_spared() -> None:
    p = Program()
    x, most, y = p.field("x", 8), p.field("most"), p.field("y", 8)
    with p.loop("i", 0, 8) as i:
        p.add(most, value=p.load(x, i), op="max")  # 0, 1
        p.store(y, i, value=p.load(most))  # 2, 3
    assert found(p, {1}) == [(1, 1, True)]
    p = Program()
    x, most, y = p.field("x", 8), p.field("most"), p.field("y", 8)
    p.add(most, value=p.load(x, 0), op="max")  # 0, 1
    p.store(y, 0, value=p.load(most))  # 2, 3
    p.add(most, value=p.load(x, 1), op="max")  # 4, 5
    assert found(p, {1, 5}) == [(1, 5, True)]


def test_an_extremum_that_is_read_before_and_after_is_spared() -> None:
    p = Program()
    x, most, y = p.field("x", 8), p.field("most"), p.field("y", 8)
    p.store(y, 0, value=p.load(most))  # 0, 1
    with p.loop("i", 0, 8) as i:
        p.add(most, value=p.load(x, i), op="max")  # 2, 3
    with p.loop("j", 0, 8) as j:
        p.store(y, j, value=p.load(most))  # 4, 5
    assert found(p, {3}) == []
    p = Program()
    x, most, y = p.field("x", 8), p.field("most", 8), p.field("y", 8)
    with p.loop("i", 0, 8) as i:
        p.add(most, i, value=p.load(x, i), op="max")  # 0, 1
        p.store(y, i, value=p.load(most, i))  # 2, 3
    assert found(p, {1}) == []


def test_a_product_overwrites_what_it_multiplies() -> None:
    p = Program()
    x = p.field("x", 8)
    p.add(x, 3, value=2.0, op="mul")
    assert found(p, {0}) == [(0, 0, True)]


def test_a_buffer_of_each_trip() -> None:
    p = Program()
    x = p.field("x", 8)
    with p.loop("i", 0, 8) as i:
        local = p.private("local", 4)
        p.store(local, 0, value=i.cast(f32))
        p.store(x, i, value=p.load(local, 0))
    assert found(p) == []


def test_integers_that_steer_are_values_too() -> None:
    p = Program()
    n, y = p.field("n", type=i32), p.field("y", 8)
    with p.loop("i", 0, p.load(n)) as i:
        p.store(y, i)
    p.store(n, value=3)
    assert found(p) == [(0, 2, True)]


def test_distinct_entries_of_many_vectors() -> None:
    p = Program()
    F = p.field("F", 8, 3, 3, entry=2)
    with p.loop("i", 0, 8) as i:
        for r in range(3):
            for c in range(3):
                p.store(F, i, r, c, value=p.load(F, i, c, r))
    pairs = {(r // 2, w // 2) for r, w, _ in found(p)}
    assert pairs == {(k, (k % 3) * 3 + k // 3) for k in range(9) if (k % 3) * 3 + k // 3 >= k}
