"""Kernels and funcs in classes: methods, class and static methods, properties, inheritance."""

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
    assert Derived.scaled is Derived.scaled is not Base.scaled  # compiled once for each class
    monkeypatch.setattr(Derived, "factor", 5.0)
    assert [Base.scaled(2.0), Derived.scaled(2.0)] == [6.0, 10.0]


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
