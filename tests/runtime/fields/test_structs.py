"""Structs outside kernels, as arguments and results of kernels, and as captured values."""

import copy

import numpy as np
import pytest

import dsim as ti
from dsim.runtime.fields.structs import HostStruct


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


Spin = ti.types.struct(axis=ti.math.vec2, rate=ti.f32)


@ti.dataclass
class Ball:
    pos: ti.math.vec2
    mass: ti.f64
    hits: ti.i32
    spin: Spin

    @ti.func
    def push(self, by):
        self.pos += by
        self.hits += 1
        return self.mass * self.pos.x

    def is_heavy(self):
        return self.mass > 10.0


def ball():
    return Ball([1.0, 2.0], 3.0, spin=Spin(rate=4))


def test_members():
    b = ball()
    assert (b.pos.to_list(), b.mass, b.hits, b.spin.rate, b.spin.axis.to_list()) == (
        [1, 2], 3, 0, 4, [0, 0],
    )  # fmt: skip
    b.pos = [5, 6]
    b.pos.x += 1.0
    b["mass"] = 7
    b.spin.axis = 2.0
    b.spin = {"axis": b.spin.axis, "rate": np.float32(0.5)}
    assert b.to_dict() == {
        "pos": [6, 6], "mass": 7, "hits": 0, "spin": {"axis": [2, 2], "rate": 0.5},
    }  # fmt: skip
    assert isinstance(b.mass, float)
    assert b.keys == ["pos", "mass", "hits", "spin"]
    assert dict(b.items)["mass"] == b["mass"] == 7
    assert len(b) == 4


def test_a_struct_holds_copies():
    v, s = ti.Vector([1.0, 2.0]), Spin(rate=1.0)
    b = Ball(v, spin=s)
    v[0] = s.rate = 9.0
    assert (b.pos.x, b.spin.rate) == (1, 1)


def test_copying():
    b = ball()
    for other in (copy.copy(b), copy.deepcopy(b)):
        other.pos.x = other.spin.rate = 9.0
        assert other.is_heavy() is False
    assert b == ball()
    assert copy.copy(ti.Struct(a=[1.0])).a.x == 1


def test_how_they_look():
    assert repr(ball()) == "Ball(pos=[1.0, 2.0], mass=3.0, hits=0, spin=Struct(axis=[0.0, 0.0], rate=4.0))"
    assert repr(ti.Struct(a=1, b={"c": [1.0]})) == "Struct(a=1, b=Struct(c=[1.0]))"
    assert repr(Ball) == (
        "<struct type Ball (pos: float[2], mass: f64, hits: i32, "
        "spin: <struct type (axis: float[2], rate: f32)>)>"
    )
    assert {"pos", "mass", "push", "keys", "to_dict"} <= set(dir(ball()))


def test_equality_and_instances():
    assert ball() == ball()
    assert ball() != Ball()
    assert ball() != 3
    assert isinstance(ball(), ti.Struct)
    assert isinstance(ball(), Ball)
    assert not isinstance(ball().spin, Ball)
    assert isinstance(ti.Struct(a=1), HostStruct)


def test_methods_from_python():
    b = ball()
    assert not b.is_heavy()
    assert b.push(np.array([1.0, 0.0])) == 6.0
    assert (b.pos.to_list(), b.hits) == ([2, 2], 1)


def test_structs_without_a_type():
    s = ti.Struct({"a": 1.0, "v": [1.0, 2.0]}, )  # fmt: skip
    s.a = 2
    s.v = np.array([3.0, 4.0])
    assert s.v.x + s.a == 5
    with pytest.raises(TypeError, match="`v` is like"):
        s.v = [1.0]
    with pytest.raises(TypeError, match="`a` is a number, got Array"):
        s.a = [1.0]
    with pytest.raises(TypeError, match="cannot be a str"):
        ti.Struct(a="b")
    for wrong in ([], [1.0], [{"a": 1}, {"b": 1}]):
        with pytest.raises(TypeError):
            ti.Struct(*wrong)


