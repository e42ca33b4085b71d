"""Fields of structs: creation and placement, members, access from Python and in kernels."""

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import CompilationError
from tests.runtime.fields.balls import Ball, Spin


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


# ------------------------------------------------------------------ making and placing


def test_a_field_of_a_type():
    f = Ball.field(shape=(2, 3), needs_grad=True)
    assert f.shape == f.pos.shape == f.spin.axis.shape == (2, 3)
    assert f.keys == ["pos", "mass", "hits", "spin"]
    assert f.get_member_field("mass") is f.mass
    assert f.pos.grad.shape == (2, 3)
    assert f.spin.rate.needs_grad
    assert f.placed
    assert f.grad.keys == ["pos", "mass", "spin"]
    assert f.grad.pos is f.pos.grad
    assert f.grad.spin.rate is f.spin.rate.grad
    assert not f.hits.needs_grad


def test_a_field_of_members():
    f = ti.Struct.field(
        {"a": ti.f32, "m": ti.types.matrix(2, 3, ti.f64), "inner": {"n": int}},
        shape=4,
        needs_dual=True,
        layout=ti.Layout.SOA,
    )
    assert (f.a.dtype, f.m.entry_shape, f.inner.n.dtype) == (ti.f32, (2, 3), ti.i32)
    assert f.m.dual.shape == (4,)
    assert not f.a.needs_grad


def test_placed_by_hand():
    f, g, h = Ball.field(), Ball.field(), Ball.field()
    ti.root.dense(ti.i, 4).place(f)
    ti.root.dense(ti.i, 4).place(f.grad)
    assert f.placed
    assert f.grad.placed
    assert not f.hits.needs_grad
    ti.root.place(g)
    assert g.shape == ()
    ti.root.lazy_grad()
    assert g.mass.needs_grad
    assert not g.hits.needs_grad
    assert not h.placed
    block = ti.root.dense(ti.i, 3)
    block.place(h.pos, h.mass)
    block.place(h.hits, h.spin)
    assert h.placed
    assert h.shape == (3,)


def test_names():
    named, unnamed = Ball.field(shape=2, name="balls"), Ball.field(shape=2)
    assert named.pos.name == "balls.pos"
    assert named.spin.rate.name == "balls.spin.rate"
    assert repr(named) == "<struct field `balls` of pos, mass, hits, spin: shape (2,)>"
    assert repr(unnamed) == "<struct field of pos, mass, hits, spin: shape (2,)>"

    @ti.kernel
    def k():
        for i in unnamed:
            unnamed[i].spin.rate = unnamed[i].mass

    k()
    assert unnamed.mass.name == "unnamed.mass"
    assert unnamed.spin.rate.name == "unnamed.spin.rate"
    assert {"pos", "mass", "grad", "fill", "to_numpy"} <= set(dir(named))


def test_members_that_fields_cannot_have():
    with pytest.raises(TypeError, match="pass methods as a dictionary, not as 4; `shape=` goes by name"):
        ti.Struct.field({"a": ti.f32}, 4)
    with pytest.raises(TypeError, match="cannot be called `shape`: fields have an attribute of it"):
        ti.types.struct(shape=ti.f32).field(shape=2)
    f = Ball.field(shape=2)
    with pytest.raises(AttributeError, match=r"has no member `mas`: did you mean `mass`\?"):
        f.mas  # noqa: B018
    with pytest.raises(AttributeError, match="`mass` of a struct field cannot be replaced"):
        f.mass = f.spin.rate
    with pytest.raises(RuntimeError, match="no float members"):
        ti.types.struct(n=ti.i32).field(shape=2).grad  # noqa: B018


# ------------------------------------------------------------------ from Python


def test_elements():
    f = Ball.field(shape=3)
    f[1] = Ball([1.0, 2.0], 3.0, 4, Spin(rate=5.0))
    assert f[1] == Ball([1.0, 2.0], 3.0, 4, Spin(rate=5.0))
    f[1].pos.x = 7.0
    f[1].mass += 1.0
    f[1].spin.axis = [8.0, 9.0]
    f[1].spin.axis[0] += 0.5
    f.spin.rate[1] = -1.0
    f[1].hits = 6
    assert f[1].to_dict() == {
        "pos": [7, 2], "mass": 4, "hits": 6, "spin": {"axis": [8.5, 9], "rate": -1},
    }  # fmt: skip
    f[0] = f[1]
    f[1] = {**f[1].to_dict(), "mass": 0.0}
    assert (f[0].mass, f[1].mass, f[0].pos.x, f[2].pos.x) == (4, 0, 7, 0)
    f[0].push(np.array([1.0, 1.0]))
    assert f.pos[0].to_list() == [8, 3]


