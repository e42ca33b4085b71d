"""What Python's variables hold when a graph runs: the numbers of the recording, or the graph is refused."""

import ctypes
import functools
import itertools
import mmap
import random
import threading
import types
from array import array
from collections import deque
from contextvars import ContextVar
from random import random as draw

import numpy as np
import pytest

import dsim as ti

RATE, LIMITS = 1.0, types.ModuleType("limits")
GENERATOR = random.Random(0)


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@pytest.fixture
def add():
    x = ti.field(ti.f64, shape=())

    @ti.kernel
    def add(a: ti.f64):
        x[None] += a

    return add


class Part:
    def __init__(self):
        self.rate, self.rates, self.unused = 1.0, [1.0], []

    @property
    def doubled(self):
        return 2 * self.rate


class Slots:
    __slots__ = ("rate",)

    def __init__(self):
        self.rate = 1.0


class Program:
    """Runs that read a number, each in another place."""

    of_class = 1.0

    def __init__(self, add):
        self.add, self.part, self.slots, self.table = add, Part(), Slots(), {"a": {"b": [1.0]}}
        self.laws = [lambda: self.part.rate]
        self.bound = functools.partial(add, self.part.rate)
        self.queue, self.vector = deque([1.0]), ti.Vector([1.0, 2.0])
        self.of_thread, self.of_context = threading.local(), ContextVar("rate", default=1.0)
        self.of_thread.rate = 1.0

    def attribute_of_an_attribute(self):
        self.add(self.part.rate)

    def item_of_a_list(self):
        self.add(self.part.rates[0])

    def item_of_a_table(self):
        self.add(self.table["a"]["b"][0])

    def attribute_of_the_class(self):
        self.add(self.of_class)

    def a_slot(self):
        self.add(self.slots.rate)

    def in_a_method(self):
        self.attribute_of_an_attribute()

    def in_a_property(self):
        self.add(self.part.doubled)

    def in_a_function_in_a_list(self):
        self.add(self.laws[0]())

    def of_a_module(self):
        self.add(LIMITS.rate)

    def of_a_class_in_a_variable(self):
        self.add(Program.of_class)

    def item_of_a_queue(self):
        self.add(self.queue[0])

    def item_of_a_vector(self):
        self.add(float(self.vector[0]))

    def of_a_thread(self):
        self.add(self.of_thread.rate)

    def of_a_context(self):
        self.add(self.of_context.get())

    def an_argument_of_a_partial_function(self):
        self.bound()


def _rebind(p):
    p.bound = functools.partial(p.add, 5.0)


CHANGES = {
    "attribute_of_an_attribute": lambda p: setattr(p.part, "rate", 5.0),
    "item_of_a_list": lambda p: p.part.rates.__setitem__(0, 5.0),
    "item_of_a_table": lambda p: p.table["a"]["b"].__setitem__(0, 5.0),
    "attribute_of_the_class": lambda _: setattr(Program, "of_class", 5.0),
    "a_slot": lambda p: setattr(p.slots, "rate", 5.0),
    "in_a_method": lambda p: setattr(p.part, "rate", 5.0),
    "in_a_property": lambda p: setattr(p.part, "rate", 5.0),
    "in_a_function_in_a_list": lambda p: setattr(p.part, "rate", 5.0),
    "of_a_module": lambda _: setattr(LIMITS, "rate", 5.0),
    "of_a_class_in_a_variable": lambda _: setattr(Program, "of_class", 5.0),
    "item_of_a_queue": lambda p: p.queue.__setitem__(0, 5.0),
    "item_of_a_vector": lambda p: p.vector.__setitem__(0, 5.0),
    "of_a_thread": lambda p: setattr(p.of_thread, "rate", 5.0),
    "of_a_context": lambda p: p.of_context.set(5.0),
    "an_argument_of_a_partial_function": _rebind,
}


@pytest.mark.parametrize("place", CHANGES)
def test_a_number_has_changed(add, place, monkeypatch):
    monkeypatch.setattr(Program, "of_class", 1.0)
    monkeypatch.setattr(LIMITS, "rate", 1.0, raising=False)
    p = Program(add)
    g = ti.graph(getattr(p, place))
    g()
    p.part.unused.append(1)  # which the run does not read
    g()
    CHANGES[place](p)
    with pytest.raises(ti.LaunchError, match="has changed since the graph was recorded"):
        g()


