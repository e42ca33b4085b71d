"""Kernels and funcs in classes: methods, class and static methods, properties, inheritance."""

import re
import types

import numpy as np
import pytest

import dsim as ti


@ti.data_oriented
class Base:
    factor = 3.0

    def __init__(self, n):
        self.x = ti.field(ti.f32, shape=n)
        self.n = n

    @property
    def half(self):
        return self.n / 2

    @ti.func
    def weight(self):
        return 1.0

    @staticmethod
    @ti.func
    def times_ten(a):
        return 10.0 * a

    @ti.kernel
    def run(self) -> float:
        for i in self.x:
            self.x[i] = self.weight() * self.times_ten(i)
        return self.half

    @staticmethod
    @ti.kernel
    def double(a: float) -> float:
        return 2.0 * a

    @classmethod
    @ti.kernel
    def scaled(cls, a: float) -> float:
        return cls.factor * a

    @classmethod
    @ti.kernel
    def total(cls, x: ti.types.ndarray()) -> float:
        found = 0.0
        for i in range(3):
            found += cls.factor * x[i]
        return found

    @classmethod
    @ti.kernel
    def first(cls, y: ti.template()) -> float:
        return cls.factor * y[0]

    @classmethod
    @ti.func
    def times(cls, a, b=1.0):
        return cls.factor * a + b

    @classmethod
    @ti.func
    def through(cls, a):
        return 2.0 * cls.times(a)


@ti.data_oriented
class Derived(Base):
    factor = 4.0

    def __init__(self):
        super().__init__(3)

    @ti.func
    def weight(self):
        return 2.0


def test_methods_properties_and_inheritance():
    a, b = Base(2), Derived()
    assert (a.run(), b.run()) == (1.0, 1.5)
    np.testing.assert_array_equal(a.x.to_numpy(), [0, 10])
    np.testing.assert_array_equal(b.x.to_numpy(), [0, 20, 40])


def test_static_methods():
    assert Base.double(1.5) == Derived().double(1.5) == 3.0


def test_class_methods(monkeypatch):
    assert [Base.scaled(2.0), Derived.scaled(2.0), Derived().scaled(2.0)] == [6.0, 8.0, 8.0]
    monkeypatch.setattr(Derived, "factor", 5.0)
    assert [Base.scaled(2.0), Derived.scaled(2.0)] == [6.0, 10.0]


def _by_python(kind, name):
    """A class method as Python makes it from 3.13 on: without asking the kernel or func."""
    return types.MethodType(vars(Base)[name].__func__, kind)


@pytest.mark.parametrize("found", [getattr, _by_python])
def test_the_kernel_of_a_class(found):
    """It is compiled once for each class."""
    kernels = [found(kind, "scaled").of(kind) for kind in (Base, Derived, Derived)]
    assert kernels[0] is not kernels[1] is kernels[2]
    assert [found(kind, "scaled")(2.0) for kind in (Base, Derived)] == [6.0, 8.0]
    assert [k(2.0) for k in kernels] == [6.0, 8.0, 8.0]
    assert found(Derived, "scaled").of(Derived).primal is kernels[1].primal


@pytest.mark.parametrize("found", [getattr, _by_python])
def test_the_kernel_of_a_class_for_arrays_and_templates(found):
    x, y = ti.ndarray(ti.f32, 3), ti.field(ti.f32, 3)
    x.fill(2.0)
    y.fill(3.0)
    assert found(Derived, "total").of(Derived, x).generic is False
    assert found(Derived, "total").of(Derived).generic is True
    for kernel in (found(Derived, "total"), found(Derived, "total").of(Derived)):
        assert kernel(x) == 24.0
    assert found(Derived, "first").of(Derived, y)() == 12.0
    assert Derived().first.of(Derived, y)() == 12.0
    with pytest.raises(ti.DsimError, match="the template parameters y, got 2 values"):
        Base.__dict__["first"].__func__.of(3, y)


def test_the_kernel_of_an_object():
    a, b = Base(2), Derived()
    assert Base.run.of(a) is a.run
    assert Base.run.of(b) is b.run
    with pytest.raises(ti.DsimError, match=r"`Base\.run\.of\(owner\)` is the kernel of an object"):
        Base.run.primal  # noqa: B018 (it compiles)


