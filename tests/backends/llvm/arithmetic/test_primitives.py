"""Every primitive in machine code equals the table's Python, on edge cases and random values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dsim.backends.cpu.machine import compile_kernel
from dsim.ir.build import Builder, const, evaluate
from dsim.ir.nodes import Atom, Block, Const, For, KernelIR, Let, Load, Memory, Store, Var
from dsim.ir.primitive import Formula, Libm, Primitive
from dsim.ir.primitives import TABLE
from dsim.ir.types import ALL, ScalarType, f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u32, u64

RANDOM = np.random.default_rng(7)
FLOAT_EDGES = [0.0, 0.5, 1.0, -1.0, 1.5, -1.5, 2.5, 3.0, -3.0, 7.0, 0.1, 100.0, np.inf, -np.inf, np.nan]
INEXACT = frozenset(
    r.name for r in TABLE.values() if isinstance(r.lowering, Libm | Formula)
)  # within some units of the last digit


def edges(t: ScalarType) -> list:
    if t.is_float:
        large = float(np.finfo(t.numpy).max)
        return [*FLOAT_EDGES, large, -large, *RANDOM.normal(size=8)]
    if t.kind == "bool":
        return [False, True]
    info = np.iinfo(t.numpy)
    near = [0, 1, 2, 3, 5, 7, 8, info.max, info.max - 1, info.min, info.min + 1]
    if t.kind == "int":
        near += [-1, -2, -3, -7, -8]
    return near + [int(v) for v in RANDOM.integers(info.min, info.max, 6, dtype=t.numpy)]


def columns(types: tuple[ScalarType, ...]) -> list[np.ndarray]:
    """All combinations of edge values, at most some hundreds."""
    rows = list(itertools.product(*map(edges, types)))
    if len(rows) > 700:
        rows = [rows[i] for i in RANDOM.choice(len(rows), 700, replace=False)]
    with np.errstate(all="ignore"):
        return [np.array(c, t.numpy) for c, t in zip(zip(*rows, strict=True), types, strict=True)]


def run(
    uses: list[tuple[str, ScalarType]], given: list[Atom], types: tuple[ScalarType, ...]
) -> list[np.ndarray]:
    """Each use ``(op, result type)`` of the given atoms, over columns of edge values.

    `given` holds for each argument a Const, or a Var that stands for a column.
    """
    data = columns(types)
    n = len(data[0])
    arrays = {f"a{i}": d for i, d in enumerate(data)}
    memories = [Memory(f"a{i}", t, (n,)) for i, t in enumerate(types)]
    outs = [Memory(f"out{i}", r, (n,)) for i, (_, r) in enumerate(uses)]
    b, index = Builder(), Var("i", i32)
    with b.block() as body:
        atoms: list[Atom] = []
        for m, g in zip(memories, given, strict=True):
            v = b.fresh("v", m.type)
            b.add(Load(v, m, (index,)))
            atoms.append(g if isinstance(g, Const) else v)
        for out, (op, result) in zip(outs, uses, strict=True):
            b.add(Store(out, (index,), let(b, op, atoms, result)))
    b.add(For(index, Const(0, i32), Const(n, i32), 1, Block(tuple(body))))
    for o in outs:
        arrays[o.name] = np.zeros(n, o.type.numpy)
    kernel = KernelIR("k", (), (*memories, *outs), b.close())
    compile_kernel(kernel).bind({(name, ()): a for name, a in arrays.items()})()
    for (op, result), out in zip(uses, outs, strict=True):
        compare(op, given, data, result, arrays[out.name])
    return [arrays[o.name] for o in outs]


def let(b: Builder, op: str, atoms: list[Atom], result: ScalarType) -> Atom:
    var = Var(b.names.fresh("t"), result)
    b.add(Let(var, op, tuple(atoms)))  # as it is: the builder would simplify
    return var


def compare(op: str, given: list[Atom], data: list[np.ndarray], result: ScalarType, out: np.ndarray) -> None:
    for k, got in enumerate(out):
        args = tuple(
            g if isinstance(g, Const) else Const(d[k].item(), g.type)
            for g, d in zip(given, data, strict=True)
        )
        wanted = result.numpy.type(evaluate(op, args, result).value)
        message = f"{op}{tuple(a.value for a in args)} is {wanted}, not {got}"
        assert same(op, wanted, got, args), message


def same(op: str, wanted: np.generic, got: np.generic, args: tuple[Const, ...]) -> bool:
    if not isinstance(wanted, np.floating):
        return wanted == got
    if np.isnan(wanted) or np.isnan(got):
        return bool(np.isnan(wanted) and np.isnan(got))
    if wanted == got:
        return True
    ulps = 8 if op in INEXACT else 1
    if op == "powi":  # rounding errors grow with the exponent; f16 is rounded at each step
        ulps = 8 + 4 * abs(int(args[1].value))
    spacing = np.spacing(np.abs(np.asarray(wanted, dtype=wanted.dtype)))
    tiny = np.finfo(wanted.dtype).tiny
    far = abs(float(wanted) - float(got))
    return far <= ulps * float(spacing) or far <= 4 * float(tiny)


def fits(row: Primitive, t: ScalarType) -> bool:
    return ("F" if t.is_float else "I" if t.is_integer else "B") in row.over


def rows(signature: str, t: ScalarType) -> list[Primitive]:
    return [r for r in TABLE.values() if r.parameters == signature and fits(r, t) and r.signature[-1] != "*"]


@pytest.mark.parametrize("t", ALL, ids=str)
def test_unary(t: ScalarType) -> None:
    uses = [(r.name, r.result_type((t,))) for r in rows("T", t)]
    if t in (f16, f32, f64):  # beyond this glibc's vectors lose digits that NumPy's do not
        uses = [u for u in uses if u[0] not in ("sin", "cos", "tan")]
    run(uses, [Var("x", t)], (t,))


@pytest.mark.parametrize("t", ALL, ids=str)
def test_binary(t: ScalarType) -> None:
    uses = [(r.name, r.result_type((t, t))) for r in rows("TT", t)]
    run(uses, [Var("x", t), Var("y", t)], (t, t))


@pytest.mark.slow
@pytest.mark.parametrize("t", [t for t in ALL if t.is_integer], ids=str)
@pytest.mark.parametrize("divisor", [0, 1, 2, 3, 8, 7, -1, -2, -3, -8])
def test_by_a_constant(t: ScalarType, divisor: int) -> None:
    known = const(divisor, t)
    run([(op, t) for op in ("floordiv", "mod", "shl", "shr")], [Var("x", t), known], (t, t))


@pytest.mark.parametrize("t", ALL, ids=str)
def test_select(t: ScalarType) -> None:
    run([("select", t)], [Var("c", u1), Var("x", t), Var("y", t)], (u1, t, t))


@pytest.mark.parametrize("t", ALL, ids=str)
def test_cast(t: ScalarType) -> None:
    run([("cast", to) for to in ALL], [Var("x", t)], (t,))


def test_cast_to_half_rounds_once() -> None:
    values = np.concatenate([RANDOM.normal(size=4000), 1 + 2.0**-11 + RANDOM.normal(size=4000) * 2.0**-26])
    x, y, i = Memory("x", f64, (8000,)), Memory("y", f16, (8000,)), Var("i", i32)
    b = Builder()
    with b.block() as body:
        v = b.fresh("v", f64)
        b.add(Load(v, x, (i,)))
        b.add(Store(y, (i,), let(b, "cast", [v], f16)))
    b.add(For(i, Const(0, i32), Const(8000, i32), 1, Block(tuple(body))))
    out = np.zeros(8000, np.float16)
    compile_kernel(KernelIR("k", (), (x, y), b.close())).bind({x.key: values, y.key: out})()
    assert np.array_equal(out, values.astype(np.float16))


@pytest.mark.parametrize(
    ("a", "to"), [(f32, i32), (i32, f32), (f64, u64), (f16, i16), (u32, i32), (i8, u8), (u16, f16)]
)
def test_bit_cast(a: ScalarType, to: ScalarType) -> None:
    run([("bit_cast", to)], [Var("x", a)], (a,))


@pytest.mark.parametrize("t", [f16, f32, f64, i32, u32, i64, i8], ids=str)
def test_powers(t: ScalarType) -> None:
    for n in (0, 1, 2, 3, 5, 10, -1, -2, -3):
        run([("powi", t)], [Var("x", t), const(n, i32)], (t, i32))


@pytest.mark.parametrize("t", [f32, f64, i32, u32, u8], ids=str)
@pytest.mark.parametrize("n", [i32, u8, i64], ids=str)
def test_powers_known_at_run_time(t: ScalarType, n: ScalarType) -> None:
    exponents = np.array([0, 1, 2, 3, 9, 255 if n == u8 else -3], n.numpy)
    bases = np.array([0, 1, 2, 3, 5, 7], t.numpy)
    k = len(bases)
    x, p, y = Memory("x", t, (k,)), Memory("p", n, (k,)), Memory("y", t, (k,))
    i, b = Var("i", i32), Builder()
    with b.block() as body:
        v, e = b.fresh("v", t), b.fresh("e", n)
        b.add(Load(v, x, (i,)))
        b.add(Load(e, p, (i,)))
        b.add(Store(y, (i,), let(b, "powi", [v, e], t)))
    b.add(For(i, Const(0, i32), Const(k, i32), 1, Block(tuple(body))))
    out = np.zeros(k, t.numpy)
    compile_kernel(KernelIR("k", (), (x, p, y), b.close())).bind(
        {x.key: bases, p.key: exponents, y.key: out}
    )()
    compare("powi", [Var("x", t), Var("n", n)], [bases, exponents], t, out)


@pytest.mark.parametrize("t", [f32, f64], ids=str)
@pytest.mark.parametrize("op", ["sin", "cos", "tan"])
def test_angles(t: ScalarType, op: str) -> None:
    angles = np.concatenate([np.linspace(-7, 7, 200), [0.0, np.inf, -np.inf, np.nan]]).astype(t.numpy)
    n = len(angles)
    x, y, i, b = Memory("x", t, (n,)), Memory("y", t, (n,)), Var("i", i32), Builder()
    with b.block() as body:
        v = b.fresh("v", t)
        b.add(Load(v, x, (i,)))
        b.add(Store(y, (i,), let(b, op, [v], t)))
    b.add(For(i, Const(0, i32), Const(n, i32), 1, Block(tuple(body))))
    out = np.zeros(n, t.numpy)
    compile_kernel(KernelIR("k", (), (x, y), b.close())).bind({x.key: angles, y.key: out})()
    with np.errstate(invalid="ignore"):
        wanted = getattr(np, op)(angles)
    np.testing.assert_allclose(
        out, wanted, rtol=1e-6 if t == f32 else 1e-14, atol=1e-6 if t == f32 else 1e-14
    )


@pytest.mark.parametrize("kinds", [(u64, i32, i32), (i64, i64, u32), (u32, u64, i64)], ids=str)
def test_random_bits(kinds: tuple[ScalarType, ScalarType, ScalarType]) -> None:
    run([("random_bits", u32)], [Var(f"r{i}", t) for i, t in enumerate(kinds)], kinds)
