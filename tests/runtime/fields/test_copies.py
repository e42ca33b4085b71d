"""Copies of objects with numbers, by `copy` and `pickle`, and by another process."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

import dsim as ti


def pickled(value):
    return pickle.loads(pickle.dumps(value))


WAYS = pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
DEEP = pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
MAKERS = {
    "numbers": lambda: ti.field(ti.f64, shape=3, needs_grad=True, name="x"),
    "integers": lambda: ti.field(ti.i16, shape=(2, 3)),
    "single": lambda: ti.field(ti.f32, shape=(), needs_dual=True),
    "vectors": lambda: ti.Vector.field(2, ti.f32, shape=3, needs_grad=True),
    "matrices": lambda: ti.Matrix.field(2, 3, ti.f16, shape=(2, 2)),
    "offset": lambda: ti.field(ti.f32, shape=4, offset=-2, needs_grad=True),
}


@WAYS
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_a_field(copied, make):
    x = make()
    values = np.arange(np.prod(x.full_shape)).reshape(x.full_shape)
    x.from_numpy(values)
    if x.needs_grad:
        x.grad.fill(5.0)
    y = copied(x)
    assert (y.dtype, y.shape, y.entry_shape, y.offset) == (x.dtype, x.shape, x.entry_shape, x.offset)
    assert (y.needs_grad, y.needs_dual) == (x.needs_grad, x.needs_dual)
    assert (y.root.given_name, y.snode.shape) == (x.root.given_name, x.snode.shape)
    x.fill(0)
    assert np.array_equal(y.to_numpy(), values)
    if x.needs_grad:
        x.grad.fill(1.0)
        assert (y.grad.to_numpy() == 5.0).all()
    y.fill(7)
    assert (x.to_numpy() == 0).all()


@WAYS
def test_gradients_of_a_copy(copied):
    x = ti.field(ti.f64, shape=2, needs_grad=True)
    y = ti.field(ti.f64, shape=(), needs_grad=True)
    x.fill(3.0)
    other = copied(x)

    @ti.kernel
    def squares(of: ti.template()):
        for i in of:
            y[None] += of[i] ** 2

    with ti.ad.Tape(y):
        squares(other)
    assert other.grad.to_numpy().tolist() == [6.0, 6.0]
    with pytest.warns(ti.GradientWarning, match="no call inside the tape reads"):
        assert x.grad.to_numpy().tolist() == [0.0, 0.0]


def test_a_copy_inside_a_tape_is_differentiated():
    x = ti.field(ti.f64, shape=(), needs_grad=True)
    y = ti.field(ti.f64, shape=(), needs_grad=True)
    x[None] = 3.0

    @ti.kernel
    def square(of: ti.template()):
        y[None] += of[None] ** 2

    with ti.ad.Tape(y):
        square(copy.deepcopy(x))
    assert x.grad[None] == 6.0


def test_a_pickle_inside_a_tape_ends_gradients():
    x = ti.field(ti.f64, shape=(), needs_grad=True)
    y = ti.field(ti.f64, shape=(), needs_grad=True)
    with ti.ad.Tape(y):
        y[None] = 1.0
        with pytest.warns(ti.GradientWarning, match="is read into Python|gradient"):
            pickle.dumps(x)


@DEEP
def test_a_field_and_its_gradient_stay_together(copied):
    x = ti.field(ti.f32, shape=2, needs_grad=True)
    x.grad.fill(2.0)
    y, again, bar = copied([x, x, x.grad])
    assert y is again
    assert y.grad is bar
    assert y is not x
    alone = copied(x.grad)
    x.grad.fill(0.0)
    assert alone.to_numpy().tolist() == [2.0, 2.0]


@WAYS
def test_what_is_not_placed(copied):
    x = ti.field(ti.f32, needs_grad=True)
    y = copied(x)
    ti.root.dense(ti.i, 3).place(y)
    assert (y.shape, y.grad.shape) == ((3,), (3,))
    with pytest.raises(ti.LaunchError, match="not been placed"):
        x.fill(1.0)


@WAYS
def test_what_was_dropped(copied):
    x = ti.field(ti.f32, shape=3)
    ti.reset()
    with pytest.raises(ti.LaunchError, match="was dropped"):
        copied(x)


def test_the_place_of_a_copy():
    tree = ti.FieldsBuilder()
    x = ti.field(ti.f32)
    tree.dense(ti.ij, (2, 3)).place(x)
    tree.finalize()
    y = copy.deepcopy(x)
    assert y.parent() is x.parent()
    tree.lazy_grad()
    assert y.needs_grad
    z = pickled(x)
    assert z.snode.parent(2) is ti.root


@WAYS
def test_ndarrays(copied):
    a = ti.Vector.ndarray(2, ti.f64, 3, needs_grad=True)
    a.fill(1.0)
    a.grad.fill(2.0)
    b = copied(a)
    assert isinstance(b, ti.Ndarray)
    assert b.grad.to_numpy().tolist() == [[2.0, 2.0]] * 3
    a.fill(4.0)
    assert b.to_numpy().tolist() == ([[4.0, 4.0]] * 3 if copied is copy.copy else [[1.0, 1.0]] * 3)


@WAYS
def test_components(copied):
    v = ti.Vector.field(2, ti.f32, shape=3)
    v.fill([1.0, 2.0])
    part = copied(v.get_scalar_field(1))
    v.fill(0.0)
    assert part.to_numpy().tolist() == [2.0] * 3
    assert part.whole.get_scalar_field(1) is part


@WAYS
def test_struct_fields(copied):
    inner = ti.types.struct(r=ti.f32, n=ti.i32)
    f = ti.Struct.field({"pos": ti.math.vec2, "at": inner}, shape=2, needs_grad=True, name="f")
    f[1] = {"pos": [1.0, 2.0], "at": {"r": 3.0, "n": 4}}
    f.grad.pos.fill(5.0)
    g = copied(f)
    f.fill(0)
    assert g[1].to_dict() == {"pos": [1.0, 2.0], "at": {"r": 3.0, "n": 4}}
    assert g.pos.grad[0].to_list() == [5.0, 5.0]
    assert g.grad.pos is g.pos.grad
    assert (g.name, g.keys, g.at.n.dtype) == ("f", ["pos", "at"], ti.i32)


@WAYS
def test_values(copied):
    kind = ti.types.struct(a=ti.f32, v=ti.math.vec2)
    for value in (kind(1.0, [2.0, 3.0]), ti.Struct(a=1.0, v=[2.0, 3.0]), kind.field(shape=1)[0]):
        made = copied(value)
        assert made == value
        made.a = 9.0
        assert value.a != 9.0
    assert copied(ti.Vector([1.0, 2.0])).to_list() == [1.0, 2.0]


@WAYS
@pytest.mark.parametrize("dtype", [ti.f16, ti.f32, ti.f64, ti.i8, ti.i32, ti.u64, ti.u1])
def test_types_are_themselves(copied, dtype):
    assert copied(dtype) is dtype


@WAYS
def test_types_of_more_than_numbers(copied):
    assert copied(ti.math.vec3) == ti.math.vec3
    assert copied(ti.types.struct(a=ti.f32, b=int)) == ti.types.struct(a=ti.f32, b=int)
    array = copied(ti.types.ndarray(dtype=ti.f32, ndim=2))
    assert (array.dtype, array.ndim) == (ti.f32, 2)


@WAYS
def test_the_layout(copied):
    assert copied(ti.root) is ti.root
    block = ti.root.dense(ti.i, 3)
    if copied is copy.deepcopy:
        assert copied(block) is block
    else:
        with pytest.raises(ti.LaunchTypeError, match="help: copy the fields"):
            copied(block)


def _norm(field):
    field.fill(2.0)
    return field, float(np.square(field.to_numpy()).sum())


@pytest.mark.slow
def test_another_process():
    """A field goes to a process that begins anew, and comes back."""
    x = ti.field(ti.f64, shape=3, needs_grad=True)
    x.grad.fill(4.0)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        back, norm = pool.apply(_norm, (x,))
        with pytest.raises(ti.LaunchTypeError, match="takes an array of shape") as failed:
            pool.apply(_wrong, (x,))
    assert norm == 12.0
    assert back.to_numpy().tolist() == [2.0] * 3
    assert back.grad.to_numpy().tolist() == [4.0] * 3
    assert x.to_numpy().tolist() == [0.0] * 3
    assert failed.value.diagnostics[0].code == "shape"


def _wrong(field):
    field.from_numpy(np.zeros(5))