def test_a_class_method_that_python_has_bound_says_how_to_get_the_kernel():
    scaled = _by_python(Derived, "scaled")
    help = "help: `Base.scaled` is a method: `Base.scaled.of(owner)` is the kernel of an object or a class"
    assert help in str(scaled.check())
    for ask in (lambda: scaled.primal, lambda: scaled.grad(2.0)):
        with pytest.raises(ti.DsimError, match=re.escape(help)):
            ask()


@pytest.mark.parametrize("found", [getattr, _by_python])
def test_class_methods_that_are_funcs(found, monkeypatch):
    of_base, of_derived = (found(kind, "times") for kind in (Base, Derived))

    @ti.kernel
    def run(a: float) -> (float, float, float):
        return of_base(a), of_derived(a), of_derived(a, 100.0)

    assert run(2.0) == (7.0, 9.0, 108.0)
    monkeypatch.setattr(Derived, "factor", 5.0)
    assert run(2.0) == (7.0, 11.0, 110.0)
    compiled = run.primal
    assert run(2.0) == (7.0, 11.0, 110.0)
    assert run.primal is compiled


def test_funcs_that_are_class_methods_where_they_are_looked_up(monkeypatch):
    @ti.kernel
    def run(a: float) -> (float, float, float):
        return Derived.times(a), Derived.through(a), pair[0](a)

    pair = (Derived.times, Base.times)
    assert run(2.0) == (9.0, 18.0, 9.0)
    compiled = run.primal
    assert run(2.0) == (9.0, 18.0, 9.0)
    assert run.primal is compiled
    monkeypatch.setattr(Derived, "times", Base.times)
    assert run(2.0) == (7.0, 14.0, 9.0)


class Oscillator:
    def __init__(self, stiffness):
        self.stiffness = stiffness
        self.x = ti.field(ti.f64, shape=(), needs_grad=True)
        self.energy = ti.field(ti.f64, shape=(), needs_grad=True)
        self.x[None] = 3.0

    @property
    @ti.kernel
    def launched(self):
        self.energy[None] += self.stiffness * self.x[None] ** 2

    @property
    @ti.kernel
    def doubled(self) -> ti.f64:
        return 2.0 * self.stiffness

    @ti.kernel
    def _step(self, by: ti.f64):
        self.energy[None] += by * self.launch_factor * self.x[None]

    @property
    @ti.func
    def launch_factor(self):
        return self.stiffness + 1.0

    @property
    def step(self):
        return self._step


class Stiff(Oscillator):
    pass


def test_a_property_that_is_a_kernel_launches_it():
    for o in (Oscillator(2.0), Stiff(5.0)):
        with ti.ad.Tape(o.energy):
            o.launched  # noqa: B018
        assert o.energy[None] == 9.0 * o.stiffness
        assert o.x.grad[None] == 6.0 * o.stiffness
        assert o.doubled == 2.0 * o.stiffness


def test_a_property_that_gives_a_kernel():
    o = Oscillator(2.0)
    o.step(10.0)
    assert o.energy[None] == 90.0
    assert o.step is o.step
    o.energy.grad[None] = 1.0
    o.step.grad(10.0)
    assert o.x.grad[None] == 30.0


def test_a_kernel_by_its_classes_name():
    o = Stiff(2.0)
    Oscillator._step(o, by=10.0)
    assert o.energy[None] == 90.0
    o.energy.grad[None] = 1.0
    Oscillator._step.grad(o, 10.0)
    assert o.x.grad[None] == 30.0


def test_a_kernel_of_a_class_without_an_owner():
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"`_step` takes 2 arguments \(self, by\), got 1"):
        Oscillator._step(1.0)
    with pytest.raises(ti.TaichiCompilationError, match="the parameter `self` has no type"):
        Oscillator._step(1.0, 1.0)


def test_the_order_of_decorators_is_said():
    with pytest.raises(ti.TaichiRuntimeTypeError, match="not property") as error:
        ti.kernel(property(lambda self: 1.0))
    assert "help: write `@kernel` below `@property`, next to the `def`" in str(error.value)
