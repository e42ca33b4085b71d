"""Fields as array arguments, again and again: each launch does what the first one with these fields does."""

import gc
import weakref

import numpy as np
import pytest

import dsim as ti
from dsim.runtime.kernels.arrays import Arrays


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@pytest.fixture
def looked(monkeypatch):
    """How often arguments were looked at one by one."""
    calls = []
    taken = Arrays.taken

    def noted(self, args):
        calls.append(args)
        return taken(self, args)

    monkeypatch.setattr(Arrays, "taken", noted)
    return calls


def field(*numbers, **more):
    made = ti.field(ti.f64, shape=len(numbers), **more)
    made.from_numpy(np.array(numbers))
    return made


@ti.kernel
def add(a: ti.types.ndarray(), b: ti.types.ndarray(), k: ti.f64):
    for i in a:
        a[i] += k * b[i]


def test_they_are_looked_at_once(looked):
    a, b = field(0.0, 0.0), field(1.0, 2.0)
    for k in range(5):
        add(a, b, float(k))
    assert a.to_numpy().tolist() == [10.0, 20.0]
    assert len(looked) == 1
    add(b, a, 1.0)
    assert b.to_numpy().tolist() == [11.0, 22.0]


def test_arrays_of_numpy_are_looked_at_each_time(looked):
    a, b = np.zeros(2), field(1.0, 2.0)
    for _ in range(3):
        add(a, b, 1.0)
    assert a.tolist() == [3.0, 6.0]
    assert len(looked) == 3


def test_one_field_twice():
    a = field(1.0, 2.0)
    for _ in range(3):
        add(a, a, 1.0)
    assert a.to_numpy().tolist() == [8.0, 16.0]


def test_a_captured_number_that_changes():
    scale = 1.0

    @ti.kernel
    def scaled(a: ti.types.ndarray()):
        for i in a:
            a[i] *= scale

    a = field(1.0, 1.0)
    for now in (2.0, 3.0, 3.0, 5.0):
        scale = now
        scaled(a)
    assert a.to_numpy().tolist() == [90.0, 90.0]


def test_other_settings():
    @ti.kernel
    def whole(a: ti.types.ndarray()):
        for i in a:
            a[i] = 1 / 3

    a = field(0.0)
    whole(a)
    whole(a)
    assert a[0] == 1 / 3
    ti.init(default_fp=ti.f32)
    whole(a)
    whole(a)
    assert a[0] == np.float32(1) / np.float32(3)


def test_a_field_that_the_kernel_knows_already():
    known = field(1.0, 2.0)

    @ti.kernel
    def both(a: ti.types.ndarray()):
        for i in a:
            a[i] = 2.0 * known[i]

    other = field(0.0, 0.0)
    for _ in range(2):
        both(known)
        both(other)
    assert known.to_numpy().tolist() == [4.0, 8.0]
    assert other.to_numpy().tolist() == [8.0, 16.0]


def test_gradients_that_are_asked_for_later():
    total = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def squares(a: ti.types.ndarray()):
        for i in a:
            total[None] += a[i] ** 2

    a = ti.ndarray(ti.f64, shape=3, needs_grad=True)
    a.fill(2.0)
    squares(a)
    squares(a)
    for _ in range(3):
        with ti.ad.Tape(total):
            squares(a)
        assert a.grad.to_numpy().tolist() == [4.0] * 3
        squares(a)
    assert total[None] == 24.0


def test_a_parameter_that_needs_gradients():
    @ti.kernel
    def fill(a: ti.types.ndarray(needs_grad=True)):
        for i in a:
            a[i] = 1.0

    without, within = field(0.0), field(0.0, needs_grad=True)
    fill(within)
    fill(within)
    for _ in range(2):
        with pytest.raises(ti.LaunchTypeError, match="without a gradient"):
            fill(without)


def test_fields_that_are_gone():
    a, b = field(1.0), field(2.0)
    add(a, b, 1.0)
    add(a, b, 1.0)
    ti.reset()
    with pytest.raises(ti.DsimError):
        add(a, b, 1.0)


def test_nothing_is_held():
    def use():
        a, b = field(1.0), field(2.0)
        add(a, b, 1.0)
        add(a, b, 1.0)
        return weakref.ref(a)

    refs = [use() for _ in range(100)]
    gc.collect()
    assert not any(ref() for ref in refs)
    a, b = field(1.0), field(2.0)
    add(a, b, 1.0)
    assert a[0] == 3.0


def test_an_index_out_of_bounds_names_the_parameter():
    @ti.kernel
    def put(a: ti.types.ndarray(), at: ti.i32):
        a[at] = 1.0

    a = field(0.0, 0.0)
    put(a, 0)
    put(a, 1)
    with pytest.raises(ti.BoundsError, match=r"`a`.*2"):
        put(a, 2)
    assert a.to_numpy().tolist() == [1.0, 1.0]


def test_a_tape_notices_a_write_after_its_end():
    y = ti.field(ti.f64, shape=(), needs_grad=True)
    x, b = field(1.0, 2.0, needs_grad=True), field(1.0, 1.0)

    @ti.kernel
    def squares():
        for i in x:
            y[None] += x[i] ** 2

    add(x, b, 0.0)
    with ti.ad.Tape(y) as tape:
        squares()
    add(x, b, 1.0)
    with pytest.raises(ti.GradientError, match="x"):
        tape.backward()


def test_members_of_a_derivative():
    @ti.kernel
    def clear(a: ti.types.ndarray()):
        for i in a:
            a[i] = 7.0

    x = field(1.0, 2.0, needs_grad=True)
    for _ in range(2):
        clear(x.grad)
    assert x.grad.to_numpy().tolist() == [7.0, 7.0]
    assert x.to_numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("times", [1, 2])
def test_a_captured_gradient_that_it_reads_explains_its_zeros(times):
    x, out = field(1.0, 2.0, needs_grad=True), field(5.0, 5.0)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def nothing():
        loss[None] = 1.0

    @ti.kernel
    def read(a: ti.types.ndarray()):
        for i in a:
            a[i] = x.grad[i]

    for _ in range(times):
        with ti.Tape(loss):
            nothing()
        with pytest.warns(ti.DsimWarning, match="is 0"):
            read(out)
    assert out.to_numpy().tolist() == [0.0, 0.0]
