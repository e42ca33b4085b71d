"""Plain functions in which two names mean one list, dictionary, vector or struct."""

import dataclasses
import re

import numpy as np
import pytest

import dsim as ds
from dsim.diagnostics import KernelTypeError

Z = 3.0

pytestmark = pytest.mark.filterwarnings("ignore:.*runs serially")


@pytest.fixture(autouse=True)
def f64():
    ds.init(default_fp=ds.f64)


def launched(function):
    x, y = ds.field(ds.f64, shape=1, needs_grad=True), ds.field(ds.f64, shape=(), needs_grad=True)
    x[0] = Z

    @ds.kernel
    def k():
        for i in x:
            y[None] += function(x[i])

    with ds.Tape(y):
        k()
    return y[None], x.grad[0]


def another_name(z):
    m = [1.0, 2.0]
    q = m
    q[0] = z * z
    return m[0]


def the_first_name(z):
    m = [1.0, 2.0]
    q = m
    m[0] += z * z
    return q[0]


def of_a_vector(z):
    m = ds.Vector([1.0, 2.0])
    q = m
    q[0] = z * z
    return m[0]


def in_a_tuple(z):
    t = (1, [1.0, 2.0])
    r = t[1]
    r[0] = z * z
    return t[1][0]


def a_row(z):
    m = [[1.0, 2.0], [3.0, 4.0]]
    r = m[0]
    r[0] = z * z
    return m[0][0]


def rows_of_a_copy(z):
    m = [[1.0, 2.0], [3.0, 4.0]]
    q = m[:]
    q[0][0] = z * z
    return m[0][0]


def twice_in_a_list(z):
    m = [1.0, 2.0]
    n = [m, m]
    n[0][0] = z * z
    return n[1][0]


def returned(z):
    m = [1.0, 2.0]

    def same(q):
        return q

    r = same(m)
    r[0] = z * z
    return m[0]


def of_a_branch(z):
    a, b = [1.0, 2.0], [3.0, 4.0]
    t = a if z > 0 else b
    t[0] = z * z
    return a[0]


def in_a_branch(z):
    a, b = [1.0, 2.0], [3.0, 4.0]
    if z > 0:
        b = a
    b[0] = z * z
    return a[0]


def of_a_dictionary(z):
    d = {"a": 1.0}
    e = d
    e["a"] += z * z
    return d["a"]


def in_a_dictionary(z):
    a = [1.0, 2.0]
    d = {"a": a}
    d["a"][0] = z * z
    return a[0]


def a_default(z):
    a = [1.0, 2.0]

    def g(q=a):
        return q[0]

    a[0] = z * z
    return g()


def at_once(z):
    a = b = [1.0, 2.0]
    a[0] = z * z
    return b[0]


def named_in_an_expression(z):
    a = [1.0, 2.0]
    first = (b := a)[1]
    b[0] = z * z
    return a[0] + first


def unpacked(z):
    a, b = [1.0, 2.0], [3.0, 4.0]
    c, _ = a, b
    c[0] = z * z
    return a[0]


def by_way_of_another(z):
    m = [1.0, 2.0]
    q = m
    r = q
    q = [0.0, 0.0]
    r[0] = z * z
    return m[0] + q[0]


def in_memory(z):
    m = [0.5 * k for k in range(40)]
    q = m
    at = int(z)
    q[at] = z * z
    return m[at]


def in_memory_added_to(z):
    m = [0.5 * k for k in range(40)]
    q = m
    at = int(z)
    q[at] += 1.0 * z * z
    return m[at]


@dataclasses.dataclass
class Held:
    at: list
    size: float

    def first(self):
        return self.at[0]


def in_a_dataclass(z):
    m = [1.0, 2.0]
    held = Held(m, 2.0)
    m[0] = z * z
    return held.first()


def added_to(z):
    v = ds.Vector([z, 1.0])
    w = v
    w += z * z
    return v[0]


