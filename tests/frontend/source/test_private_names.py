"""Private names of classes, in kernels, funcs and methods of dataclasses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import dsim as ds
from dsim.diagnostics import CompilationError


@pytest.fixture(autouse=True)
def f64():
    ds.init(default_fp=ds.f64)


@ds.data_oriented
class Body:
    def __init__(self):
        self.__stiffness = 2.0
        self.x = ds.field(ds.f64, shape=2)

    @ds.kernel
    def run(self, __force: float) -> float:  # noqa: PYI063 (a private name)
        __first = self.__stiffness * __force
        self.__push(1)
        return __first + self.x[1]

    @ds.func
    def __push(self, i):
        self.x[i] = 5.0 * self.__stiffness

    @ds.kernel
    def wrong(self) -> float:
        return self.__mass


class Heavy(Body):
    def __init__(self):
        super().__init__()
        self.__stiffness = 20.0  # another one: its name is that of this class


@pytest.mark.parametrize("kind", [Body, Heavy])
def test_kernels_and_funcs_of_a_class(kind):
    assert kind().run(3.0) == 16.0


def test_one_that_is_not_there():
    with pytest.raises(CompilationError, match="`Heavy` has no `_Body__mass`"):
        Heavy().wrong()


@dataclass
class Ball:
    __size: float

    def volume(self):
        return self.__size**3


@dataclass
class Named(Ball):
    number: float = 1.0


@ds.dataclass
class Struct:
    __size: ds.f64

    def volume(self):
        return self.__size**3


def test_dataclasses_and_structs():
    y = ds.field(ds.f64, shape=3)

    @ds.kernel
    def k(size: float):
        y[0], y[1], y[2] = Ball(size).volume(), Named(size).volume(), Struct(size).volume()

    k(2.0)
    np.testing.assert_array_equal(y.to_numpy(), 8.0)
