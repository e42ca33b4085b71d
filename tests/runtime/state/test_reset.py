"""`reset` frees fields: their later use raises an error."""

import numpy as np
import pytest

import dsim as ti

DROPPED = r"(?s)`x` was dropped by `reset\(\)`\n.*\nhelp: create it again after a `reset\(\)`"


def dropped():
    x = ti.Vector.field(2, ti.f32, shape=3, needs_grad=True, name="x")
    x.fill(1.0)
    x[0] = (2.0, 3.0)
    ti.reset()
    return x


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x[0],
        lambda x: x.__setitem__(0, (1.0, 2.0)),
        lambda x: x.fill(0.0),
        lambda x: x.to_numpy(),
        lambda x: x.from_numpy(np.zeros((3, 2), np.float32)),
        lambda x: x.copy_from(x),
        lambda x: x.array,
        lambda x: x.grad[0],
        lambda x: x.grad.fill(0.0),
        lambda x: x.get_scalar_field(0)[1],
        lambda x: ti.root.dense(ti.i, 3).place(x),
    ],
)
def test_a_dropped_field(use):
    with pytest.raises(ti.LaunchError, match="was dropped by"):
        use(dropped())


def test_a_dropped_field_in_words():
    with pytest.raises(ti.LaunchError, match=DROPPED):
        dropped()[0]


def test_a_kernel_of_a_dropped_field():
    x = ti.field(ti.f32, shape=3)

    @ti.kernel
    def k():
        for i in x:
            x[i] += 1.0

    k()
    ti.reset()
    with pytest.raises(ti.CompilationError) as caught:
        k()
    assert "the field `x` was dropped by `reset()`" in str(caught.value)
    assert "for i in x:\n" in str(caught.value)
    assert "help: create it again after a `reset()`" in str(caught.value)
    x = ti.field(ti.f32, shape=3)
    k()
    assert x[2] == 1.0


def test_ndarrays_and_arguments():
    a = ti.ndarray(ti.f32, shape=3)
    x = ti.field(ti.f32, shape=3)

    @ti.kernel
    def twice(a: ti.types.ndarray()):
        for i in a:
            a[i] *= 2.0

    @ti.kernel
    def more(f: ti.template()):
        for i in f:
            f[i] += 2.0

    twice(a)
    more(x)
    ti.reset()
    with pytest.raises(ti.LaunchError, match="was dropped by"):
        twice(a)
    with pytest.raises((ti.LaunchError, ti.CompilationError), match="was dropped by"):
        more(x)
    b = np.ones(3, np.float32)
    twice(b)
    assert b.tolist() == [2.0, 2.0, 2.0]


def test_members_of_struct_fields():
    s = ti.Struct.field({"a": ti.f32, "b": ti.i32}, shape=3)

    @ti.kernel
    def k():
        for i in s:
            s[i].a += 1.0

    k()
    ti.reset()
    with pytest.raises(ti.LaunchError, match="was dropped by"):
        s[0]
    with pytest.raises(ti.CompilationError, match=r"was dropped by|are not all placed"):
        k()


def test_a_tape_from_before_is_not_run_again():
    x = ti.field(ti.f32, shape=(), needs_grad=True)
    y = ti.field(ti.f32, shape=(), needs_grad=True)

    @ti.kernel
    def k():
        y[None] = x[None] ** 2

    with ti.ad.Tape(y) as tape:
        k()
    ti.reset()
    with pytest.raises(ti.LaunchError, match="was dropped by"):
        tape.backward()


def test_inside_of_a_tape():
    y = ti.field(ti.f32, shape=(), needs_grad=True)
    with pytest.raises(RuntimeError, match="inside of a tape or of forward mode"), ti.ad.Tape(y):
        ti.reset()
    assert y[None] == 0.0


def test_init_drops_nothing():
    x = ti.field(ti.f32, shape=2)
    x[1] = 3.0
    ti.init(default_fp=ti.f64)
    assert x[1] == 3.0


def test_dropped_gradients_are_not_among_those_with_memory():
    """Whoever goes through all gradients does not meet one that was dropped and is still in a variable."""
    from dsim.runtime.fields.fields import companions_with_memory

    x = dropped()
    assert x.companions
    assert not any(f.root is x for f in companions_with_memory("bar"))
