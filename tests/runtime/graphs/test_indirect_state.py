"""Numbers that a run takes from caches, contexts, special methods, large arrays …, when they change."""

import array
import contextvars
import functools
import threading
import types
import weakref
from collections import ChainMap

import numpy as np
import pytest

import dsim as ds

NUMBERS = types.SimpleNamespace(rate=1.0, rates=[1.0])
CASES = {}


def case(make):
    """Registers a function that returns what reads a number, 1, and what changes it to 2."""
    CASES[make.__name__] = make
    return make


def held(name):
    """Changes an attribute of NUMBERS."""
    return lambda: setattr(NUMBERS, name, 2.0)


@case
def a_function_that_remembers():
    cached = functools.lru_cache(lambda: NUMBERS.rate)

    def change():
        cached.cache_clear()
        NUMBERS.rate = 2.0

    return cached, change


@case
def a_context_variable():
    rate = contextvars.ContextVar("rate", default=1.0)
    return rate.get, lambda: rate.set(2.0)


@case
def a_method_of_a_dictionary():
    rates = {"a": 1.0}
    get = rates.get
    return lambda: get("a"), lambda: rates.__setitem__("a", 2.0)


@case
def an_attribute_of_a_thread():
    own = threading.local()
    own.rate = 1.0
    return lambda: own.rate, lambda: setattr(own, "rate", 2.0)


@case
def code_that_is_replaced():
    def rate():
        return 1.0

    return rate, lambda: setattr(rate, "__code__", (lambda: 2.0).__code__)


class Settings:
    """Like those of libraries for configurations."""

    def __init__(self, **given):
        self.__dict__["given"] = given

    def __getattr__(self, name):
        return self.__dict__["given"][name]


class Sequence:
    def __getitem__(self, i):
        return NUMBERS.rates[i]

    def __len__(self):
        return int(NUMBERS.rate)


class Longer(Sequence):
    pass


class Rate:
    value = 1.0

    def __get__(self, owner, kind):
        return NUMBERS.rate


class WithDescriptor:
    rate = Rate()


@case
def an_attribute_by_a_method():
    settings = Settings(rate=1.0)
    return lambda: settings.rate, lambda: settings.given.__setitem__("rate", 2.0)


@case
def an_item_by_a_method():
    items = Sequence()
    return lambda: items[0], lambda: NUMBERS.rates.__setitem__(0, 2.0)


@case
def a_length_by_an_inherited_method():
    items = Longer()
    return lambda: float(len(items)), held("rate")


@case
def an_attribute_by_a_descriptor():
    thing = WithDescriptor()
    return lambda: thing.rate, held("rate")


@case
def bytes_that_change():
    raw = bytearray(b"\1")
    return lambda: float(raw[0]), lambda: raw.__setitem__(0, 2)


@case
def an_array_of_the_standard_library():
    numbers = array.array("d", [1.0])
    return lambda: numbers[0], lambda: numbers.__setitem__(0, 2.0)


@case
def a_large_array():
    schedule = np.ones(20_000)
    return lambda: float(schedule[7]), lambda: schedule.__setitem__(7, 2.0)


class WithItems(list):
    """A list whose items are numbers of its own."""

    scale = 1.0

    def __getitem__(self, at):
        return self.scale * super().__getitem__(at)


@case
def items_of_a_kind_of_list():
    items = WithItems([1.0])
    return lambda: items[0], lambda: setattr(items, "scale", 2.0)


@case
def an_array_of_objects():
    objects = np.array([types.SimpleNamespace(rate=1.0), None])
    return lambda: objects[0].rate, lambda: setattr(objects[0], "rate", 2.0)


@case
def a_view_of_a_dictionary():
    rates = {"rate": 1.0}
    view = types.MappingProxyType(rates)
    return lambda: view["rate"], lambda: rates.update(rate=2.0)


@case
def dictionaries_one_after_the_other():
    rates = ChainMap({}, {"rate": 1.0})
    return lambda: rates["rate"], lambda: rates.update(rate=2.0)


class Thing:
    pass


@case
def a_weak_reference():
    thing = Thing()
    thing.rate = 1.0
    found = weakref.ref(thing)
    return lambda: found().rate, lambda: setattr(thing, "rate", 2.0)


@pytest.fixture
def cubes():
    ds.init(default_fp=ds.f64)
    x, loss = ds.field(ds.f64, 2), ds.field(ds.f64, ())

    @ds.kernel
    def add(rate: float):
        for i in x:
            loss[None] += rate * x[i] ** 3

    return x, loss, add


@pytest.fixture(params=CASES)
def number(request, monkeypatch):
    monkeypatch.setattr(NUMBERS, "rate", 1.0)
    monkeypatch.setattr(NUMBERS, "rates", [1.0])
    return CASES[request.param]()


def test_graphs_say_that_it_has_changed(cubes, number):
    (_, _, add), (read, change) = cubes, number
    g = ds.graph(lambda: add(read()))
    g()
    change()
    with pytest.raises(ds.LaunchError, match="has changed since the graph was recorded"):
        g()


def test_products_with_the_hessian_are_those_of_now(cubes, number):
    (x, loss, add), (read, change) = cubes, number
    objective = ds.objective(lambda: add(read()), wrt=x, loss=loss)
    at, along = np.array([1.0, 2.0]), np.array([1.0, 0.0])
    assert objective.hessp(at, along)[0] == 6.0
    change()
    assert objective.hessp(at, along)[0] == 12.0


def test_arrays_beyond_the_limit_are_compared_by_identity(cubes):
    _, _, add = cubes
    schedule = np.ones(1 << 20)
    g = ds.graph(lambda: add(float(schedule[7])))
    g()
    schedule[7] = 2.0
    g()
    schedule = schedule.copy()
    with pytest.raises(ds.LaunchError, match="`schedule` has changed"):
        g()
