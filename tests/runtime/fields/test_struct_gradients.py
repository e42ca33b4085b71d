"""Derivatives with respect to the members of struct fields."""

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import CompilationError
from tests.runtime.fields.balls import Ball, Spin


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_a_tape():
    f = Ball.field(shape=2, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def k():
        for i in f:
            b = f[i]
            for _ in range(3):
                b.push(b.spin.axis * b.spin.rate)
            loss[None] += b.energy()

    f.fill(Ball([1.0, 2.0], 3.0, 0, Spin([4.0, 5.0], 0.1)))
    with ti.ad.Tape(loss):
        k()
    end = np.array([1.0, 2.0]) + 0.3 * np.array([4.0, 5.0])
    found = f.grad[1]
    np.testing.assert_allclose(found.pos.to_numpy(), 3.0 * end)
    np.testing.assert_allclose(found.mass, 0.5 * end @ end)
    np.testing.assert_allclose(found.spin.axis.to_numpy(), 3.0 * end * 0.3)
    np.testing.assert_allclose(found.spin.rate, 3.0 * end @ [4.0, 5.0] * 3.0)
    assert f.grad.to_numpy()["mass"].shape == (2,)
    assert repr(f.grad) == "<struct field of pos, mass, spin: shape (2,)>"


def test_state_in_place_and_writes_from_python():
    f = Spin.field(shape=2, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def step():
        for i in f:
            f[i].rate = ti.sin(f[i].rate) * f[i].axis.x

    @ti.kernel
    def measure():
        for i in f:
            loss[None] += f[i].rate ** 2

    f.fill(Spin([2.0, 0.0], 0.5))
    with ti.ad.Tape(loss):
        f[1] = Spin([2.0, 0.0], 0.25)
        f[1].axis.x = 3.0
        for _ in range(2):
            step()
        measure()
    a, b = 2.0 * np.sin(0.5), 2.0 * np.sin(2.0 * np.sin(0.5))
    slope = 2.0 * b * 2.0 * np.cos(a) * 2.0 * np.cos(0.5)
    np.testing.assert_allclose(f.grad[0].rate, slope)
    assert f.grad[1].to_dict() == {"axis": [0, 0], "rate": 0}


def test_forward_mode():
    f = Spin.field(shape=2)
    y = ti.field(ti.f64, shape=2)

    @ti.kernel
    def k():
        for i in f:
            p = f[i]
            p.rate *= p.axis.x
            y[i] = p.rate**2

    f.fill(Spin([2.0, 0.0], 3.0))
    with ti.ad.FwdMode(loss=y, param=[f.rate, f.axis], seed=[np.ones(2), np.zeros((2, 2))]):
        k()
    assert y.dual.to_numpy().tolist() == [24, 24]
    with ti.ad.FwdMode(loss=y, param=f, seed={"rate": [1.0, 0.5]}):
        k()
    assert y.dual.to_numpy().tolist() == [24, 12]
    with ti.ad.FwdMode(loss=y, param=[f, f.rate], seed=[{"axis": [[1.0, 0.0], [0.0, 1.0]]}, np.zeros(2)]):
        k()
    assert y.dual.to_numpy().tolist() == [36, 0]
    with ti.ad.FwdMode(loss=y, param=[f.rate, f], seed=[[1.0, 0.5], {"axis": np.zeros((2, 2))}]):
        k()  # what the seed of the structs leaves out does not replace the one before
    assert y.dual.to_numpy()[1] != 0.0


def test_forward_mode_by_nested_structs_with_integers():
    inner = ti.types.struct(a=ti.f64, n=ti.i32)
    s, d = (
        ti.Struct.field({"inner": inner, "v": ti.math.vec2, "k": ti.i32}, shape=(), needs_dual=True)
        for _ in range(2)
    )
    y = ti.Struct.field({"z": ti.f64}, shape=())

    @ti.kernel
    def k():
        y[None].z = s[None].inner.a ** 2 * s[None].v.y

    s.fill(3.0)
    d.inner.a[None], d.v[None] = 1.0, [0.0, 2.0]
    for seed in (d, {"inner": {"a": 1.0}, "v": [0.0, 2.0]}):
        with ti.ad.FwdMode(loss=y, param=s, seed=seed):
            k()
        assert y.z.dual[None] == y.dual.z[None] == 2 * 3.0 * 3.0 + 9.0 * 2.0


def test_wrong_seeds_for_struct_fields():
    f, n = Spin.field(shape=2, name="f"), ti.Struct.field({"n": ti.i32}, shape=2, name="n")
    for param, seed, message, advice in (
        (f, None, "a direction is needed", "pass `seed=` a dictionary of arrays"),
        (f, np.ones(2), "got a NumPy array as a seed", "pass `seed=` a dictionary of arrays"),
        (
            f,
            {"rats": 1.0},
            "a seed for `rats`, which is not a float member",
            "its float members are `axis`, `rate`",
        ),
        (f, {"rate": np.ones(3)}, r"`f.rate` takes an array of shape (2,), got (3,)", ""),
        (n, {}, "param must have floats, <struct field `n` of n: shape (2,)> has none", ""),
    ):
        with pytest.raises(RuntimeError) as error:
            ti.ad.FwdMode(param=param, seed=seed)
        assert message in str(error.value)
        assert f"help: {advice}" in str(error.value) or not advice


def test_gradients_in_a_kernel():
    f = Ball.field(shape=2, needs_grad=True)

    @ti.kernel
    def descend(rate: ti.f64):
        for i in f:
            g = f.grad[i]
            f[i].pos -= rate * g.pos
            f[i].spin.rate -= rate * f.spin.grad[i].rate
            f.mass[i] -= rate * f.mass.grad[i]

    f.grad.fill(2.0)
    descend(0.5)
    assert f[1].to_dict() == {"pos": [-1, -1], "mass": -1, "hits": 0, "spin": {"axis": [0, 0], "rate": -1}}


def test_gradients_that_are_not_there():
    f = Ball.field(shape=2)

    @ti.kernel
    def k():
        for i in f:
            f[i].mass -= f.grad[i].mass

    with pytest.raises(CompilationError, match="the field `f` has no `grad`"):
        k()


def test_stop_grad_of_all_members():
    f = Spin.field(shape=(), needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def double():
        f[None].rate *= 2.0

    @ti.kernel
    def measure():
        loss[None] += f[None].rate * f[None].axis.x

    f[None] = Spin([3.0, 0.0], 1.0)
    with ti.ad.Tape(loss):
        measure()
        double()
        ti.stop_grad(f)
        measure()
    assert (loss[None], f.rate.grad[None], f.axis.grad[None].x) == (9.0, 3.0, 1.0)


def test_a_member_as_an_array_beside_its_struct():
    f = Spin.field(shape=3, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def k(a: ti.types.ndarray(), g: ti.template()):
        for i in g:
            a[i] = ti.sin(g[i].rate)
            loss[None] += g[i].rate * g[i].axis.x

    f.fill(Spin([2.0, 0.0], 0.5))
    with ti.ad.Tape(loss):
        k(f.rate, f)
    np.testing.assert_allclose(loss[None], 3 * np.sin(0.5) * 2.0)
    np.testing.assert_allclose(f.rate.grad.to_numpy(), 2.0 * np.cos(0.5))
