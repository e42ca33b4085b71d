"""Indices proved to be in bounds, and the conditions left to check at a launch."""

from __future__ import annotations

from dsim.analysis.bounds import bounds
from dsim.ir.types import i16, i32, i64, u32, u64
from tests.analysis.kernels import Program


def test_constant_ranges() -> None:
    p = Program()
    x = p.field("x", 8)
    with p.loop("i", 0, 8) as i:
        p.store(x, i)
        p.store(x, i + 1)
        p.store(x, i - 1)
    assert bounds(p.kernel()).sites == {0: "proved", 1: "checked", 2: "checked"}


def test_arguments_are_asked_once_per_launch() -> None:
    p = Program()
    t = p.param("t")
    x = p.field("x", 10, 8)
    with p.loop("i", 0, 8) as i:
        p.store(x, t + 1, i, value=p.load(x, t, i))
    found = bounds(p.kernel())
    assert found.sites == {0: "launch", 1: "launch"}
    assert [found.holds((t,)) for t in (-1, 0, 8, 9)] == [False, True, True, False]


def test_guards_prove() -> None:
    p = Program()
    n = p.param("n")
    x = p.field("x", 8)
    with p.loop("i", 0, 8) as i:
        with p.when(i > 0):
            p.load(x, i - 1)
        with p.when(i < 7):
            p.load(x, i + 1)
    with p.when(n > 0):
        p.load(x, n - 1)
    found = bounds(p.kernel())
    assert found.sites == {0: "proved", 1: "proved", 2: "launch"}
    assert [found.holds((n,)) for n in (-5, 0, 8, 9)] == [True, True, True, False]


def test_what_is_not_the_first_or_last_index_is_further_inside() -> None:
    p = Program()
    x = p.field("x", 8)
    with p.loop("i", 0, 8) as i:
        with p.when(i.op("ne", 0)):
            p.load(x, i - 1)
        with p.when(i.op("eq", 7).op("bnot")):
            p.load(x, i + 1)
        with p.when(i.op("ne", 1)):
            p.load(x, i - 1)
        with p.when(i.op("ne", 0)):
            p.load(x, i - 2)
    assert list(bounds(p.kernel()).sites.values()) == ["proved", "proved", "checked", "checked"]


def test_data_is_checked_and_clamped_or_wrapped_data_is_proved() -> None:
    p = Program()
    x, ends = p.field("x", 8), p.field("ends", 8, type=i32)
    with p.loop("s", 0, 8) as s:
        a = p.load(ends, s)
        p.load(x, a)
        p.load(x, a.op("max", 0).op("min", 7))
        p.load(x, a.op("mod", 8))
        p.load(x, (s + 1).op("mod", 8))
        p.load(x, a.op("band", 7))
    assert list(bounds(p.kernel()).sites.values()) == [
        "proved",
        "checked",
        "proved",
        "proved",
        "proved",
        "proved",
    ]


def test_triangles() -> None:
    p = Program()
    x = p.field("x", 8)
    with p.loop("i", 0, 8) as i, p.loop("j", i + 1, 8) as j:
        p.load(x, j - i)
        p.load(x, j + i)
    assert bounds(p.kernel()).sites == {0: "proved", 1: "checked"}


def test_range_that_is_an_argument() -> None:
    p = Program()
    n = p.param("n")
    x = p.field("x", 8)
    with p.loop("i", 0, n) as i:
        p.load(x, i)
    found = bounds(p.kernel())
    assert found.sites == {0: "launch"}
    assert [found.holds((n,)) for n in (-3, 0, 8, 9)] == [True, True, True, False]


def test_a_product_that_leaves_its_type_proves_nothing() -> None:
    p = Program()
    x = p.field("x", 1 << 20)
    with p.loop("i", 0, 100_000) as i:
        p.load(x, (i * 100_000).op("shr", 12))
        p.load(x, (i.cast(i64) * 100_000).op("shr", 14))
    assert bounds(p.kernel()).sites == {0: "checked", 1: "proved"}


def test_buffers_have_the_length_that_they_were_made_with() -> None:
    p = Program()
    n = p.param("n")
    local = p.private("local", n)
    with p.loop("i", 0, n) as i:
        p.store(local, i)
        p.store(local, i + 1)
    assert bounds(p.kernel()).sites == {0: "proved", 1: "checked"}


def test_nothing_is_proved_by_arithmetic_that_may_wrap() -> None:
    p = Program()
    h, n = p.param("h", u64), p.param("n", u32)
    x, data = p.field("x", 8), p.field("data", type=i32)
    a = p.load(data)
    narrow = h.cast(i32)
    with p.when(narrow < 8):
        p.load(x, narrow)
    with p.when(a.op("abs") < 8):
        p.load(x, a.op("abs"))
    with p.when(a + 1 < 8), p.when(a > -1):
        p.load(x, a)
    p.load(x, (a.op("max", 0) + 1).op("min", 7))
    fewer = n - 1
    with p.when(fewer < 8):
        p.load(x, n)
    found = bounds(p.kernel())
    assert {status for site, status in found.sites.items() if site > 0} == {"checked", "launch"}
    assert found.sites[5] == "launch"
    assert [found.holds((0, value)) for value in (0, 7, 8, 2**32 - 1)] == [True, True, False, False]


def test_the_same_comparisons_prove_where_nothing_wraps() -> None:
    p = Program()
    x, data = p.field("x", 8), p.field("data", type=i16)
    a = p.load(data).cast(i32)
    with p.when(a + 1 < 8), p.when(a > -1):
        p.load(x, a)
    with p.when(a.op("abs") < 8):
        p.load(x, a.op("abs"))
    p.load(x, (a.op("max", 0) + 1).op("min", 7))
    assert set(bounds(p.kernel()).sites.values()) == {"proved"}


def test_comparisons_of_arguments_are_trusted_for_small_ones() -> None:
    p = Program()
    t = p.param("t")
    x = p.field("x", 8)
    with p.when(t + 1 < 8), p.when(t > -1):
        p.load(x, t)
    found = bounds(p.kernel())
    assert found.sites == {0: "launch"}
    assert [found.holds((value,)) for value in (-5, 3, 100, 2**31 - 1)] == [True, True, True, False]
