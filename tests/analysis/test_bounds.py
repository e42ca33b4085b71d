"""Which indices are known to be inside, and what has to be asked at a launch."""

from __future__ import annotations

from dsim.analysis.bounds import bounds
from dsim.ir.types import i32, i64
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