BUFFERS = [
    lambda: bytearray(3),
    lambda: memoryview(bytearray(3)),
    lambda: memoryview(np.zeros(6))[::2],
    lambda: array("d", [0.0]),
    lambda: mmap.mmap(-1, 8),
    ctypes.c_double * 3,
]


@pytest.mark.parametrize("buffer", BUFFERS)
def test_a_buffer_has_changed(add, buffer):
    held = buffer()
    g = ti.graph(lambda: add(held[0]))
    g()
    held[0] = 5
    with pytest.raises(ti.LaunchError, match="`held` has changed since the graph was recorded"):
        g()

    def run():
        held[0] += 1
        add(held[0])

    with pytest.raises(ti.LaunchError, match=r"the run changes `held`, and replays do not run Python"):
        ti.graph(run)


def test_a_number_of_ctypes_has_changed(add):
    held = ctypes.c_double(1.0)
    g = ti.graph(lambda: add(held.value))
    g()
    held.value = 5.0
    with pytest.raises(ti.LaunchError, match="`held` has changed since the graph was recorded"):
        g()


def test_a_view_that_was_released(add):
    held, rate = memoryview(bytearray(3)), [1.0]
    g = ti.graph(lambda: add(rate[0] if held else 0.0))
    g()
    held.release()
    with pytest.raises(ti.LaunchError, match="`held` has changed since the graph was recorded"):
        g()
    ti.graph(lambda: add(rate[0] if held is not None else 0.0))()


@pytest.mark.parametrize("where", ["__defaults__", "__kwdefaults__"])
def test_a_default_has_changed(add, where):
    def run(a=1.0, *, b=2.0):
        add(a)
        add(b)

    g = ti.graph(run)
    g()
    setattr(run, where, (3.0,) if where == "__defaults__" else {"b": 3.0})
    with pytest.raises(ti.LaunchError, match="has changed since the graph was recorded"):
        g()


@pytest.mark.parametrize(
    "step",
    [
        lambda p: p.part.rates.append(1.0),
        lambda p: p.part.rates.__setitem__(0, p.part.rates[0] + 1),
        lambda p: setattr(p.part, "rate", p.part.rate + 1),
        lambda p: p.queue.rotate(1),
        lambda _: GENERATOR.random(),
        lambda _: draw(),
        lambda _: random.random(),
        lambda _: np.random.rand(),  # noqa: NPY002
    ],
)
def test_what_the_run_changes_or_draws_is_refused(add, step):
    p = Program(add)
    p.queue.append(2.0)

    def run():
        step(p)
        add(p.part.rate + p.part.rates[0] + p.queue[0])

    with pytest.raises(ti.LaunchError, match=r"the run changes .*, and replays do not run Python"):
        ti.graph(run)


def test_numbers_of_a_generator_are_refused(add):
    numbers = np.random.default_rng(0)
    with pytest.raises(ti.LaunchError, match="the run changes `numbers`"):
        ti.graph(lambda: add(numbers.random()))


@pytest.mark.parametrize("make", [lambda: itertools.count(1), lambda: iter([1, 2]), lambda: (k for k in [1])])
def test_an_iterator_is_refused(add, make):
    steps = make()
    with pytest.raises(ti.LaunchError, match=r"(?s)the run uses the iterator `steps`.*help: "):
        ti.graph(lambda: add(float(next(steps))))


def test_many_values_cost_no_more_than_those_that_are_compared(add):
    rates = [1.0] * 100_000
    g = ti.graph(lambda: add(rates[0]))
    g()
    rates[0] = 2.0
    with pytest.raises(ti.LaunchError, match="`rates` has changed"):
        g()
    rates = [rates]
    rates.append(rates)  # it contains itself
    h = ti.graph(lambda: add(rates[0][0]))
    h()


def test_a_method_of_a_data_oriented_object_that_was_never_launched():
    @ti.data_oriented
    class Model:
        def __init__(self):
            self.x = ti.field(ti.f64, shape=2)

        @ti.kernel
        def step(self):
            for i in self.x:
                self.x[i] += 1.0

        def run(self):
            self.step()

    model = Model()
    g = ti.graph(model.run)
    g()
    assert model.x[0] == 2.0