def test_wrong_values():
    b = ball()
    with pytest.raises(
        AttributeError, match=r"`Ball` has no member `mas`: did you mean `mass`\? Its members"
    ):
        b.mas  # noqa: B018
    with pytest.raises(AttributeError, match="has no member `wide`: its members are `pos`"):
        b.wide = 1.0
    with pytest.raises(KeyError, match="has no member `wide`"):
        b["wide"]
    with pytest.raises(TypeError, match=r"`Ball.pos` holds f64 of shape \(2,\): got a value of shape \(3,\)"):
        b.pos = [1.0, 2.0, 3.0]
    with pytest.raises(TypeError, match=r"`Ball.hits` holds i32: 1.5 is not an integer"):
        b.hits = 1.5
    with pytest.raises(TypeError, match=r"`Ball.mass` holds f64: got list"):
        b.mass = [1.0]
    with pytest.raises(TypeError, match=r"`Ball.spin` is a struct of `axis`, `rate`, got float"):
        b.spin = 1.0
    with pytest.raises(TypeError, match=r"`Ball.spin` is .*, got a struct of `rate`"):
        Ball(spin={"rate": 1.0})
    with pytest.raises(TypeError, match="`Ball` has 4 members, got 5 values"):
        Ball(1, 2, 3, 4, 5)
    with pytest.raises(TypeError, match="`Ball` has no member `weight`"):
        Ball(weight=1.0)
    with pytest.raises(TypeError, match="`Ball` got the member `pos` twice"):
        Ball(1.0, pos=2.0)


def test_wrong_types():
    with pytest.raises(TypeError, match="needs at least one member"):
        ti.types.struct()
    with pytest.raises(TypeError, match="cannot be called `_put`: structs have an attribute of this name"):
        ti.types.struct(_put=ti.f32)
    with pytest.raises(TypeError, match="'__a': it needs a plain name"):
        ti.types.struct(__a=ti.f32)
    with pytest.raises(TypeError, match=r"the member `a` of a struct has no type that kernels know, but 'b'"):
        ti.types.struct(a="b")
    with pytest.raises(TypeError, match=r"`A.a` cannot have a default value"):

        @ti.dataclass
        class A:
            a: ti.f32 = 1.0

    with pytest.raises(TypeError, match="`B` cannot inherit"):

        @ti.dataclass
        class B(dict):
            a: ti.f32

    with pytest.raises(TypeError, match=r"`C.g` is neither a member nor a method"):

        @ti.dataclass
        class C:
            a: ti.f32
            g = 9.81

    with pytest.raises(TypeError, match="`a` cannot be a method of a struct: it is a kernel"):

        @ti.dataclass
        class D:
            b: ti.f32

            @ti.kernel
            def a(self):
                pass

    with pytest.raises(TypeError, match="cannot be called `a`: the struct has a method of this name"):
        ti.types.struct(a=ti.f32, __struct_methods={"a": lambda self: 1})
    with pytest.raises(TypeError, match="decorates a class"):
        ti.dataclass(3)


def test_methods_for_inside():
    @ti.dataclass
    class A:
        a: ti.f64

        @ti.func
        def _half(self):
            return 0.5 * self.a

        @ti.func
        def quarter(self):
            return 0.5 * self._half()

    @ti.kernel
    def k(s: A) -> ti.f64:
        return s.quarter()

    assert k(A(8.0)) == A(8.0).quarter() == 2.0
    with pytest.raises(AttributeError, match="has no member `_hlf`"):
        A()._hlf  # noqa: B018
    with pytest.raises(TypeError, match="a method of a struct cannot be called `items`"):
        ti.types.struct(a=ti.f32, __struct_methods={"items": A.methods[0][1]})


def test_methods_given_by_a_keyword():
    @ti.func
    def twice(self):
        return 2.0 * self.a

    One = ti.types.struct(a=ti.f64, __struct_methods={"twice": twice})

    @ti.kernel
    def k(a: ti.f64) -> ti.f64:
        return One(a).twice()

    assert k(4.0) == One(4.0).twice() == 8.0


def test_arguments_and_results_of_kernels():
    @ti.kernel
    def k(b: Ball, by: ti.f64) -> Ball:
        b.push([by, 0.0])
        b.spin.axis[b.hits] = 5.0
        return b

    b = ball()
    found = k(b, 2.0)
    assert found == Ball([3.0, 2.0], 3.0, 1, Spin([0.0, 5.0], 4.0))
    assert b == ball()
    assert k(b.to_dict(), 2.0) == found
    assert isinstance(found.pos, ti.Vector)
    assert "b_pos_x: f64" in str(k.primal.ir)


