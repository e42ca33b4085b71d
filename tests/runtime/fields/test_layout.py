"""Placing fields and their gradients, in every order."""

import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init()


def test_dense_blocks():
    x, y, z = (ti.field(ti.f32) for _ in range(3))
    ti.root.dense(ti.i, 4).place(x)
    ti.root.dense(ti.i, 4).dense(ti.j, 3).place(y)
    ti.root.dense(ti.ij, (4, 3)).dense(ti.ij, 2).place(z)
    assert (x.shape, y.shape, z.shape) == ((4,), (4, 3), (8, 6))


def test_axes_are_in_their_own_order():
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    ti.root.dense(ti.j, 3).dense(ti.i, 4).place(x)
    ti.root.dense(ti.ji, (3, 4)).place(y)
    assert x.shape == y.shape == (4, 3)


def test_several_fields_at_once():
    x, y, s = ti.field(ti.f32), ti.Vector.field(2, ti.f32), ti.field(ti.i32)
    ti.root.dense(ti.i, 4).place(x, y)
    ti.root.place(s)
    assert (x.shape, y.shape, s.shape) == ((4,), (4,), ())


def test_a_builder_of_ones_own():
    x = ti.field(ti.f32)
    fb = ti.FieldsBuilder()
    fb.dense(ti.i, 5).place(x)
    fb.finalize()
    assert x.shape == (5,)


def test_gradients_placed_by_hand_before_and_after():
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    ti.root.dense(ti.i, 4).place(x, x.grad)
    ti.root.dense(ti.i, 4).place(y.grad)
    assert not y.grad.placed
    ti.root.dense(ti.i, 4).place(y)
    for f in (x, y):
        assert f.needs_grad
        assert f.grad.shape == (4,)
        f.grad[3] = 1.0
        assert f.grad[3] == 1.0


def test_a_gradient_placed_beside_the_other_ways():
    x = ti.field(ti.f32, needs_grad=True)
    ti.root.dense(ti.i, 4).place(x)
    ti.root.dense(ti.i, 4).place(x.grad)
    ti.root.lazy_grad()
    x.grad[0] = 2.0
    assert x.grad[0] == 2.0


def test_lazy_gradients_and_tangents():
    x, n = ti.field(ti.f32, shape=3), ti.field(ti.i32, shape=3)
    ti.root.lazy_grad()
    ti.root.lazy_dual()
    assert x.needs_grad
    assert x.needs_dual
    assert not n.needs_grad
    later = ti.field(ti.f32, shape=3)
    assert not later.needs_grad


def test_gradients_of_vectors():
    v = ti.Vector.field(3, ti.f32, shape=2, needs_grad=True, needs_dual=True)
    v.grad[1] = [1.0, 2.0, 3.0]
    assert v.grad[1][2] == 3.0
    assert v.grad.to_numpy().shape == v.dual.to_numpy().shape == (2, 3)


def test_a_gradient_that_nobody_asked_for():
    x = ti.field(ti.f32, shape=3, name="x")
    with pytest.raises(ti.GradientError) as error:
        x.grad[0]
    assert "`x` has no gradient" in str(error.value)
    assert "help: declare the field with `needs_grad=True`" in str(error.value)
    with pytest.raises(ti.GradientError, match="`x` has no tangent"):
        x.dual[0]


def test_placing_twice():
    x = ti.field(ti.f32, shape=3, name="x")
    with pytest.raises(RuntimeError, match=r"`x` has been placed already, with shape \(3,\)"):
        ti.root.place(x)


def test_a_gradient_of_another_shape():
    x = ti.field(ti.f32, name="x")
    ti.root.dense(ti.i, 4).place(x)
    with pytest.raises(TypeError, match=r"`x.grad` is placed with shape \(5,\), its field with shape \(4,\)"):
        ti.root.dense(ti.i, 5).place(x.grad)


