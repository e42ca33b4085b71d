"""Property tests of the table's kinks: each is at its stated place, with its stated derivative."""

from __future__ import annotations

import math

import pytest

from dsim.backends.reference.source import run
from dsim.ir import kinks
from dsim.ir.build import Builder
from dsim.ir.nodes import KernelIR, Var
from dsim.ir.primitive import Primitive
from dsim.ir.primitives import TABLE
from dsim.ir.types import f64
from tests.ir.test_primitives import points, product_kernel, value_kernel

KINKED = [pytest.param(row, id=name) for name, row in TABLE.items() if row.kink is not None]
STEP = 1e-6


def kink_of(row: Primitive) -> kinks.Kink:
    assert row.kink is not None
    return row.kink


def value(row: Primitive, *args: float) -> float:
    return float(run(value_kernel(row), {}, list(args))[0])


def partials(row: Primitive, *args: float) -> list[float]:
    z = value(row, *args)
    return [
        0.0 if times is None else float(run(product_kernel(row, i), {}, [*args, z, 1.0])[0])
        for i, times in enumerate(row.times)
    ]


def there(row: Primitive, *args: float) -> bool:
    """Whether the kernel's own test says that it is at a kink."""
    given = [Var(f"a{n}", f64) for n in range(len(row.parameters))]
    z, builder = Var("z", f64), Builder()
    for v in (*given, z):
        builder.names.fresh(v.name)
    atom = kink_of(row).tie(*map(builder.term, (*given, z))).atom
    kernel = KernelIR("tie", (*given, z), (), builder.close((atom,)))
    return bool(run(kernel, {}, [*args, value(row, *args)])[0])


def moved(row: Primitive, i: int, by: float) -> tuple[float, ...]:
    at = kink_of(row).at
    return (*at[:i], at[i] + by, *at[i + 1 :])


@pytest.mark.parametrize("row", KINKED)
def test_a_kernel_sees_that_it_is_there(row: Primitive) -> None:
    assert there(row, *kink_of(row).at)
    assert not any(there(row, *point) for point in points(row))
    assert not any(there(row, *moved(row, i, by)) for i in range(len(row.parameters)) for by in (STEP, -STEP))


@pytest.mark.parametrize("row", KINKED)
def test_nan_is_not_there(row: Primitive) -> None:
    for i, _ in enumerate(row.parameters):
        assert not there(row, *moved(row, i, math.nan))


@pytest.mark.parametrize("row", KINKED)
def test_there_is_no_derivative(row: Primitive) -> None:
    """The value jumps, or its slopes on both sides differ; of a root, by what is squared below it."""
    both = (STEP**2,) * 2 if kink_of(row) is kinks.POINT else (STEP, -STEP)
    for i in kink_of(row).by or range(len(row.parameters)):
        here = value(row, *kink_of(row).at)
        right, left = (value(row, *moved(row, i, by)) - here for by in both)
        slopes = right / STEP, -left / STEP
        assert all(map(math.isfinite, slopes[: 1 if row.name == "pow" else 2]))  # a power of 0 below 0 is ∞
        assert slopes[0] != pytest.approx(slopes[1], abs=0.1)


TAKEN = {
    "dsim takes 0": lambda row: [0.0] * len(row.parameters),
    "dsim takes that of the right operand": lambda row: [0.0, 1.0],
    "dsim takes that of the period that begins there": lambda row: partials(row, *moved(row, 0, STEP)),
}


@pytest.mark.parametrize("row", KINKED)
def test_what_is_taken_is_what_the_rule_gives(row: Primitive) -> None:
    kink = kink_of(row)
    assert partials(row, *kink.at) == TAKEN[kink.taken](row)


@pytest.mark.parametrize("row", KINKED)
def test_kinks_of_floats_alone(row: Primitive) -> None:
    """`across` names floats when the arguments are."""
    given = [Var(f"a{n}", f64) for n in range(len(row.parameters))]
    builder = Builder()
    across = kink_of(row).across(*map(builder.term, (*given, Var("z", f64))))
    assert across
    assert all(t.type == f64 for t in across)


def test_comparisons_and_choices_have_none() -> None:
    """Where a program branches, both arms may well meet: that is not a primitive's to say."""
    assert all(TABLE[op].kink is None for op in ("select", "lt", "le", "gt", "ge", "eq", "ne", "cast"))
