"""Kernel parameters annotated with a class made by `dataclasses.dataclass`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np
import pytest

import dsim as ds
from dsim.diagnostics import CompilationError, LaunchTypeError

vec2 = ds.types.vector(2, ds.f64)
Ball = ds.types.struct(pos=vec2, mass=ds.f64)


@dataclass(frozen=True)
class Spring:
    stiffness: float
    rest: vec2
    order: int = 2


SOFT = Spring(2.0, ds.Vector([1.0, 2.0]))


@dataclass
class State:
    x: ds.types.ndarray()
    v: ds.template()
    spring: Spring
    steps: ds.i32
    LIMIT = 10.0

    def energy(self, i):
        return 0.5 * self.spring.stiffness * self.x[i] ** 2

    @property
    def stretch(self):
        return self.spring.rest.x + self.spring.rest.y

    @ds.func
    def scaled(self, i, by):
        return by * self.v[i]


@dataclass
class Wide:
    values: ds.types.vector(20, ds.f64)
    ball: Ball
    count: int = 1


@pytest.fixture(autouse=True)
def f64():
    ds.init(default_fp=ds.f64)


@pytest.fixture
def loss():
    return ds.field(ds.f64, shape=(), needs_grad=True)


@pytest.fixture
def state():
    x = ds.ndarray(ds.f64, shape=3, needs_grad=True)
    v = ds.field(ds.f64, shape=3, needs_grad=True)
    x.from_numpy(np.array([1.0, 2.0, 3.0]))
    v.from_numpy(np.array([5.0, 7.0, 11.0]))
    return State(x, v, Spring(4.0, ds.Vector([0.5, 0.25])), 2)


X, V = np.array([1.0, 2.0, 3.0]), np.array([5.0, 7.0, 11.0])


@ds.func
def product(s: State, i):
    return s.x[i] * s.v[i]


@pytest.fixture
def total(loss):
    @ds.kernel
    def total(s: State, scale: float):
        for i in s.x:
            loss[None] += scale * product(s, i) + s.energy(i) * s.steps + s.scaled(i, s.stretch)

    return total


def expected(scale, stiffness=4.0, steps=2):
    return float(np.sum(scale * X * V + 0.5 * stiffness * X**2 * steps + 0.75 * V))


def test_members_are_arguments(total, state, loss):
    total(state, 3.0)
    assert loss[None] == expected(3.0)


def test_members_are_read_at_each_launch(total, state, loss):
    total(state, 3.0)
    loss[None] = 0.0
    state.steps = 5
    state.spring = dataclasses.replace(state.spring, stiffness=6.0)
    total(scale=1.0, s=state)
    assert loss[None] == expected(1.0, 6.0, 5)


def test_gradients_by_a_tape_by_hand_and_in_forward_mode(total, state, loss):
    by_x, by_v = 3.0 * V + 4.0 * X * 2, 3.0 * X + 0.75
    with ds.ad.Tape(loss):
        total(state, 3.0)
    assert np.allclose(state.x.grad.to_numpy(), by_x)
    assert np.allclose(state.v.grad.to_numpy(), by_v)
    state.x.grad.fill(0.0)
    state.v.grad.fill(0.0)
    loss.grad[None] = 2.0
    total.grad(state, scale=3.0)
    assert np.allclose(state.x.grad.to_numpy(), 2.0 * by_x)
    assert np.allclose(state.v.grad.to_numpy(), 2.0 * by_v)
    for wrt, slope in ((state.x, by_x), (state.v, by_v)):
        with ds.ad.FwdMode(loss=loss, param=wrt, seed=[1.0, 0.0, 2.0]):
            total(state, 3.0)
        assert loss.dual[None] == pytest.approx(slope[0] + 2.0 * slope[2])


def test_gradients_are_compared_with_differences(total, state, loss):
    assert ds.check_grad(lambda: total(state, 3.0), wrt=[state.x, state.v], loss=loss).passed


def test_a_numpy_array_as_a_member():
    @dataclass
    class Row:
        a: ds.types.ndarray(ndim=1)
        by: float

    rows = Row

    def double(r: rows):
        for i in r.a:
            r.a[i] *= r.by

    double.__annotations__["r"] = Row
    a = np.ones(3)
    ds.kernel(double)(Row(a, 2.5))
    assert a.tolist() == [2.5] * 3


def test_members_that_are_one_array(loss):
    @ds.kernel
    def dot(a: State, b: State, x: ds.types.ndarray()):
        for i in a.x:
            loss[None] += a.x[i] * b.x[i] * x[i]

    x = ds.ndarray(ds.f64, shape=3, needs_grad=True)
    x.from_numpy(X)
    a, b = (State(x, loss, Spring(1.0, ds.Vector([0.0, 0.0])), n) for n in (1, 2))
    with ds.ad.Tape(loss):
        dot(a, b, x)
    assert loss[None] == np.sum(X**3)
    assert np.allclose(x.grad.to_numpy(), 3.0 * X**2)


def test_a_member_that_the_kernel_captures_too(loss):
    x = ds.field(ds.f64, shape=3, needs_grad=True)

    @dataclass
    class Holder:
        by: float
        of: ds.types.ndarray()

    def square(n: int, h: Holder):
        for i in range(n):
            loss[None] += h.by * x[i] * h.of[i]

    square.__annotations__["h"] = Holder
    square = ds.kernel(square)
    x.from_numpy(X)
    square(3, Holder(2.0, x))
    assert loss[None] == 2.0 * np.sum(X**2)
    with ds.ad.Tape(loss):
        square(3, Holder(2.0, x))
    assert np.allclose(x.grad.to_numpy(), 4.0 * X)


def test_vectors_with_run_time_indices_and_structs(loss):
    @ds.kernel
    def sum_up(w: Wide, n: int):
        for i in range(n):
            loss[None] += w.values[i] * w.ball.mass * w.ball.pos[i % 2] * w.count

    values = np.arange(20.0)
    sum_up(Wide(values, Ball(pos=[1.0, 10.0], mass=2.0)), 20)
    assert loss[None] == 2.0 * (values[::2].sum() + 10.0 * values[1::2].sum())


def test_defaults_methods_and_class_constants(loss):
    class Solver:
        scale = 3.0

        @ds.kernel
        def run(self, s: Spring = SOFT) -> float:
            return self.scale * s.stiffness**s.order

    assert Solver().run() == 12.0
    assert Solver().run(Spring(2.0, ds.Vector([0.0, 0.0]), 3)) == 24.0

    @ds.kernel
    def limit(s: State) -> float:
        return s.LIMIT + s.steps

    spring = Spring(1.0, ds.Vector([0.0, 0.0]))
    x = ds.field(ds.f64, shape=2)
    assert limit(State(x, x, spring, 1)) == 11.0
    State.LIMIT = 20.0
    try:
        assert limit(State(x, x, spring, 1)) == 21.0
    finally:
        State.LIMIT = 10.0


def test_subclasses():
    @dataclass(frozen=True)
    class Damped(Spring):
        damping: ds.f64 = field(default=0.5, kw_only=True)

    def power(s: Damped) -> float:
        return s.damping * s.stiffness

    power.__annotations__["s"] = Damped
    assert ds.kernel(power)(Damped(4.0, ds.Vector([0.0, 0.0]))) == 2.0

    @ds.kernel
    def stiffness(s: Spring) -> float:
        return s.stiffness

    assert stiffness(Damped(4.0, ds.Vector([0.0, 0.0]))) == 4.0


def test_a_local_may_stand_for_it_and_branches_keep_it(loss):
    @ds.kernel
    def k(s: Spring, n: int) -> float:
        t = s
        out = 0.0
        for i in range(n):
            if i > 1:
                u = t
                out += u.stiffness
        return out

    assert k(Spring(2.0, ds.Vector([0.0, 0.0])), 4) == 4.0


def test_forms_are_asked_for_by_members(total, state):
    form = total.of(state.x, state.v).primal
    assert "s_steps: i32" in form.ir
    assert repr(total) == "<kernel total of s.v>"
    assert not list(total.check(state.x, state.v))
    other = ds.field(ds.f64, shape=3)
    with pytest.raises(LaunchTypeError, match=r"is the kernel of another `s\.v`"):
        total.of(state.v)(dataclasses.replace(state, v=other), 1.0)


# -- what is refused


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3.0, "argument `s` of `k` is a dataclass `Spring`: got float"),
        (Spring, "got the class itself"),
        ({"stiffness": 1.0, "rest": [0.0, 0.0]}, "got dict"),
        (Spring("soft", [0.0, 0.0]), "argument `s.stiffness` of `k` is an f64: got str"),
        (Spring(1.0, [0.0] * 3), r"argument `s.rest` of `k` is a vector of 2 f64: got shape \(3,\)"),
        (Spring(1.0, [0.0] * 2, 2.5), "argument `s.order` of `k` is an i32: got the float 2.5"),
    ],
)
def test_arguments_that_do_not_fit(given, message):
    @ds.kernel
    def k(s: Spring) -> float:
        return s.stiffness * s.order + s.rest.x

    with pytest.raises(LaunchTypeError, match=message) as error:
        k(given)
    assert "test_dataclasses.py" in str(error.value)


def test_the_number_of_arguments_is_the_persons(state, total):
    with pytest.raises(LaunchTypeError, match=r"`total` takes 2 arguments \(s, scale\), got 1"):
        total(state)


def test_a_class_that_was_defined_again():
    @ds.kernel
    def k(s: Spring) -> float:
        return s.stiffness

    again = dataclasses.make_dataclass("Spring", ["stiffness", "rest", "order"])
    with pytest.raises(LaunchTypeError, match="an instance of another class of this name") as error:
        k(again(1.0, [0.0, 0.0], 2))
    assert "help: define the kernel again, after the class" in str(error.value)


def test_a_member_inside_that_is_none_and_one_that_is_gone(state, total):
    with pytest.raises(LaunchTypeError, match=r"argument `s\.spring` of `total` is a dataclass `Spring`"):
        total(dataclasses.replace(state, spring=None), 1.0)
    del state.steps
    with pytest.raises(LaunchTypeError, match="argument `s` of `total` has no `steps`"):
        total(state, 1.0)


@dataclass
class Named:
    name: str
    size: float


@dataclass
class Linked:
    value: float
    next: Linked


@dataclass
class Unknown:
    value: no_such_type  # noqa: F821


@pytest.mark.parametrize(
    ("kind", "message", "help"),
    [
        (Named, "cannot take the member `s.name`", "annotate it with a type of numbers"),
        (Linked, "`s.next` is a `Linked`, which contains itself", "store linked data in fields"),
        (Unknown, "the member `s.value` has no known type", "annotate it with a type"),
    ],
)
def test_members_that_kernels_cannot_take(kind, message, help):
    def k(s: kind) -> float:
        return 1.0

    k.__annotations__["s"] = kind
    with pytest.raises(CompilationError, match=message) as error:
        ds.kernel(k)(kind(*[1.0] * (1 + (kind is not Unknown))) if kind is not Linked else Linked(1.0, None))
    assert help in str(error.value)
    assert "def k(s: kind)" in str(error.value)


@pytest.mark.parametrize("what", ["assigned", "component", "added", "atomic"])
def test_members_cannot_be_changed(what):
    @ds.kernel
    def k(s: Spring) -> float:
        if ds.static(what == "assigned"):
            s.stiffness = 2.0
        if ds.static(what == "component"):
            s.rest[0] = 1.0
        if ds.static(what == "added"):
            s.stiffness += 1.0
        if ds.static(what == "atomic"):
            ds.atomic_add(s.stiffness, 1.0)
        return s.stiffness

    with pytest.raises(CompilationError, match=r"cannot (be )?change"):
        k(Spring(1.0, ds.Vector([0.0, 0.0])))


def test_an_attribute_that_is_not_there_is_said():
    @ds.kernel
    def k(s: Spring) -> float:
        return s.stifness

    with pytest.raises(CompilationError, match="`s` has no `stifness`") as error:
        k(Spring(1.0, ds.Vector([0.0, 0.0])))
    assert "did you mean `stiffness`" in str(error.value)


def test_a_func_takes_what_it_is_annotated_with():
    @ds.kernel
    def k(s: Spring) -> float:
        return product(s, 0)

    with pytest.raises(CompilationError, match="`product` takes the dataclass `State` as `s`") as error:
        k(Spring(1.0, ds.Vector([0.0, 0.0])))
    assert "return product(s, 0)" in str(error.value)


def test_a_captured_instance_goes_to_the_same_func(state, loss):
    @ds.kernel
    def k():
        for i in state.v:
            loss[None] += rest(state.spring) * state.v[i]

    @ds.func
    def rest(s: Spring):
        return s.stiffness

    k()
    assert loss[None] == 4.0 * V.sum()
