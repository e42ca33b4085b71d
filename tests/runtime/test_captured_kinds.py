"""Numbers that kernels take from around them and that are not plain: NumPy's, and members of enumerations."""

import enum

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _double():
    ti.init(default_fp=ti.f64)


class Kind(enum.IntEnum):
    SOLID = 1
    FLUID = 2


class Name(enum.StrEnum):
    SPHERE = "sphere"


class Share(float, enum.Enum):
    HALF = 0.5


class Plain(enum.Enum):
    A = 1.5
    B = "x"


def test_members_of_enumerations():
    @ti.kernel
    def run(n: ti.i32) -> float:
        r = 0.0
        if n == Kind.FLUID:
            r = Kind.SOLID + 10 + Share.HALF
        if ti.static(Name.SPHERE == "sphere" and Plain.B is Plain.B):
            r += Plain.A.value
        return r

    assert run(2) == 13.0
    assert run(1) == 1.5


def test_members_that_take_turns():
    kind = Kind.SOLID

    @ti.kernel
    def run(v: float) -> float:
        return kind * v

    assert run(1.5) == 1.5
    for kind in (Kind.FLUID, Kind.SOLID, 7, Kind.FLUID):
        assert run(1.5) == kind * 1.5


@pytest.mark.parametrize("number", [np.float32, np.float64, np.int32, np.uint8])
def test_numbers_of_numpy_that_change(number):
    gain = number(2)

    @ti.kernel
    def run(v: float) -> float:
        return gain * v

    assert run(1.5) == 3.0
    for gain in (number(3), number(5), 2.5, 4, number(3)):
        assert run(1.5) == float(gain) * 1.5
