"""Derivatives of loops at the ends of the integer types: the reverse loop has the same number of trips."""

import itertools

import numpy as np
import pytest

import dsim as ds
from dsim.ir.ranges import length

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")]

WIDTHS = {"i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32, "i64": 64, "u64": 64}


def ends(name: str) -> list[int]:
    low = 0 if name[0] == "u" else -(1 << WIDTHS[name] - 1)
    high, middle = low + (1 << WIDTHS[name]) - 1, low + (1 << WIDTHS[name] - 1)
    return [low, low + 3, middle, middle + 3, high - 3, high]


def wanted(x: float, trips: int) -> tuple[float, float, float]:
    """Of `carried` below: its value, and two derivatives."""
    s, d, dd = x, 1.0, 0.0
    for k in range(trips):
        s, d, dd = s * 0.5 + x * x * k, d * 0.5 + 2 * x * k, dd * 0.5 + 2 * k
    return s, d, dd


def carried(name: str, step: int):
    t = getattr(ds, name)
    x, y = (ds.field(ds.f64, shape=(), needs_grad=True) for _ in range(2))

    @ds.kernel
    def k(a: t, b: t):
        s, n = x[None], 0
        for _ in range(a, b, step):
            s = s * 0.5 + x[None] * x[None] * n
            n = n + 1
        y[None] += s

    return k, x, y


@pytest.mark.parametrize(
    ("name", "step"),
    [
        *((name, step) for name in WIDTHS for step in (1, -1, 2)),
        ("i64", 2**63 - 1),
        ("i64", -(2**63)),
        ("i32", -3),
    ],
)
def test_carried_values(name: str, step: int) -> None:
    ds.init(default_fp=ds.f64)
    k, x, y = carried(name, step)
    for a, b in itertools.product(ends(name), repeat=2):
        trips = length(a, b, step)
        if trips > 300:
            continue
        x[None], y[None] = 1.5, 0.0
        with ds.Tape(loss=y):
            k(a, b)
        value, slope, _ = wanted(1.5, trips)
        np.testing.assert_allclose(
            [y[None], x.grad[None]], [value, slope], err_msg=f"range({a}, {b}, {step})"
        )


SMALL = [
    ("i64", 2**63 - 4, 2**63 - 1),
    ("i64", 2**63 - 1, -(2**63)),
    ("u64", 2**64 - 3, 2**64 - 1),
    ("u64", 2**64 - 1, 0),
    ("i32", 2**31 - 3, 2**31 - 1),
    ("i32", 2**31 - 1, -(2**31)),
    ("u32", 3, 6),
    ("u32", 6, 3),
]


@pytest.mark.parametrize(("name", "a", "b"), SMALL)
def test_other_orders(name: str, a: int, b: int) -> None:
    """Forward mode, and second derivatives by two tapes and by forward mode over a tape."""
    ds.init(default_fp=ds.f64)
    k, x, y = carried(name, 1)
    slope = ds.field(ds.f64, shape=(), needs_grad=True)

    @ds.kernel
    def take():
        slope[None] += x.grad[None]

    value, first, second = wanted(1.5, max(0, b - a))
    x[None] = 1.5
    with ds.ad.FwdMode(loss=y, param=x):
        k(a, b)
    np.testing.assert_allclose([y[None], y.dual[None]], [value, first])
    y[None] = 0.0
    with ds.Tape(loss=slope):
        with ds.Tape(loss=y):
            k(a, b)
        take()
    np.testing.assert_allclose([slope[None], x.grad[None]], [first, second])
    with ds.ad.FwdMode(loss=y, param=x), ds.Tape(loss=y):
        k(a, b)
    np.testing.assert_allclose(x.grad.dual[None], second)


def test_sums_of_indices_at_an_end() -> None:
    """Of a loop whose iterations run at once, and of one in a func with ends known when it is compiled."""
    ds.init(default_fp=ds.f64)
    x, y = (ds.field(ds.f64, shape=(), needs_grad=True) for _ in range(2))

    @ds.func
    def weight(i):
        return float(i - (2**63 - 3))

    @ds.kernel
    def k():
        for i in range(2**63 - 3, 2**63 - 1):
            y[None] += x[None] * weight(i)

    x[None] = 1.5
    with ds.Tape(loss=y):
        k()
    assert (y[None], x.grad[None]) == (1.5, 1.0)


def test_a_way_out_of_a_range_without_end() -> None:
    """What so many trips could save is not there: refused, before anything is added to a gradient."""
    ds.init(default_fp=ds.f64)
    x, y = (ds.field(ds.f64, shape=(), needs_grad=True) for _ in range(2))

    @ds.kernel
    def k(a: ds.i64, b: ds.i64):
        s, n = x[None], 0
        for _ in range(a, b):
            if n == 3:
                break
            s = s * s
            n = n + 1
        y[None] += s

    x[None] = 1.5
    k(-(2**63), 2**63 - 1)
    assert y[None] == 1.5**8
    with pytest.raises(ds.LaunchError, match="there is no memory"), ds.Tape(loss=y):
        k(-(2**63), 2**63 - 1)
    assert x.grad[None] == 0.0
