"""Captured numbers of special types: NumPy's, and members of enumerations."""

import enum
import math
import types

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


def test_plain_members_that_take_turns():
    mode = Plain.A

    @ti.kernel
    def run() -> float:
        r = 1.0
        if ti.static(mode == Plain.B):
            r = 2.0
        return r

    assert run() == 1.0
    for mode in (Plain.B, Plain.B, Plain.A):
        assert run() == (2.0 if mode is Plain.B else 1.0)


def test_functions_that_are_compared():
    def jacobi(a):
        return a

    def seidel(a):
        return 2 * a

    solver = jacobi

    @ti.kernel
    def run() -> float:
        r = 1.0
        if ti.static(solver is seidel):
            r = 2.0
        return r

    assert run() == 1.0
    solver = seidel
    assert run() == 2.0


def test_the_sign_of_zero():
    y, weights = 0.0, [1.0, 0.0]

    @ti.kernel
    def angle(x: float) -> float:
        return ti.atan2(y, x)

    @ti.kernel
    def second(x: float) -> float:
        return ti.atan2(weights[1], x)

    assert angle(-1.0) == second(-1.0) == math.pi
    y, weights[1] = -0.0, -0.0
    assert angle(-1.0) == second(-1.0) == -math.pi
    y, weights[1] = 0.0, 0.0
    assert angle(-1.0) == second(-1.0) == math.pi


class Unequal:
    """Something whose ``==`` gives no truth."""

    __hash__ = None

    def __eq__(self, other):
        raise ValueError("there is no such question")


@pytest.mark.parametrize("make", [lambda: np.ones(3), Unequal, lambda: [np.ones(2), {"a": Unequal()}]])
def test_what_stands_beside_a_number_in_its_container(make):
    constants, pair = {"k": 1.5, "beside": make()}, [2.0, make()]

    @ti.kernel
    def run(v: float) -> float:
        return constants["k"] * v + pair[0]

    assert run(2.0) == 5.0
    constants["beside"], pair[1] = make(), make()
    assert run(2.0) == 5.0
    constants["k"], pair[0] = 3.0, 1.0
    assert run(2.0) == 7.0


def test_a_dictionary_that_holds_itself():
    def tied():
        found = {"k": 1.5}
        found["self"] = found
        return found

    constants = tied()

    @ti.kernel
    def run(v: float) -> float:
        return constants["k"] * v

    assert run(2.0) == 3.0
    constants = tied()
    assert run(2.0) == 3.0
    constants["k"] = 2.0
    assert run(2.0) == 4.0


def count():
    return 2


def base():
    return 3


def size():
    return base() + 1


def test_functions_that_python_runs_when_compiling_and_that_are_defined_again(monkeypatch):
    @ti.kernel
    def run() -> ti.i32:
        r = 0
        for _ in ti.static(range(count())):
            r += size()
        return r

    assert run() == 8
    monkeypatch.setitem(globals(), "count", lambda: 3)
    assert run() == 12
    monkeypatch.setitem(globals(), "base", lambda: 9)
    assert run() == 30


trips = 2


def counted():
    return trips


def test_numbers_that_such_functions_read(monkeypatch):
    @ti.kernel
    def run() -> ti.i32:
        r = 0
        for _ in ti.static(range(counted())):
            r += trips
        return r

    assert run() == 4
    for n in (3, 4, 3, 2):
        monkeypatch.setitem(globals(), "trips", n)
        assert run() == n * n


def test_defaults_that_are_set_in_place():
    def times(a, b=2.0, *, c=1.0):
        return a * b * c

    @ti.func
    def twice(a, b=2.0):
        return a * b

    class Scale:
        def by(self, a, b=2.0):
            return a * b

    scale = Scale()

    @ti.kernel
    def run() -> float:
        return times(1.0) + 10 * twice(1.0) + 100 * scale.by(1.0)

    assert run() == 222.0
    times.__defaults__ = (3.0,)
    assert run() == 223.0
    twice.__dsim_func__.__defaults__ = (4.0,)
    assert run() == 243.0
    Scale.by.__defaults__ = (5.0,)
    assert run() == 543.0
    times.__kwdefaults__ = {"c": 2.0}
    assert run() == 546.0


def test_variables_that_are_gone_and_come_back():
    factor = 2.0

    @ti.kernel
    def scaled() -> ti.f64:
        return factor * 3.0

    def removed():
        nonlocal factor
        del factor

    assert scaled() == 6.0
    removed()
    with pytest.raises(ti.TaichiCompilationError, match="`factor` is not defined"):
        scaled()
    factor = 5.0
    assert scaled() == 15.0


def test_views_of_dictionaries():
    held = {"a": 1.0, "b": 2.0}
    view = types.MappingProxyType(held)

    @ti.kernel
    def run() -> float:
        r = view["a"] + 10.0 * Plain.__members__["A"].value
        for _, value in ti.static(view.items()):
            r += 100.0 * value
        if "c" in view:
            r = -r
        return r

    assert run() == 316.0
    held["b"] = 3.0
    assert run() == 416.0
    held["c"] = 0.0
    assert run() == -416.0
