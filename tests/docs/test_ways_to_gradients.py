"""Each way to shape a field with each way to request its gradient: a table in the docs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dsim as ti

PAGE = Path(__file__).parents[2] / "docs" / "coming-from-taichi.md"
LENGTH = 4
LAZY: list[Any] = []  # the nodes whose lazy_grad() means the fields of the test at hand


def _shaped(make: Callable[..., Any], **options: Any) -> Any:
    LAZY.append(ti.root)
    return make(shape=LENGTH, **options)


def _placed(make: Callable[..., Any], **options: Any) -> Any:
    x = make(**options)
    block = ti.root.dense(ti.i, LENGTH)
    block.place(x)
    LAZY.append(ti.root)
    return x


def _nested(make: Callable[..., Any], **options: Any) -> Any:
    x = make(**options)
    block = ti.root.dense(ti.i, LENGTH // 2).dense(ti.i, 2)
    block.place(x)
    LAZY.append(block)
    return x


def _single(make: Callable[..., Any], **options: Any) -> Any:
    x = make(**options)
    ti.root.place(x)
    LAZY.append(ti.root)
    return x


def _shared(make: Callable[..., Any], **options: Any) -> Any:
    x, beside = make(**options), ti.field(ti.i32)
    block = ti.root.dense(ti.i, LENGTH)
    block.place(beside, x)
    LAZY.append(block)
    return x


def _built(make: Callable[..., Any], **options: Any) -> Any:
    x, builder = make(**options), ti.FieldsBuilder()
    builder.dense(ti.i, LENGTH).place(x)
    builder.finalize()
    LAZY.append(builder)
    return x


def _by_component(make: Callable[..., Any], **options: Any) -> Any:
    x = make(**options)
    fields = [x.get_member_field(k) for k in x.keys] if isinstance(x, ti.StructField) else [x]
    for f in fields:
        for at in np.ndindex(f.entry_shape):
            ti.root.dense(ti.i, LENGTH).place(f.get_scalar_field(*at))
    LAZY.append(ti.root)
    return x


def _with_offset(make: Callable[..., Any], **options: Any) -> Any:
    LAZY.append(ti.root)
    return make(shape=LENGTH, offset=-1, **options)


SHAPES: dict[str, Callable[..., Any]] = {
    "`shape=`": _shaped,
    "`root.dense(…).place(x)`": _placed,
    "`root.dense(…).dense(…).place(x)`": _nested,
    "`root.place(x)`": _single,
    "`block.place(x)`, several fields in one block": _shared,
    "`FieldsBuilder().dense(…).place(x)`": _built,
    "`v.get_scalar_field(i)`, placed one by one": _by_component,
    "`offset=`": _with_offset,
    "`ndarray`": None,  # type: ignore[dict-item]
}


def _place_gradient(x: Any) -> None:
    ti.root.dense(ti.i, LENGTH).place(x.grad) if x.shape else ti.root.place(x.grad)


def _lazy(x: Any) -> None:
    LAZY[-1].lazy_grad()


WAYS: dict[str, tuple[dict[str, bool], list[Callable[[Any], None]]]] = {
    "`needs_grad=True`": ({"needs_grad": True}, []),
    "`place(x.grad)`": ({}, [_place_gradient]),
    "`lazy_grad()`": ({}, [_lazy]),
    "all of them": ({"needs_grad": True}, [_place_gradient, _lazy]),
}

FIELDS: dict[str, Callable[..., Any]] = {
    "numbers": lambda **options: ti.field(ti.f64, **options),
    "vectors": lambda **options: ti.Vector.field(2, ti.f64, **options),
    "matrices": lambda **options: ti.Matrix.field(2, 2, ti.f64, **options),
    "structs": lambda **options: ti.Struct.field({"a": ti.math.vec2}, **options),
}
ARRAYS: dict[str, Callable[..., Any]] = {
    "numbers": lambda **options: ti.ndarray(ti.f64, **options),
    "vectors": lambda **options: ti.Vector.ndarray(2, ti.f64, **options),
    "matrices": lambda **options: ti.Matrix.ndarray(2, 2, ti.f64, **options),
}


def _made(shape: str, way: str, kind: str) -> Any:
    options, steps = WAYS[way]
    x = SHAPES[shape](FIELDS[kind], **options) if SHAPES[shape] else ARRAYS[kind](shape=LENGTH, **options)
    for step in steps:
        step(x)
    return x.a if kind == "structs" else x


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ti.init(default_fp=ti.f64)
    LAZY[:] = [ti.root]


@ti.kernel
def cube(x: ti.template(), y: ti.template()):
    for at in ti.grouped(x):
        y[None] += (x[at] ** 3).sum() if ti.static(x.ndim > 0) else x[at] ** 3


CELLS = [(s, w) for s, w in itertools.product(SHAPES, WAYS) if (s, w) != ("`ndarray`", "`lazy_grad()`")]


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize(("shape", "way"), CELLS)
def test_a_cell(shape, way, kind):
    if kind == "structs" and shape == "`ndarray`":
        with pytest.raises(TypeError, match="structs cannot be elements here"):
            ti.ndarray(ti.types.struct(a=ti.math.vec2), shape=LENGTH)
        return
    x, loss = _made(shape, way, kind), ti.field(ti.f64, shape=(), needs_grad=True)
    x.from_numpy(np.arange(x.to_numpy().size).reshape(x.to_numpy().shape))
    with ti.ad.Tape(loss):
        cube(x, loss)
    np.testing.assert_array_equal(x.grad.to_numpy(), 3 * x.to_numpy() ** 2)


@pytest.mark.parametrize("pair", list(zip(CELLS, CELLS[7:] + CELLS[:7], strict=True)))
def test_fields_made_in_different_ways_meet(pair):
    (a, way_a), (b, way_b) = pair
    x, y = _made(a, way_a, "numbers"), _made(b, way_b, "numbers")
    loss = ti.field(ti.f64, shape=(), needs_grad=True)
    x.fill(3.0)

    @ti.kernel
    def run(x: ti.template(), y: ti.template()):
        for i in ti.grouped(x):
            for j in ti.grouped(y):
                y[j] += x[i] ** 2

    with ti.ad.Tape(loss):
        run(x, y)
        cube(y, loss)
    count = x.to_numpy().size
    expected = 2 * 3.0 * (3 * (9.0 * count) ** 2) * y.to_numpy().size
    np.testing.assert_allclose(x.grad.to_numpy(), np.full(x.shape, expected))


def test_lazy_gradients_do_not_mean_ndarrays():
    a = ti.ndarray(ti.f64, shape=LENGTH)
    ti.root.lazy_grad()
    assert not a.needs_grad
    with pytest.raises(ti.GradientError, match="has no gradient"):
        a.grad.to_numpy()


@pytest.mark.slow
def test_the_table_is_what_is_tested():
    page = PAGE.read_text(encoding="utf-8")
    section = page[page.index("### Layouts, and ways") :].split("\n\n")
    table = next(block for block in section if block.startswith("|"))
    head, _, *rows = ([c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines())
    assert head[1:] == list(WAYS)
    assert [row[0] for row in rows] == list(SHAPES)
    assert {cell for row in rows for cell in row[1:]} == {"right", "none: it lies under no root"}
    wrong = [(row[0], head[k]) for row in rows for k, cell in enumerate(row) if k and cell != "right"]
    assert wrong == [("`ndarray`", "`lazy_grad()`")]