def test_wrong_arguments_of_kernels():
    @ti.kernel
    def k(b: Ball):
        b.push(1.0)

    with pytest.raises(
        TypeError, match=r"`b` of `k` is a struct of `pos`, `mass`, `hits`, `spin`: got float"
    ):
        k(1.0)
    with pytest.raises(TypeError, match=r"argument `b` of `k` is a struct .*: got a struct of `rate`"):
        k({"rate": 1.0})
    with pytest.raises(TypeError, match=r"argument `b.spin.rate` of `k` is an f32: got str"):
        k({**ball().to_dict(), "spin": {"axis": [0.0, 0.0], "rate": "x"}})
    with pytest.raises(TypeError, match=r"argument `b.pos` of `k` is a vector of 2 f64: got shape \(3,\)"):
        k({**ball().to_dict(), "pos": [1.0, 2.0, 3.0]})


def test_captured_structs_are_constants_that_are_looked_at_again():
    b = ball()
    settings = ti.Struct(g=[0.0, -10.0])

    @ti.kernel
    def k() -> ti.f64:
        return b.mass * settings.g.y + b.spin.rate

    assert k() == -26.0
    b.mass = 4.0
    assert k() == -36.0
    settings.g[1] = 1.0
    assert k() == 8.0


def test_structs_for_template_parameters():
    b = ball()

    @ti.kernel
    def k(a: ti.template()) -> ti.f64:
        return a.mass

    assert k(b) == 3.0
    b.mass = 5.0
    assert k(b) == 5.0
    assert k(Ball(mass=1.0)) == 1.0


def test_only_what_changes_is_carried():
    @ti.kernel
    def k(b: Ball) -> ti.f64:
        for _ in range(3):
            b.push([1.0, 0.0])
        return b.pos.x * b.mass + b.hits

    assert k(ball()) == 15.0
    (loop,) = [line for line in str(k.primal.ir).splitlines() if " for " in line]
    assert loop.strip().startswith(
        "parallel for _: i32 in 0..3 carrying (b_pos_x_1: f64 = b_pos_x, b_hits_1: i32 = b_hits) ->"
    )


def test_own_derivatives_of_funcs_of_structs():
    @ti.func
    def power(p):
        return p.rate**2 * p.axis.x

    @ti.func
    def power_vjp(p, bar):
        return Turn([p.rate**2 * bar, 0.0], 2.0 * p.rate * p.axis.x * bar)

    Turn = ti.types.struct(axis=ti.math.vec2, rate=ti.f64)
    power.derivative(vjp=power_vjp)
    x, y = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def k():
        y[None] = power(Turn([x[None], 1.0], 3.0 * x[None]))

    x[None] = 2.0
    with ti.ad.Tape(y):
        k()
    assert (y[None], x.grad[None]) == (72.0, 27 * 4.0)
    with pytest.raises(TypeError, match="`power` cannot be checked at a struct"):
        power.check_derivative(Turn([1.0, 2.0], 3.0))


def test_own_derivatives_of_methods():
    @ti.dataclass
    class Spring:
        k: ti.f64
        x: ti.f64

        @ti.func
        def energy(self, scale):
            return 0.5 * self.k * self.x**2 * scale

        @ti.func
        def energy_vjp(self, scale, bar):
            return Spring(bar * scale * self.x**2, 0.0), bar  # not the gradient: a mark of its own

        energy.derivative(vjp=energy_vjp)

    springs = Spring.field(shape=2, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def total():
        for i in springs:
            s = springs[i]
            loss[None] += s.energy(1.0) + springs[i].energy(3.0)

    springs.fill(Spring(2.0, 3.0))
    with ti.ad.Tape(loss):
        total()
    assert (loss[None], springs.k.grad[0], springs.x.grad[1]) == (72.0, 36.0, 0.0)


def test_annotations_that_are_kept_as_text():
    text = "from __future__ import annotations\n@ti.dataclass\nclass A:\n    a: {}\n    s: Spin\n"
    space = {"ti": ti, "Spin": Spin}
    exec(text.format("ti.f32"), space)
    assert space["A"](a=1.0).s.rate == 0
    inner = "def f():\n    Own = ti.types.struct(b=ti.f32)\n" + "\n".join(
        f"    {line}" for line in text.format("Own").splitlines()[1:]
    )
    exec(f"from __future__ import annotations\n{inner}\n    return A\n", space)
    assert space["f"]()().a.b == 0
    with pytest.raises(TypeError, match="a type in `A` is unknown: name 'Unknown' is not defined"):
        exec(text.format("Unknown"), space)
