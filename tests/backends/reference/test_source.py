"""The readable Python of kernels, and its results."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.backends.faults import Fault
from dsim.backends.reference.source import run, source
from dsim.diagnostics import Source, Span
from dsim.ir.nodes import Assert, Block, Derive, KernelIR, Load, Origin, Var
from dsim.ir.types import f32, i8, i32, i64, u8, u64
from tests.building import Building

TEXT = Source("gravity.py", "for i in x:\n    r = x[i] * 2.0\n    U[None] += r\n", first_line=6)


def origin(line: int, *transforms: str) -> Origin:
    return Origin(Span(TEXT, line, 4, line, 10), (), transforms)


def gravity() -> KernelIR:
    k = Building("compute_U", f32)
    x, U, bar = (
        k.field("x", 8, 2, entries=1),
        k.field("U"),
        k.field("x", 8, 2, entries=1, derivative=("bar",)),
    )
    lam = k.param("lambda")
    with k.at(origin(6)), k.loop("i", 0, 8) as loop:
        with k.at(origin(7)):
            r = k.load(x, loop.i, 0, hint="r") * 2.0 - lam
        with k.at(origin(8)):
            k.accumulate(U, r)
        with k.at(origin(7, "reverse")):
            k.accumulate(bar, loop.i, 0, 2.0)
        with k.at(origin(7, "reverse", "forward")):
            k.accumulate(bar, loop.i, 1, -2.0, op="max")
    return k.kernel()


def everything() -> KernelIR:
    k = Building("everything", f32)
    x, n, count = k.field("x", 4), k.param("n", i32), k.field("count", type=i32)
    saved = k.buffer("saved", n, type=f32)
    with k.loop("i", 0, n, s=0.5, t=1.0, go=True, goes_on="go") as loop:
        k.store(saved, loop.i, loop.s)
        at = k.load(x, loop.i.op("mod", 4))
        loop.then(s=loop.t, t=loop.s + at, go=loop.s < 100.0)
    r, _ = k.branch(
        loop.out("s") > 3.0,
        lambda: (loop.out("s").op("sqrt"), 1),
        lambda: (k.load(saved, 0), 2),
    )
    k.branch(r > 100.0, lambda: None, lambda: k.say("r = ", r, ", n = ", n))
    with k.repeat(lambda w: w.p < 100.0, p=r) as w:
        w.then(p=w.p * w.p + 1.0)
    with k.repeat(lambda w: w.go, go=False) as forever:
        forever.then(go=True)
    old = k.swap_in(count, 3)
    k.insist(w.out("p") > r, "p = ", w.out("p"))
    return k.kernel(w.out("p"), old, 2.0)


def test_comments_quote_the_lines(golden) -> None:
    golden(source(gravity()))


def test_every_statement_as_text(golden) -> None:
    golden(source(everything()))


def test_the_text_runs_as_it_is() -> None:
    names: dict = {}
    exec(source(gravity()), names)
    x, U, bar = np.ones((8, 2), np.float32), np.zeros((), np.float32), np.full((8, 2), -5, np.float32)
    names["compute_U"](x, U, bar, np.float32(0.5))
    assert U == 8 * 1.5
    assert np.all(bar == [-3, -2])


def test_run_gives_the_returns_in_their_types(capsys: pytest.CaptureFixture[str]) -> None:
    buffers = {("x", ()): np.arange(4, dtype=np.float32), ("count", ()): np.array(4, np.int32)}
    p, old, two = run(everything(), buffers, (5,))
    # s, t: .5 1 | 1 .5 | .5 2 | 2 2.5 | 2.5 5 | 5 2.5
    expected = np.sqrt(np.float32(5))
    while expected < 100:
        expected = expected * expected + 1
    assert (p, old, two) == (expected, 4, 2)
    assert (p.dtype, old.dtype, two.dtype) == (np.float32, np.int32, np.float32)
    assert buffers["count", ()] == 7
    assert capsys.readouterr().out == "r = 2.236068, n = 5\n"


def test_arithmetic_keeps_its_type() -> None:
    k = Building("k", f32)
    p, n, b = k.param("p"), k.param("n", i8), k.param("b", u8)
    returned = run(
        k.kernel(
            p + 0.1, 0.1 - p, n + 100, -n, b - 1, n.op("floordiv", 0), p.op("floordiv", 0.5), n.cast(i64)
        ),
        {},
        (1, 100, 0),
    )
    assert [r.dtype.name for r in returned] == [
        *["float32"] * 2,
        "int8",
        "int8",
        "uint8",
        "int8",
        "float32",
        "int64",
    ]
    assert returned == (np.float32(1.1), np.float32(0.1) - np.float32(1), -56, -100, 255, 0, 2, 100)


def test_an_index_outside_is_a_fault_of_its_statement() -> None:
    k = Building()
    x, n = k.field("x", 4, 2), k.param("n", i32)
    k.store(x, 0, 0, 7.0)
    k.load(x, n, 1)
    kernel, buffer = k.kernel(), np.zeros((4, 2))
    run(kernel, {("x", ()): buffer}, (3,))
    for outside in (4, -1):
        with pytest.raises(Fault) as e:
            run(kernel, {("x", ()): buffer}, (outside,))
        assert (e.value.kind, e.value.values) == ("bounds", (outside, 1))
        assert isinstance(e.value.statement, Load)
    assert buffer[0, 0] == 7


def test_a_failed_assert_is_a_fault_with_its_values() -> None:
    k = Building()
    p = k.param("p")
    k.insist(p > 0.0, "p = ", p, " and twice that ", p * 2.0)
    with pytest.raises(Fault) as e:
        run(k.kernel(), {}, (-1,))
    assert (e.value.kind, e.value.values) == ("assertion", (-1.0, -2.0))
    assert isinstance(e.value.statement, Assert)


@pytest.mark.parametrize("length", [-1, 2**62])
def test_no_room_for_a_buffer_is_a_fault(length: int) -> None:
    k = Building()
    buffer = k.buffer("buffer", k.param("n", i64))
    k.store(buffer, 0, 1.0)
    with pytest.raises(Fault) as e:
        run(k.kernel(), {}, (length,))
    assert (e.value.kind, e.value.values) == ("memory", (length,))


def test_buffers_that_do_not_fit_are_refused() -> None:
    k = Building()
    k.load(k.field("x", 4), 0)
    with pytest.raises(ValueError, match="x is f64"):
        run(k.kernel(), {("x", ()): np.zeros(4, np.float32)})


def test_names_that_python_needs_are_changed() -> None:
    k = Building("print")
    p = k.param("np")
    k.names.fresh("f64")
    x = k.field("abs", 2)
    k.store(x, 0, k.load(x, 1, hint="maximum").op("max", p))
    buffer = np.array([0.0, 2.0])
    run(k.kernel(), {("abs", ()): buffer}, (3,))
    assert buffer[0] == 3


def test_a_derivative_must_be_expanded_first() -> None:
    p, q = Var("p", f32), Var("q", f32)
    derive = Derive("jvp", (q,), Block((), (q,)), (p,), (p,), (Var("d", f32),))
    with pytest.raises(ValueError, match="expanded"):
        source(KernelIR("k", (p,), (), Block((derive,))))


def test_constants_of_every_kind_come_back() -> None:
    values = [0.1, 1e-4, 3.4e38, 1e-45, float("inf"), float("-inf"), float("nan"), -0.0]
    k = Building("k", f32)
    p = k.param("p")
    kernel = k.kernel(*values, *(p.op("max", v) for v in values), -3, True, k.value(2**64 - 1, u64))
    returned = run(kernel, {}, (0,))
    floats = np.array(values, np.float32)
    np.testing.assert_array_equal(np.array(returned[:8]), floats)
    np.testing.assert_array_equal(np.array(returned[8:16]), np.where(floats < 0, np.float32(0), floats))
    assert returned[16:] == (-3, True, 2**64 - 1)
