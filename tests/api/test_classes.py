"""Kernels and funcs in classes: methods, class and static methods, properties, inheritance."""

import numpy as np

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
