"""Property tests of the table: every row against finite differences, over its domain."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest

from dsim.backends.reference.source import run
from dsim.ir import types
from dsim.ir.build import Builder, const
from dsim.ir.check import check
from dsim.ir.nodes import Atom, Block, Const, KernelIR, Let, Var
from dsim.ir.primitive import Primitive, host
from dsim.ir.primitives import TABLE
from dsim.ir.types import ALL, ScalarType, f16, f32, f64, i32, i64, u1, u8, u32

ROWS = sorted(TABLE.values(), key=lambda row: row.name)
DIFFERENTIABLE = [row for row in ROWS if any(row.times)]


def ids(row: Primitive) -> str:
    return row.name


def of_kind(kind: str) -> ScalarType:
    return {"F": f64, "I": i32, "B": u1}[kind]


def argument_types(row: Primitive, t: ScalarType) -> tuple[ScalarType, ...]:
    return tuple({"T": t, "b": u1, "i": i32, "n": i32}[p] for p in row.parameters)


def known(row: Primitive, args: tuple[Var, ...]) -> tuple[Atom, ...]:
    """`args`, in whose places numbers stand that have to be known when compiling."""
    return tuple(Const(1, i32) if p == "n" else a for p, a in zip(row.parameters, args, strict=True))


def value_kernel(row: Primitive, result: ScalarType | None = None) -> KernelIR:
    """``row(*args)`` over f64."""
    params = tuple(Var(f"a{n}", t) for n, t in enumerate(argument_types(row, f64)))
    var = Var("z", row.result_type(tuple(p.type for p in params), result or f64))
    return KernelIR("value", params, (), Block((Let(var, row.name, known(row, params)),), (var,)))


def product_kernel(row: Primitive, i: int) -> KernelIR:
    """``times[i]`` as a kernel of the arguments, the result and the factor."""
    args = tuple(Var(f"a{n}", t) for n, t in enumerate(argument_types(row, f64)))
    z, t = Var("z", f64), Var("t", f64)
    b = Builder()
    for v in (*args, z, t):
        b.names.fresh(v.name)
    times = row.times[i]
    assert times is not None
    product = times(*map(b.term, known(row, args)), b.term(z), b.term(t))
    return KernelIR("product", (*args, z, t), (), b.close((product.atom,)))


def points(row: Primitive) -> list[list[float]]:
    rng = np.random.default_rng(len(row.name))
    given = [[rng.uniform(low, high) for low, high in row.domain] for _ in range(20)]
    return [
        [v if p == "T" else round(v) for p, v in zip(row.parameters, point, strict=True)] for point in given
    ]


PARTIALS = [
    pytest.param(row, i, id=f"{row.name}-{i}") for row in DIFFERENTIABLE for i, f in enumerate(row.times) if f
]


@pytest.mark.parametrize(("row", "i"), PARTIALS)
def test_derivatives_against_differences(row: Primitive, i: int) -> None:
    value, product = value_kernel(row), product_kernel(row, i)
    check(product)
    for point in points(row):
        step = 1e-6 * max(1.0, abs(point[i]))
        ends = [run(value, {}, [*point[:i], point[i] + d, *point[i + 1 :]])[0] for d in (step, -step)]
        slope = (ends[0] - ends[1]) / (2 * step)
        z = run(value, {}, point)[0]
        for t in (1.0, -2.5, 0.0):
            assert run(product, {}, [*point, z, t])[0] == pytest.approx(slope * t, rel=2e-6, abs=2e-8), point


@pytest.mark.parametrize(("row", "i"), PARTIALS)
def test_products_are_linear_in_their_factor(row: Primitive, i: int) -> None:
    value, product = value_kernel(row), product_kernel(row, i)
    for point in points(row)[:5]:
        z = run(value, {}, point)[0]
        one, other, both = (run(product, {}, [*point, z, t])[0] for t in (0.75, -3.0, -2.25))
        assert one + other == pytest.approx(both, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=ids)
def test_derivatives_are_made_of_primitives_with_derivatives(row: Primitive) -> None:
    """Closed under differentiation: so every order exists."""
    for i, times in enumerate(row.times):
        if times is None:
            continue
        for s in product_kernel(row, i).body.statements:
            assert isinstance(s, Let)
            inner = TABLE[s.op]
            if s.var.type.is_float and s.op != "floordiv":  # constant between its steps
                assert any(inner.times), s.op


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_rows_are_complete(row: Primitive) -> None:
    assert row.name == next(n for n, r in TABLE.items() if r is row)
    assert len(row.times) == len(row.parameters)
    assert set(row.over) <= set("FIB")
    if any(row.times):
        assert len(row.domain) == len(row.parameters)
        assert "F" in row.over


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_types_of_results(row: Primitive) -> None:
    for kind in row.over:
        args = argument_types(row, of_kind(kind))
        result = row.result_type(args, f32)
        expected = {"T": of_kind(kind), "b": u1, "r": u32, "*": f32}[row.signature.split("->")[1]]
        assert result == expected


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_types_that_do_not_fit_are_refused(row: Primitive) -> None:
    for kind in set("FIB") - set(row.over):
        if "T" in row.parameters:
            with pytest.raises(TypeError, match="does not take"):
                row.result_type(argument_types(row, of_kind(kind)), f32)
    with pytest.raises(TypeError, match="arguments, got"):
        row.result_type((f32,) * (len(row.parameters) + 1), f32)
    if row.parameters.count("T") > 1:
        mixed = [{"T": f32, "b": u1, "i": i32}[p] for p in row.parameters]
        mixed[row.parameters.index("T")] = f64
        with pytest.raises(TypeError, match="different types"):
            row.result_type(tuple(mixed))


def test_a_cast_needs_its_target() -> None:
    with pytest.raises(TypeError, match="needs a result type"):
        TABLE["cast"].result_type((f32,))


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_values_have_the_type_of_the_result(row: Primitive) -> None:
    for t in ALL:
        if ("F" if t.is_float else "I" if t.is_integer else "B") not in row.over:
            continue
        args = argument_types(row, t)
        params = tuple(Var(f"a{n}", a) for n, a in enumerate(args))
        var = Var("z", row.result_type(args, t if row.name == "bit_cast" else f16))
        kernel = KernelIR("k", params, (), Block((Let(var, row.name, known(row, params)),), (var,)))
        check(kernel)
        for values in ((1,) * len(args), (0,) * len(args)):
            assert run(kernel, {}, values)[0].dtype == var.type.numpy


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_constants_fold_to_what_running_gives(row: Primitive) -> None:
    if row.name in ("random_bits", "stop", "copy"):
        return
    low = [max(d[0], 0) if d[1] > 0 else d[0] for d in row.domain] or [1] * len(row.parameters)
    kernel = value_kernel(row, i64 if row.name == "bit_cast" else f32) if "F" in row.over else None
    if kernel is None:
        params = tuple(Var(f"a{n}", u8) for n in range(len(row.parameters)))
        var = Var("z", row.result_type((u8,) * len(params)))
        kernel = KernelIR("value", params, (), Block((Let(var, row.name, known(row, params)),), (var,)))
    values = [p.type.numpy.type(v).item() for p, v in zip(kernel.params, low, strict=True)]
    b = Builder()
    result = kernel.body.statements[0]
    assert isinstance(result, Let)
    folded = b.let(
        row.name,
        *(const(v, p.type) for v, p in zip(values, kernel.params, strict=True)),
        type=result.var.type,
    )
    assert isinstance(folded, Const)
    ran = run(kernel, {}, values)[0].item()
    assert folded.value == ran or (math.isnan(folded.value) and math.isnan(ran))


@pytest.mark.parametrize(
    ("op", "point", "which", "expected"),
    [
        ("max", (1.0, 1.0), 0, 0.0),
        ("max", (1.0, 1.0), 1, 1.0),
        ("min", (1.0, 1.0), 0, 0.0),
        ("min", (1.0, 1.0), 1, 1.0),
        ("abs", (0.0,), 0, 0.0),
        ("sqrt0", (0.0,), 0, 0.0),
        ("pow", (0.0, 0.0), 0, 0.0),
        ("pow", (0.0, 2.0), 1, 0.0),
        ("powi", (0.0, 1), 0, 1.0),
        ("powi", (0.0, 0), 0, 0.0),
        ("mul_strong", (math.inf, 0.0), 1, math.inf),
        ("div_strong", (0.0, 2.0), 0, 0.5),
        ("div_strong", (0.0, 0.0), 1, 0.0),
        ("mul_div_strong", (math.inf, 0.0, 2.0), 0, 0.0),
        ("mul_div_strong", (3.0, 0.0, 2.0), 1, 1.5),
        ("mul_div_strong", (3.0, 0.0, 0.0), 2, 0.0),
    ],
)
def test_ties_and_edges(op: str, point: tuple, which: int, expected: float) -> None:
    z = run(value_kernel(TABLE[op]), {}, point)[0]
    assert run(product_kernel(TABLE[op], which), {}, [*point, z, 1.0])[0] == expected


@pytest.mark.parametrize(
    ("op", "point", "which"),
    [
        ("sqrt", (0.0,), 0),
        ("log", (0.0,), 0),
        ("rsqrt", (0.0,), 0),
        ("div", (1.0, 0.0), 1),
        ("asin", (1.0,), 0),
    ],
)
def test_a_pole_times_no_change_is_no_change(op: str, point: tuple, which: int) -> None:
    z = run(value_kernel(TABLE[op]), {}, point)[0]
    assert run(product_kernel(TABLE[op], which), {}, [*point, z, 0.0])[0] == 0


def test_promotion_does_not_depend_on_the_order() -> None:
    for a, b in itertools.product(ALL, ALL):
        both = types.promote(a, b)
        assert both == types.promote(b, a)
        assert both.is_float == (a.is_float or b.is_float)
        assert both != u1


EDGES = {"F": [0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan], "I": [0, 1, -1, 7, 2**31 - 1], "B": [0, 1]}
COMMUTATIVE = [(row, kind) for row in ROWS if row.commutative for kind in row.over]


@pytest.mark.parametrize(
    ("row", "kind"), COMMUTATIVE, ids=[f"{row.name}-{kind}" for row, kind in COMMUTATIVE]
)
def test_commutative_arguments_may_be_exchanged(row: Primitive, kind: str) -> None:
    value = host(row.python, 2)
    with np.errstate(all="ignore"):
        for a, b in itertools.product(map(of_kind(kind).numpy.type, EDGES[kind]), repeat=2):
            np.testing.assert_equal(float(value(a, b)), float(value(b, a)))  # tells 0 from -0


FIRST = {"add": 0, "mul": 1, "min": 2**31 - 1, "max": -(2**31), "band": -1, "bor": 0, "bxor": 0}


@pytest.mark.parametrize("row", [row for row in ROWS if row.reduction is not None], ids=ids)
def test_parts_of_a_reduction_are_combined_by_its_accumulation(row: Primitive) -> None:
    assert row.reduction is not None
    step, combine = host(row.python, 2), host(TABLE[row.reduction].python, 2)
    start, *values = (np.int32(v) for v in (9, 3, -4, 12, 5, -7))
    whole = functools.reduce(step, values, start)
    for cut in range(len(values)):
        early = functools.reduce(step, values[:cut], start)
        late = functools.reduce(step, values[cut:], np.int32(FIRST[row.reduction]))
        assert combine(early, late) == whole
    if row.reduction == row.name:
        assert functools.reduce(lambda s, v: step(v, s), values, start) == whole
