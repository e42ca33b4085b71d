"""Plain Python functions in kernels: changes after the compilation that they see."""

from __future__ import annotations

import functools

import pytest

import dsim as ds
from dsim.diagnostics import CompilationError
from tests.api.plain_functions import functions as plain_functions
from tests.api.plain_functions.functions import Spring, amplified, bent


@pytest.fixture(autouse=True)
def doubles():
    ds.init(default_fp=ds.f64)


def test_what_a_function_sees_is_seen_at_each_launch(monkeypatch):
    @ds.kernel
    def k(v: float) -> float:
        return bent(v)

    assert k(3.0) == 18.0
    monkeypatch.setattr(plain_functions, "gain", 3.0)
    assert k(3.0) == 27.0


def test_a_function_that_is_defined_again():
    def f(v):
        return v

    @ds.kernel
    def k(v: float) -> float:
        return f(v)

    assert k(3.0) == 3.0

    def f(v):  # noqa: F811
        return -v

    assert k(3.0) == -3.0
    f.__code__ = (lambda v: 10.0 * v).__code__  # as IPython's autoreload does it
    assert k(3.0) == 30.0


def test_the_owner_of_a_method_may_change():
    s = Spring(2.0)

    @ds.kernel
    def k(v: float) -> float:
        return s.energy(v) + s(v) + s.fresh(v)

    assert k(1.0) == 1.0 + 3.0 + 2.0
    s.k = 4.0
    assert k(1.0) == 2.0 + 5.0 + 4.0
    s = Spring(6.0)
    assert k(1.0) == 3.0 + 7.0 + 6.0


def test_the_owner_of_a_func_may_change():
    class Law:
        def __init__(self, k):
            self.k = k

        @ds.func
        def force(self, q):
            return self.k * q

    law = Law(2.0)

    @ds.kernel
    def k(v: float) -> float:
        return law.force(v)

    assert k(1.0) == 2.0
    law = Law(3.0)
    assert k(1.0) == 3.0


def test_functions_that_one_def_has_made_share_a_compilation():
    def made(a):
        return lambda q: q * a

    f = made(1.0)

    @ds.kernel
    def k(v: float) -> float:
        return f(v)

    for a in (1.0, 2.0, 3.0, 4.0):
        f = made(a)
        assert k(2.0) == 2.0 * a
    assert len(k._instance._versions) == 2  # the number becomes a parameter


def test_partial_arguments_and_defaults_are_looked_at():
    weights = [1.0, 2.0]

    def weighted(v, w=weights):
        return v * w[0] + w[1]

    part = functools.partial(bent, offset=1.0)

    @ds.kernel
    def k(v: float) -> float:
        return weighted(v) + part(v)

    assert k(3.0) == 5.0 + 19.0
    weights[1] = 10.0
    assert k(3.0) == 13.0 + 19.0
    part = functools.partial(bent, offset=5.0)
    assert k(3.0) == 13.0 + 23.0


def test_what_is_new_each_time_is_refused():
    class Restless:
        @property
        def field(self):
            return ds.field(ds.f64, shape=2)

    r = Restless()

    @ds.kernel
    def k() -> float:
        return r.field[0]

    with pytest.raises(CompilationError, match=r"`r\.field` is another object at each access"):
        k()


def amplified_from_here(v):
    return plain_functions.gain * v + plain_functions.amplified(v)


def test_static_calls_see_the_numbers_of_other_modules(monkeypatch):
    @ds.kernel
    def k() -> ds.types.vector(3, float):
        of_module, of_name = ds.static(plain_functions.amplified(1.0)), ds.static(amplified(1.0))
        return ds.Vector([of_module, of_name, ds.static(amplified_from_here(1.0))])

    assert [*k()] == [2.0, 2.0, 4.0]
    monkeypatch.setattr(plain_functions, "gain", 3.0)
    assert [*k()] == [3.0, 3.0, 6.0]
    monkeypatch.setattr(plain_functions, "amplified", lambda v: -v)
    assert [*k()] == [-1.0, 3.0, 2.0]


def test_static_calls_see_the_variables_around_a_function():
    def made(a):
        def law(v):
            return sum([a * v for _ in range(2)])

        def change(to):
            nonlocal a
            a = to

        return law, change

    law, change = made(1.0)

    @ds.kernel
    def k() -> float:
        return ds.static(law(1.0))

    assert k() == 2.0
    change(2.0)
    assert k() == 4.0
    law, _ = made(5.0)
    assert k() == 10.0


def test_a_function_that_became_a_number_is_refused():
    def made(a):
        return lambda v: a * v

    law = made(1.0)

    @ds.kernel
    def k(v: float) -> float:
        return law(v)

    assert k(2.0) == 2.0
    law = 3.0
    with pytest.raises(CompilationError, match="a float cannot be called"):
        k(2.0)
