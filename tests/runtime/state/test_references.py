"""Copies of kernels, funcs, objects that contain them, and tapes: by name, or refused."""

import copy
import pickle
import sys
import types

import pytest

import dsim as ti


def pickled(value):
    return pickle.loads(pickle.dumps(value))


WAYS = pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
DEEP = pytest.mark.parametrize("copied", [copy.deepcopy, pickled])


@ti.func
def twice(a):
    return 2.0 * a


@ti.kernel
def doubled(a: float) -> float:
    return twice(a)


@ti.ad.grad_replaced
def replaced():
    pass


@ti.data_oriented
class Spring:
    def __init__(self):
        self.x = ti.field(ti.f64, shape=2, needs_grad=True)
        self.energy = ti.field(ti.f64, shape=(), needs_grad=True)
        self.stiffness = 2.0
        self.run = self.measure

    @ti.func
    def of(self, i):
        return self.stiffness * self.x[i] ** 2

    @ti.kernel
    def measure(self):
        for i in self.x:
            self.energy[None] += self.of(i)


@ti.dataclass
class Ball:
    radius: ti.f64

    @ti.func
    def area(self):
        return self.radius**2


@WAYS
@pytest.mark.parametrize("what", [doubled, twice, replaced, Spring.measure, Spring.of])
def test_what_a_module_has(copied, what):
    assert copied(what) is what


@WAYS
def test_a_type_with_methods(copied):
    assert copied(Ball) == Ball
    assert copied(Ball(3.0)) == Ball(3.0)
    assert copied(ti.grad(twice)).__name__ == "grad(twice)"


@DEEP
def test_an_object_with_fields_and_kernels(copied):
    first = Spring()
    first.x.fill(1.0)
    first.measure()
    second = copied(first)
    second.x.fill(3.0)
    second.stiffness = 1.0
    with ti.ad.Tape(second.energy):
        second.measure()
    assert second.energy[None] == 18.0
    assert second.x.grad.to_numpy().tolist() == [6.0, 6.0]
    assert first.energy[None] == 4.0
    second.run()  # a kernel that the object keeps is of the copy, too
    assert (first.energy[None], second.energy[None]) == (4.0, 36.0)
    first.measure()
    assert (first.energy[None], second.energy[None]) == (8.0, 36.0)


@DEEP
def test_a_method_alone(copied):
    spring = Spring()
    spring.x.fill(1.0)
    measure = copied(spring.measure)
    measure()
    assert spring.energy[None] == 0.0
    assert measure.function.__self__.energy[None] == 4.0


def test_a_local_kernel():
    x = ti.field(ti.f32, shape=())

    @ti.kernel
    def local():
        x[None] += 1.0

    assert copy.deepcopy(local) is local
    with pytest.raises(
        ti.LaunchTypeError, match=r"`local` cannot be pickled: it is local[^$]*help: define it"
    ):
        pickle.dumps(local)
    with pytest.raises(ti.LaunchTypeError, match=r"uses its variable `x`[^$]*help: make it a method"):
        copy.deepcopy(types.SimpleNamespace(step=local, x=x))


def test_a_local_kernel_that_a_local_func_makes_one_of_a_field():
    x = ti.field(ti.f32, shape=())

    @ti.func
    def value():
        return x[None]

    @ti.kernel
    def local() -> float:
        return value()

    with pytest.raises(ti.LaunchTypeError, match="uses its variable `x`"):
        copy.deepcopy([local])


def test_a_local_kernel_of_numbers_is_itself():
    n = 3

    @ti.kernel
    def local() -> int:
        return n

    (same,) = copy.deepcopy([local])
    assert same is local


def test_a_name_that_means_another_one(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "doubled", None)
    kernel = Spring.measure
    monkeypatch.setattr(Spring, "measure", None)
    with pytest.raises(ti.LaunchTypeError, match="its name refers to something else there"):
        pickle.dumps(kernel)


def test_one_of_a_notebook(monkeypatch):
    notebook = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", notebook)
    monkeypatch.setattr(doubled.function, "__module__", "__main__")
    notebook.doubled = doubled  # type: ignore[attr-defined]
    with pytest.raises(ti.LaunchTypeError, match="it is defined in a notebook"):
        pickle.dumps(doubled)


@WAYS
def test_tapes_and_forms(copied):
    y = ti.field(ti.f64, shape=(), needs_grad=True)
    spring = Spring()
    with ti.ad.Tape(y) as tape:
        y[None] = 1.0
    with ti.ad.FwdMode(y, spring.x, seed=[1.0, 0.0]) as mode:
        spring.measure()
    for value in (tape, mode):
        with pytest.raises(ti.LaunchTypeError, match="help: copy its results"):
            copied(value)
    with pytest.raises(ti.LaunchTypeError, match="help: copy its text"):
        copied(spring.measure.adjoint)


@WAYS
def test_what_tapes_say(copied):
    spring = Spring()
    spring.x.fill(1.0)
    with ti.ad.Tape(spring.energy, grad_check=[spring.x], profile=True) as tape:
        spring.measure()
    for value in (tape.saved, tape.check, tape.profile(), tape.calls[0], spring.measure.check()):
        assert str(copied(value)) == str(value)
