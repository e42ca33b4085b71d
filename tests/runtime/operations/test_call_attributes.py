"""Attributes of operations belong to the call: what Python does with the objects later does not count."""

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import dsim as ds
from tests.operations.programs import Summed


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


@pytest.fixture
def p():
    return Summed([1.0, 2.0])


def scaling(read):
    @ds.ad.operation
    def scaled(x, *, by):
        return read(by) * x

    scaled.jvp(lambda x, /, *, tangents, by: read(by) * tangents[0])
    scaled.vjp(lambda x, /, *, adjoint, by: read(by) * adjoint)
    return scaled


def as_array(w):
    return w


def as_list(w):
    return [w]


def as_nested(w):
    return {"a": (1, [w])}


def as_namespace(w):
    return SimpleNamespace(w=w)


class Named(NamedTuple):
    w: Any


def as_named_tuple(w):
    return Named(w)


@pytest.mark.parametrize(
    ("held", "read"),
    [
        (as_array, lambda by: by),
        (as_list, lambda by: by[0]),
        (as_nested, lambda by: by["a"][1][0]),
        (as_namespace, lambda by: by.w),
        (as_named_tuple, lambda by: by.w),
    ],
)
def test_a_buffer_that_python_uses_again(held, read, p):
    scaled, w = scaling(read), np.zeros(2)

    def run():
        for n in (1.0, 2.0, 3.0):
            w[:] = n
            scaled(p.x, by=held(w), out=p.x)
        w[:] = 0.0
        p.total()

    assert p.gradient(run) == [6.0, 6.0]
    p.x.from_numpy(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(ds.linearize(run, wrt=p.x, out=p.loss).rmatvec([1.0]), [6.0, 6.0])
    assert ds.check_grad(run, wrt=p.x, loss=p.loss)


def test_a_sparse_matrix_that_changes(p):
    @ds.ad.operation
    def product(x, *, a):
        return a @ x

    product.vjp(lambda x, /, *, adjoint, a: a.T @ adjoint)
    a = sp.csr_array(np.array([[1.0, 2.0], [0.0, 3.0]]))

    def run():
        product(p.x, a=a, out=p.x)
        a.data[:] = 0.0
        p.total()

    assert p.gradient(run) == [1.0, 5.0]


class Weights:
    def __init__(self, w):
        self.w = w


def test_an_object_that_changes_is_refused(p):
    scaled, by = scaling(lambda by: by.w), Weights(2.0)

    def run(change):
        scaled(p.x, by=by, out=p.x)
        by.w = change
        p.total()

    with pytest.raises(ds.GradientError, match="the object `by`, an attribute of this call of `scaled`"):
        p.gradient(lambda: run(3.0))
    assert p.gradient(lambda: run(3.0)) == [3.0, 3.0]


class Method:
    """Reads numbers that no operation names."""

    def __init__(self, inner):
        self._inner = inner

    def __call__(self):
        return np.array(self._inner)

    @property
    def weights(self):
        return np.array(self._inner)


class Slots:
    __slots__ = ("w",)

    def __init__(self, w):
        self.w = w


def as_list_in_an_object(w):
    return Weights(w), w


def as_array_in_an_object(w):
    array = np.array(w)
    return Weights(array), array


def as_object_in_a_list(w):
    return [Weights(w)], w


def as_objects_in_an_array(w):
    array = np.empty(1, object)
    array[0] = Weights(w)
    return array, w


def as_slot(w):
    return Slots(w), w


def as_hidden(w):
    return Method(w), w


def as_bound_method(w):
    return Method(w).__call__, w


def as_closure(w):
    return lambda: np.array(w), w


def as_default(w):
    return lambda q=w: np.array(q), w


def as_class_attribute(w):
    return type("Kind", (), {"w": w})(), w


def as_polynomial(w):
    polynomial = np.polynomial.Polynomial(w)
    return polynomial, polynomial.coef


def attribute(by):
    return np.array(by.w)


def of_first(by):
    return np.array(by[0].w)


def called(by):
    return by()


READERS = {"of a table": attribute}


def by_table(by):
    return READERS["of a table"](by)


@pytest.mark.parametrize(
    ("held", "read"),
    [
        (as_list_in_an_object, attribute),
        (as_list_in_an_object, by_table),
        (as_array_in_an_object, attribute),
        (as_object_in_a_list, of_first),
        (as_objects_in_an_array, of_first),
        (as_slot, attribute),
        (as_hidden, called),
        (as_hidden, lambda by: by.weights),
        (as_bound_method, called),
        (as_closure, called),
        (as_default, called),
        (as_class_attribute, attribute),
        (as_polynomial, lambda by: by(2.0)),
    ],
)
def test_what_is_read_in_an_object_is_compared(held, read, p):
    scaled = scaling(read)
    by, inner = held([2.0, 3.0])
    weights = np.broadcast_to(read(by), 2).copy()

    def run(change):
        scaled(p.x, by=by, out=p.x)
        if change:
            inner[0] = 5.0
        p.total()

    assert p.gradient(lambda: run(False)) == weights.tolist()
    with pytest.raises(ds.GradientError, match="the object `by`, an attribute of this call of `scaled`"):
        p.gradient(lambda: run(True))


def test_an_object_that_changes_between_two_calls_is_refused(p):
    scaled, by = scaling(lambda by: by.w), Weights(2.0)

    def run():
        scaled(p.x, by=by, out=p.x)
        by.w = 3.0
        scaled(p.x, by=by, out=p.x)
        p.total()

    with pytest.raises(ds.GradientError, match="has changed after it"):
        p.gradient(run)


@pytest.mark.parametrize(
    ("store", "parts"), [(dict, lambda memo: memo), (SimpleNamespace, vars), (lambda: Weights(None), vars)]
)
def test_what_the_function_keeps_there_is_for_its_rule(store, parts, p):
    @ds.ad.operation
    def squared(x, *, memo):
        parts(memo)["x"] = x.copy()
        return x * x

    squared.vjp(lambda x, /, *, adjoint, memo: 2 * parts(memo)["x"] * adjoint)
    memo = store()

    def run():
        squared(p.x, memo=memo, out=p.x)
        p.total()

    assert p.gradient(run) == [2.0, 4.0]
    assert parts(memo)["x"].tolist() == [1.0, 2.0]
