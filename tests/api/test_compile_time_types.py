"""Types at compile time in kernels: comparison, `isinstance`, unspecified types of arrays."""

from __future__ import annotations

import numpy as np
import pytest

import dsim as ds
from dsim.diagnostics import CompilationError, DsimError

x = v = None  # fields, made anew for each test: another one may `reset()`


@pytest.fixture(autouse=True)
def doubles(monkeypatch):
    ds.init(default_fp=ds.f64)
    monkeypatch.setitem(globals(), "x", ds.field(ds.f32, shape=2))
    monkeypatch.setitem(globals(), "v", ds.Vector.field(2, ds.f64, shape=2))


def test_types_of_fields():
    @ds.kernel
    def k() -> ds.i32:
        r = 0
        if ds.static(x.dtype == ds.f32):
            r += 1
        if ds.static(v.dtype != ds.f32):
            r += 10
        if x.dtype == ds.f32:
            r += 100
        if v.dtype == ds.f32:
            r += 1000
        return r

    assert k() == 111


@pytest.mark.parametrize(
    ("dtype", "wanted"), [(ds.f32, 1111), (ds.f64, 101), (float, 101), (np.float32, 1111), (ds.i32, 10_000)]
)
def test_types_as_arguments(dtype, wanted):
    @ds.kernel
    def k(dt: ds.template()) -> ds.i32:
        r = 0
        if ds.static(dt == ds.f64 or dt == ds.f32):
            r += 1
        if dt == ds.f32:
            r += 10
        if ds.static(dt in (ds.f32, ds.f64)):
            r += 100
        if dt is ds.f32:
            r += 1000
        if dt not in (ds.f32, float):
            r += 10_000
        return r

    assert k(dtype) == wanted


def test_types_of_vectors():
    @ds.kernel
    def k(t: ds.template()) -> ds.i32:
        return 1 if ds.static(t == ds.types.vector(3, ds.f32)) else 2

    assert (k(ds.types.vector(3, ds.f32)), k(ds.math.vec3), k(ds.f32)) == (1, 2, 2)


def test_a_type_is_no_number():
    @ds.kernel
    def k() -> ds.i32:
        return 1 if x.dtype == 3 else 2

    with pytest.raises(CompilationError, match="`==` does not work on a Python object"):
        k()


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (lambda: x, 1),
        (lambda: v, 11),
        (lambda: 2, 100),
        (lambda: 2.5, 1100),
        (lambda: "a", 10_000),
        (lambda: None, 0),
        (lambda: [1], 0),
    ],
)
def test_isinstance_of_arguments(value, wanted):
    @ds.kernel
    def k(q: ds.template()) -> ds.i32:
        r = 0
        if ds.static(isinstance(q, ds.Field)):
            r += 1
        if ds.static(isinstance(q, ds.MatrixField)):
            r += 10
        if ds.static(isinstance(q, (int, float))):
            r += 100
        if isinstance(q, float):
            r += 1000
        if isinstance(q, str):
            r += 10_000
        return r

    assert k(value()) == wanted


def test_isinstance_of_values_of_run_time():
    def kind(a):
        if isinstance(a, ds.Vector):
            return 1
        if isinstance(a, ds.Matrix):
            return 2
        return 3 if isinstance(a, bool) else 4 if isinstance(a, int) else 5

    @ds.kernel
    def k(a: float, n: int) -> ds.types.vector(5, ds.i32):
        m = ds.Matrix([[a, a], [a, a]])
        return [kind(ds.Vector([a, a])), kind(m), kind(a > 1), kind(n), kind(a)]

    assert k(1.0, 2).to_numpy().tolist() == [1, 2, 3, 4, 5]

    @ds.kernel
    def wrong(a: float) -> ds.i32:
        return isinstance(a, 3)

    with pytest.raises(CompilationError, match="`isinstance` takes classes, got an integer"):
        wrong(1.0)


def test_elements_of_arrays_that_are_left_open():
    @ds.kernel
    def first(a: ds.types.ndarray(dtype=ds.types.vector(), ndim=1)) -> float:
        return a[0][0]

    @ds.kernel
    def of_three(a: ds.types.ndarray(dtype=ds.types.vector(3))) -> float:
        return a[0][2]

    @ds.kernel
    def corner(a: ds.types.ndarray(dtype=ds.types.matrix(dtype=ds.f32))) -> float:
        return a[0][1, 1]

    for n, dtype in ((2, ds.f32), (3, ds.f64)):
        a = ds.Vector.ndarray(n, dtype, shape=2)
        a[0] = [4.0, 5.0, 6.0][:n]
        assert first(a) == 4.0
    assert of_three(a) == 6.0
    m = ds.Matrix.ndarray(2, 2, ds.f32, shape=1)
    m[0] = [[1.0, 2.0], [3.0, 4.0]]
    assert corner(m) == 4.0
    with pytest.raises(DsimError, match="vectors of 3"):
        of_three(ds.Vector.ndarray(2, ds.f32, shape=2))
    with pytest.raises(TypeError, match="give rows and columns, or neither"):
        ds.types.matrix(n=2)
    with pytest.raises(TypeError, match="given twice"):
        ds.types.ndarray(dtype=ds.types.vector(), element_dim=1)


def test_assertion_errors_by_taichis_names():
    y = ds.field(ds.f64, shape=1, needs_grad=True)
    loss = ds.field(ds.f64, shape=(), needs_grad=True)

    @ds.kernel
    def k():
        for i in y:
            loss[None] += y[i] * y[i]
            y[i] = 2.0

    @ds.kernel
    def fails():
        assert y[0] > 5.0

    with pytest.raises(ds.TaichiAssertionError), ds.ad.Tape(loss, validation=True):
        k()
    with pytest.raises(RuntimeError) as caught:
        fails()
    assert isinstance(caught.value, ds.TaichiAssertionError | ds.TaichiRuntimeError)