@pytest.mark.parametrize("length", [3, [3], (3,)])
def test_one_length_for_all_axes(length):
    x = ti.field(ti.f64)
    ti.root.dense(ti.ij, length).dense(ti.ij, 2).place(x)
    assert x.shape == (6, 6)


def test_wrong_use_of_the_layout():
    with pytest.raises(ValueError, match="3 axes need 3 lengths, got 2"):
        ti.root.dense(ti.ijk, (3, 4))
    with pytest.raises(
        TypeError, match=r"axes are given as `ds\.i`, `ds\.ij` or `ds\.axes\(0, 1\)`, not as int"
    ):
        ti.root.dense(0, 3)
    with pytest.raises(TypeError, match="not as tuple"):
        ti.root.dense((ti.i, ti.j), (2, 3))
    with pytest.raises(ValueError, match="a block can have each axis only once"):
        ti.root.dense(ti.axes(0, 0), (2, 3))
    with pytest.raises(TypeError, match="only fields can be placed, not int"):
        ti.root.place(3)
    with pytest.raises(AttributeError, match="sparse layouts"):
        ti.root.pointer(ti.i, 4)
    with pytest.raises(AttributeError, match="sparse layouts"):
        ti.root.deactivate_all()


def test_nodes_of_the_layout():
    x, y, s = ti.field(ti.f32), ti.field(ti.f32, shape=(2, 3)), ti.field(ti.f32, shape=())
    outer = ti.root.dense(ti.i, 4)
    block = outer.dense(ti.j, 2)
    block.place(x)
    assert x.parent() is x.snode.parent() is x.grad.parent() is block
    assert x.parent(2) is block.parent() is outer
    assert x.parent(3) is ti.root
    assert ti.root.parent() is None
    assert x.snode.shape == block.shape == (4, 2)
    assert (y.parent().shape, s.parent()) == ((2, 3), ti.root)
    with pytest.raises(RuntimeError, match="has not been placed yet"):
        ti.field(ti.f32).parent()


def test_loops_over_nodes():
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    block = ti.root.dense(ti.i, 2).dense(ti.j, 3)
    block.place(x, y)

    @ti.kernel
    def run() -> int:
        for i, j in block:
            x[i, j] = 10 * i + j
        for at in ti.grouped(x.parent()):
            y[at] = x[at] + 1
        rows = 0
        for i in x.snode.parent(1).parent():
            rows += i + 1
        return rows + 10 * block.shape[1] + 100 * x.snode.shape[0]

    assert run() == 233
    assert y.to_numpy().tolist() == [[1, 2, 3], [11, 12, 13]]


def test_a_node_that_is_bound_anew_is_seen():
    x = ti.field(ti.i32, shape=8)
    block = ti.root.dense(ti.i, 2)

    @ti.kernel
    def run():
        for i in block:
            x[i] += 1

    run()
    block = ti.root.dense(ti.i, 4)
    run()
    assert x.to_numpy().tolist() == [2, 2, 1, 1, 0, 0, 0, 0]


def test_lazy_gradients_of_one_block():
    x, y, z = (ti.field(ti.f32) for _ in range(3))
    block = ti.root.dense(ti.i, 4)
    block.place(x)
    block.dense(ti.j, 2).place(y)
    ti.root.dense(ti.i, 4).place(z)
    block.lazy_grad()
    assert (x.needs_grad, y.needs_grad, z.needs_grad) == (True, True, False)


def test_a_builder_that_is_finalized():
    builder, x = ti.FieldsBuilder(), ti.field(ti.f32)
    assert builder.empty
    assert builder.root is builder
    block = builder.dense(ti.i, 5)
    block.place(x)
    assert not builder.empty
    builder.finalize()
    assert builder.finalized
    for late in (lambda: builder.dense(ti.i, 3), lambda: block.place(ti.field(ti.f32))):
        with pytest.raises(ti.TaichiRuntimeError) as error:
            late()
        assert "this FieldsBuilder is finalized: no more fields can be placed in it" in str(error.value)
        assert "help: make a new `FieldsBuilder()`" in str(error.value)