def test_a_single_element():
    f = Spin.field(shape=())
    f[None] = Spin([1.0, 2.0], 3.0)
    f[None].rate += 1.0
    f[None].axis.y = 5.0
    assert f[None].to_dict() == {"axis": [1, 5], "rate": 4}


def test_wrong_elements():
    f = Ball.field(shape=3, name="balls")
    with pytest.raises(IndexError, match="index 3 is outside"):
        f[3]
    with pytest.raises(TypeError, match="is a struct of `pos`, `mass`, `hits`, `spin`, got int"):
        f[0] = 1
    with pytest.raises(TypeError, match=r"holds vectors of shape \(2,\), got a value of shape \(3,\)"):
        f[0].pos = [1.0, 2.0, 3.0]
    with pytest.raises(AttributeError, match="`Ball` has no member `weight`"):
        f[0].weight = 1.0
    with pytest.raises(RuntimeError, match="has not been placed"):
        Ball.field()[0]
    with pytest.raises(TypeError, match="has no len"):
        len(f)
    with pytest.raises(TypeError, match="in kernels only"):
        list(f)
    before = f.to_numpy()
    with pytest.raises(TypeError, match="holds i32"):
        f[0] = {**Ball(mass=1.0).to_dict(), "hits": 1.5}
    assert f[0] == Ball()
    assert before["mass"].tolist() == [0, 0, 0]


def test_arrays_of_all_members():
    f, g = Ball.field(shape=2), Ball.field(shape=2)
    arrays = {
        "pos": np.arange(4.0).reshape(2, 2), "mass": np.array([1.0, 2.0]), "hits": np.array([3, 4]),
        "spin": {"axis": np.ones((2, 2)), "rate": np.zeros(2)},
    }  # fmt: skip
    f.from_numpy(arrays)
    g.copy_from(f)
    found = g.to_numpy()
    assert found["pos"].tolist() == [[0, 1], [2, 3]]
    assert found["spin"]["axis"].tolist() == [[1, 1], [1, 1]]
    assert found["hits"].dtype == np.int32
    g.fill(2)
    assert g.spin.axis.to_numpy().sum() + g.hits.to_numpy().sum() == 12
    g.fill(f[1])
    assert g[0] == f[1]
    with pytest.raises(TypeError, match=r"from_numpy\(\) of the struct field needs the members `pos`"):
        f.from_numpy({"pos": arrays["pos"]})
    with pytest.raises(TypeError, match=r"copy_from\(\) of the struct field needs the members"):
        f.copy_from(Spin.field(shape=2))
    with pytest.raises(TypeError, match="takes a struct field, not Field"):
        f.copy_from(f.mass)


# ------------------------------------------------------------------ in kernels


def test_a_kernel_over_a_struct_field():
    f = Ball.field(shape=3)
    total = ti.field(ti.f64, shape=())

    @ti.kernel
    def step(dt: ti.f64):
        for i in f:
            f[i].push([dt * f[i].mass, 0.0])
            b = f[i]
            b.mass = 100.0
            total[None] += b.energy() / b.mass

    f.mass.from_numpy(np.array([1.0, 2.0, 3.0]))
    step(2.0)
    assert f.pos.to_numpy().tolist() == [[2, 0], [4, 0], [6, 0]]
    assert f.hits.to_numpy().tolist() == [1, 1, 1]
    assert f.mass.to_numpy().tolist() == [1, 2, 3]
    assert total[None] == 28.0


def test_struct_fields_for_template_parameters_and_as_attributes():
    f, g = Ball.field(shape=2), Ball.field(shape=3)

    @ti.kernel
    def heavier(balls: ti.template(), by: ti.f64):
        for i in balls:
            balls[i].mass += by

    class Scene:
        def __init__(self):
            self.balls = g

        @ti.kernel
        def push(self):
            for i in self.balls:
                self.balls[i].push(1.0)

    heavier(f, 1.0)
    heavier(g, 2.0)
    Scene().push()
    assert f.mass.to_numpy().tolist() == [1, 1]
    assert g.mass.to_numpy().tolist() == [2, 2, 2]
    assert g.hits.to_numpy().tolist() == [1, 1, 1]
    assert f.mass.name == "the field"


def test_indices_outside():
    f = Ball.field(shape=3)

    @ti.kernel
    def k(i: ti.i32):
        f[i].mass = 1.0

    with pytest.raises(IndexError, match=r"index 3 is outside `f.mass` of shape \(3,\)"):
        k(3)


def test_not_placed():
    f = Ball.field()

    @ti.kernel
    def k():
        for i in f:
            f[i].mass = 1.0

    with pytest.raises(CompilationError, match="the members of `f` are not all placed with one shape"):
        k()
