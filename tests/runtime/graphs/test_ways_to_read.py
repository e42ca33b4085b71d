"""Ways of Python's code to read a number: graphs refuse when it has changed, products are of the new one."""

import operator
import sys
import types
from dataclasses import dataclass, field

import numpy as np
import pytest

import dsim as ti

SETTINGS = {"rate": 1.0}
VALUES = SETTINGS.values()
PARAMETERS = types.ModuleType("parameters_of_a_run")


@dataclass
class ByFactory:
    rate: float = field(default_factory=lambda: SETTINGS["rate"])


@dataclass
class AfterInit:
    rate: float = 0.0

    def __post_init__(self):
        self.rate = SETTINGS["rate"]


class Made:
    def __init__(self):
        self.rate, self.unused = SETTINGS["rate"], []

    @classmethod
    def by_method(cls):
        return cls()


class Matched:
    __match_args__ = ("rate",)

    @property
    def rate(self):
        return SETTINGS["rate"]


class Meta(type):
    @property
    def rate(cls):
        return SETTINGS["rate"]


class OfMeta(metaclass=Meta):
    pass


MATCHED, ASKED = Matched(), operator.attrgetter("rate")
SCALED = np.vectorize(lambda z: z * SETTINGS["rate"])


def by_pattern():
    match MATCHED:
        case Matched(rate):
            return rate


def in_the_body_of_a_class():
    class Here:
        rate = SETTINGS["rate"]

    return Here.rate


def by_import():
    from parameters_of_a_run import rate

    return rate


def by_import_of_the_module():
    import parameters_of_a_run as parameters

    return parameters.rate


WAYS = {
    "constructor": lambda: Made().rate,
    "constructor in a class method": lambda: Made.by_method().rate,
    "default factory": lambda: ByFactory().rate,
    "after the constructor": lambda: AfterInit().rate,
    "view of a dictionary": lambda: sum(VALUES),
    "vectorised function": lambda: float(SCALED(np.ones(1))[0]),
    "attrgetter": lambda: ASKED(MATCHED),
    "property of a metaclass": lambda: OfMeta.rate,
    **{f.__name__: f for f in (by_pattern, in_the_body_of_a_class, by_import, by_import_of_the_module)},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_number_has_changed(way, monkeypatch):
    ti.init(default_fp=ti.f64)
    monkeypatch.setitem(sys.modules, "parameters_of_a_run", PARAMETERS)
    x, loss = ti.field(ti.f64, shape=2), ti.field(ti.f64, shape=())
    x.fill(1.0)

    @ti.kernel
    def energy(k: ti.f64):
        for i in x:
            loss[None] += k * x[i] ** 2

    def run():
        energy(WAYS[way]())

    def change(rate):
        monkeypatch.setitem(SETTINGS, "rate", rate)
        monkeypatch.setattr(PARAMETERS, "rate", rate, raising=False)

    change(1.0)
    g, f = ti.graph(run), ti.objective(run, wrt=x, loss=loss)
    g()
    assert f.hessp(f.x0, [1.0, 0.0]).tolist() == [2.0, 0.0]
    change(3.0)
    assert f.hessp(f.x0, [1.0, 0.0]).tolist() == [6.0, 0.0]
    with pytest.raises(ti.LaunchError, match="has changed since the graph was recorded"):
        g()


def test_what_a_constructor_only_writes_is_not_read():
    x = ti.field(ti.f64, shape=())
    made = Made()

    @ti.kernel
    def add(a: ti.f64):
        x[None] += a

    g = ti.graph(lambda: add(made.rate if isinstance(made, Made) else 0.0))
    made.unused.append(1)
    g()
    assert x[None] == 2.0