def later_in_a_loop(z):
    m = [1.0, 2.0]
    q = [0.0, 0.0]
    found = 0.0
    for _ in range(2):
        m[0] += z * z
        found += q[0]
        q = m
    return found


@pytest.mark.parametrize(
    "function",
    [
        another_name, the_first_name, of_a_vector, in_a_tuple, a_row, rows_of_a_copy, twice_in_a_list,
        returned, of_a_branch, in_a_branch, of_a_dictionary, in_a_dictionary, a_default, at_once,
        named_in_an_expression, unpacked, by_way_of_another, in_memory, in_memory_added_to, in_a_dataclass,
        added_to, later_in_a_loop,
    ],
)  # fmt: skip
def test_to_change_what_has_two_names_is_refused(function):
    with pytest.raises(KernelTypeError, match="may be the same object as") as error:
        launched(function)
    assert re.search(r"\d+ │ .*= (1\.0 \* )?z \* z", str(error.value))
    assert "help: " in str(error.value)


def test_the_help_is_a_copy():
    with pytest.raises(KernelTypeError, match=r"help: copy it before: `q = q\[:\]`"):
        launched(another_name)


def copied(z):
    m = [1.0, 2.0]
    q = m
    q = q[:]
    q[0] = z * z
    return m[0] + 10.0 * q[0]


def places_changed(z):
    m, n = [1.0, z], [3.0, 4.0]
    m, n = n, m
    m[0] = z * z
    return n[0] + m[0]


def given_another_value(z):
    m = [1.0, 2.0]
    total = 0.0
    for i in range(3):
        before = m
        m = [z * i, 1.0]
        m[0] += z
        total += before[0] * m[0]
    return total


def numbers_of_it(z):
    m = [z, 2.0]
    first = m[0]
    w = [m[1], m[0]]
    d = {"a": m[0]}
    w[0] = z * z
    d["a"] = z
    m[0] = 5.0
    return first + 10.0 * w[0] + 100.0 * m[0] + d["a"]


def changed_before(z):
    m = [1.0, 2.0]
    m[0] = z * z
    q = m
    return q[0] + m[1]


def changed_in_the_other_branch(z):
    m, q = [1.0, 2.0], [3.0, z]
    if z > 0:
        q[0] = z * z
    else:
        q[1] = z
    return m[0] + q[0]


@ds.dataclass
class Ball:
    at: ds.f64
    size: ds.f64

    def volume(self):
        return self.size**3

    def grow(self, by):
        self.size *= by


def asked_only(z):
    ball = Ball(0.0, z)
    same = ball
    return same.volume() + ball.volume()


def grown(z):
    ball = Ball(0.0, z)
    same = ball
    same.grow(2.0)
    return ball.volume()


def computed_of_it(z):
    v = ds.Vector([z, 1.0])
    w = 2.0 * v
    w[0] += z * z
    v[1] = z
    return w[0] + v[1]


@pytest.mark.parametrize(
    "function",
    [
        copied, places_changed, given_another_value, numbers_of_it, changed_before,
        changed_in_the_other_branch, computed_of_it, asked_only,
    ],
)  # fmt: skip
def test_what_has_one_name_only_may_be_changed(function):
    h = 1e-6
    slope = (function(Z + h) - function(Z - h)) / (2 * h)
    np.testing.assert_allclose(launched(function), (function(Z), slope), rtol=1e-8)


def test_a_method_that_changes_what_has_two_names_is_refused():
    with pytest.raises(KernelTypeError, match="`same` may be the same object as `ball`"):
        launched(grown)


def test_kernels_copy():
    """There vectors are values, and a list that has a name is one."""
    y = ds.field(ds.f64, shape=2)

    @ds.kernel
    def k():
        m = [1.0, 2.0]
        q = m
        q[0] = 5.0
        y[0], y[1] = m[0], q[0]

    k()
    assert y.to_numpy().tolist() == [1.0, 5.0]
