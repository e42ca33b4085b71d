"""Loops at the ends of every integer type have the trips and indices of Python's ranges."""

import itertools

import pytest

import dsim as ds
from dsim.backends.llvm import ranges
from dsim.backends.llvm.ranges import Counter
from dsim.backends.llvm.text import Module
from dsim.ir.build import const
from dsim.ir.nodes import Block, For, Var
from dsim.ir.ranges import length
from dsim.runtime.fields.fields import Field
from dsim.runtime.kernels.kernel import Kernel

WIDTHS = {"i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32, "i64": 64, "u64": 64}
pytestmark = pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")

LOW, HIGH = -(1 << 63), (1 << 63) - 1


def ends(name: str) -> list[int]:
    """Numbers around the ends and the middle of a type."""
    low = 0 if name[0] == "u" else -(1 << WIDTHS[name] - 1)
    high, middle = low + (1 << WIDTHS[name]) - 1, low + (1 << WIDTHS[name] - 1)
    return [low, low + 1, low + 4, middle - 1, middle, middle + 2, high - 4, high - 1, high]


def check(kernel: Kernel, n: Field, name: str, step: int, *more: int) -> None:
    """Compares the trips of all short ranges, and which indices they have."""
    for a, b in itertools.product(ends(name), repeat=2):
        trips = length(a, b, step)
        if trips > 300:
            continue
        kernel(a, b, *more)
        last = (a + (trips - 1) * step) % 2**64 if trips else 0
        total = sum(range(a, b, step)) % 2**64
        wanted = [trips, total, trips, total, min(trips, 2), last]
        assert [int(v) for v in n.to_numpy()] == wanted, f"range({a}, {b}, {step}) of {name}"


STEPS = [
    *((name, step) for name in WIDTHS for step in (1, -1, 3)),
    *((name, step) for name in ("i64", "u64", "i32") for step in (-3, 1 << 30, -(1 << 31))),
    *(("i64", step) for step in (HIGH, LOW, 1 << 62)),
    ("u64", HIGH),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "step"), STEPS)
def test_of_every_type(name: str, step: int) -> None:
    """In threads, serially, with a way out, and the last index."""
    ds.init()
    t = getattr(ds, name)
    n = ds.field(ds.u64, shape=6)

    @ds.kernel
    def k(a: t, b: t):
        n.fill(0)
        for i in range(a, b, step):
            n[0] += ds.cast(1, ds.u64)
            n[1] += ds.cast(i, ds.u64)
        for _ in range(1):
            last = ds.cast(0, ds.u64)
            for i in range(a, b, step):
                n[2] += ds.cast(1, ds.u64)
                n[3] += ds.cast(i, ds.u64)
                last = ds.cast(i, ds.u64)
            for _i in range(a, b, step):
                if n[4] == 2:
                    break
                n[4] += ds.cast(1, ds.u64)
            n[5] = last

    check(k, n, name, step)


@pytest.mark.parametrize("name", WIDTHS)
def test_of_every_type_with_a_step_at_run_time(name: str) -> None:
    ds.init()
    t = getattr(ds, name)
    n = ds.field(ds.u64, shape=6)

    @ds.kernel
    def k(a: t, b: t, step: ds.i64):
        n.fill(0)
        for i in range(a, b, step):
            n[0] += ds.cast(1, ds.u64)
            n[1] += ds.cast(i, ds.u64)
        for _ in range(1):
            last = ds.cast(0, ds.u64)
            for i in range(a, b, step):
                n[2] += ds.cast(1, ds.u64)
                n[3] += ds.cast(i, ds.u64)
                last = ds.cast(i, ds.u64)
                n[4] = ds.min(n[4] + ds.cast(1, ds.u64), ds.cast(2, ds.u64))
            n[5] = last

    for step in (1, -1, 3, -3, HIGH, LOW):
        check(k, n, name, step, step)


def test_ends_known_when_compiled() -> None:
    ds.init()

    @ds.kernel
    def k() -> ds.types.vector(6, ds.i64):
        n = ds.Vector([0, 0, 0, 0, 0, 0], ds.i64)
        for _ in range(2**63 - 1, -(2**63)):
            n[0] += 1
        for _ in range(2**64 - 1, 0):
            n[1] += 1
        for _ in range(-(2**63), 2**63 - 1, 2**63 - 1):
            n[2] += 1
        for _ in range(-1, -(2**63), -(2**63)):
            n[3] += 1
        for _ in range(-(2**63), 2**63 - 1):
            n[4] += 1
            if n[4] == 5:
                break
        for i, j in ds.ndrange((2**63 - 3, 2**63 - 1), (2**63 - 1, -(2**63))):
            n[5] += i - j
        return n

    assert [int(v) for v in k()] == [0, 0, 3, 1, 5, 0]


def test_many_leaps_over_a_whole_type() -> None:
    """Steps whose sum is 2^64: an index that wrapped would be at its start again."""
    ds.init()

    @ds.kernel
    def k(a: ds.i64, b: ds.i64) -> ds.i64:
        n = ds.cast(0, ds.i64)
        for _ in range(1):
            for _i in range(a, b, 1 << 48):
                n += 1
        return n

    assert k(LOW, HIGH) == 1 << 16


@pytest.mark.parametrize("name", ["i32", "i64"])
@pytest.mark.parametrize("step", [1, -1])
def test_loops_by_one_count_by_their_index(name: str, step: int) -> None:
    """One comparison and one sum a trip; nothing is worked out before."""
    i = Var("i", getattr(ds, name))
    f = Module("").function("define void @k()")
    counter = ranges.counter(f, For(i, Var("a", i.type), Var("b", i.type), step, Block(())), "%a", "%b")
    assert counter == Counter("%a", "%b", step, "slt" if step > 0 else "sgt", "nsw ")
    assert counter.index(f, "%n") == "%n"


def test_leaps_count_trips_only_where_an_index_may_wrap() -> None:
    def leaps(name: str, stop: int | None, step: int) -> bool:
        t = getattr(ds, name)
        end = Var("b", t) if stop is None else const(stop, t)
        return ranges.leaps(For(Var("i", t), const(0, t), end, step, Block(())))

    assert leaps("i64", None, 2)
    assert leaps("i64", HIGH, 2)
    assert not leaps("i64", HIGH - 1, 2)
    assert not leaps("i64", 1000, 2)
    assert not leaps("i32", None, 2)
