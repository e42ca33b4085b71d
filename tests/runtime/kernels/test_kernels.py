"""Kernels as Python objects: arguments, results, captured values, methods, forms, faults."""

import copy
import math

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init()


def test_results_are_python_numbers():
    @ti.kernel
    def whole() -> ti.i32:
        return 7

    @ti.kernel
    def vector(s: ti.f32) -> ti.types.vector(2, ti.f32):
        return ti.Vector([s, 2 * s])

    @ti.kernel
    def nothing():
        pass

    assert type(whole()) is int
    result = vector(1.5)
    assert isinstance(result, ti.Vector)
    assert result.to_list() == [1.5, 3.0]
    assert nothing() is None


def test_a_captured_number_that_changes_is_seen():
    dt = 0.5

    @ti.kernel
    def step() -> ti.f32:
        return 2.0 * dt

    assert step() == 1.0
    for dt in (0.25, 3, 1e-3, math.inf, 0.5):
        assert step() == np.float32(2.0 * dt)


def test_a_captured_number_becomes_a_parameter_after_one_recompilation():
    scale = 1.0

    @ti.kernel
    def scaled(s: ti.f32) -> ti.f32:
        return s * scale

    assert scaled(2.0) == 2.0
    scale = 2.0
    assert scaled(2.0) == 4.0
    form = scaled.primal
    scale = 5.0
    assert scaled(2.0) == 10.0
    assert scaled.primal is form


def test_a_number_that_unrolls_has_a_version_for_each_value():
    count, n = 2, ti.field(ti.i32, shape=())

    @ti.kernel
    def add_up():
        for i in ti.static(range(count)):
            n[None] += i + 1

    for count in (2, 3, 2):
        n[None] = 0
        add_up()
        assert n[None] == count * (count + 1) // 2


def test_a_field_that_is_made_anew_is_seen():
    x = ti.field(ti.i32, shape=2)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = 3

    fill()
    x = ti.field(ti.i32, shape=4)
    fill()
    assert x.to_numpy().tolist() == [3, 3, 3, 3]


def test_types_follow_init():
    @ti.kernel
    def third() -> float:
        return 1.0 / 3.0

    assert third() == np.float32(1) / np.float32(3)
    ti.init(default_fp=ti.f64)
    assert third() == 1.0 / 3.0


@ti.data_oriented
class Solver:
    def __init__(self, n, scale):
        self.x = ti.field(ti.f32, shape=n)
        self.scale = scale

    @ti.func
    def scaled(self, v):
        return v * self.scale

    @ti.kernel
    def fill(self, v: ti.f32):
        for i in self.x:
            self.x[i] = self.scaled(v)


def test_kernels_that_are_methods():
    a, b = Solver(2, 2.0), Solver(3, 10.0)
    a.fill(1.0)
    b.fill(1.0)
    assert a.x.to_numpy().tolist() == [2.0, 2.0]
    assert b.x.to_numpy().tolist() == [10.0, 10.0, 10.0]
    a.scale = 3.0
    a.fill(1.0)
    assert a.x[0] == 3.0
    assert a.fill is a.fill
    c = copy.copy(b)
    c.x = ti.field(ti.f32, shape=1)
    c.fill(2.0)
    assert c.x[0] == 20.0
    assert b.x[0] == 10.0


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 10_000_000)])
def test_an_array_without_elements_is_not_read_beyond_its_place(shape):
    @ti.kernel
    def last(a: ti.types.ndarray(), i: int, j: int) -> float:
        return a[i, j]

    with pytest.raises(ti.BoundsError, match="is outside"):
        last(np.zeros(shape, np.float32), *(max(0, n - 1) for n in shape))


def test_an_index_outside_is_said_in_its_own_type():
    x = ti.field(ti.f32, shape=(4, 4))

    @ti.kernel
    def put(i: ti.u64, j: ti.i64):
        x[i, j] = 1.0

    for i, j in ((2**64 - 1, 1), (2**63, 0), (1, -3), (4, 2**63 - 1)):
        with pytest.raises(ti.BoundsError, match=rf"index \({i}, {j}\) is outside"):
            put(i, j)


def test_an_index_outside_names_field_index_shape_and_line():
    x = ti.field(ti.f32, shape=4)

    @ti.kernel
    def shift(d: ti.i32):
        for i in range(4):
            x[i + d] = 1.0

    shift(0)
    with pytest.raises(ti.BoundsError) as error:
        shift(1)
    message = str(error.value)
    assert "error[out-of-bounds]: index 4 is outside `x` of shape (4,): it goes from 0 to 3" in message
    assert "x[i + d] = 1.0" in message
    assert "^^^^^^^^" in message
    with pytest.raises(IndexError, match="index -1 is outside"):
        shift(-1)
    assert x.to_numpy().tolist() == [1.0, 1.0, 1.0, 1.0]


def test_an_index_outside_in_a_func_names_the_call():
    v = ti.Vector.field(2, ti.f32, shape=3)

    @ti.func
    def norm_of(i):
        return v[i].norm()

    @ti.kernel
    def k(i: ti.i32) -> ti.f32:
        return norm_of(i)

    with pytest.raises(ti.BoundsError) as error:
        k(3)
    assert "index 3 is outside `v` of shape (3,)" in str(error.value)
    assert "called here" in str(error.value)


def test_an_assertion_that_fails():
    x = ti.field(ti.f32, shape=3)

    @ti.kernel
    def check(limit: ti.f32):
        for i in x:
            assert x[i] < limit, f"element {i} is too large"

    check(1.0)
    x[1] = 2.0
    with pytest.raises(ti.KernelAssertionError) as error:
        check(1.0)
    assert isinstance(error.value, AssertionError)
    assert "an assertion failed: element 1 is too large" in str(error.value)
    assert "assert x[i] < limit" in str(error.value)


def test_without_checks_nobody_looks():
    ti.init(check_bounds=False)
    x = ti.field(ti.f32, shape=4)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = 1.0

    fill()
    assert x[3] == 1.0


def test_forms_can_be_looked_at():
    x, y = (ti.field(ti.f32, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def square():
        y[None] = x[None] ** 2

    assert "kernel square():" in str(square.primal)
    assert str(square.primal) == square.primal.ir
    assert "x.bar[] +=" in str(square.adjoint)
    assert "y.dot[] =" in str(square.tangent)
    assert "backward of" in square.adjoint.python
    assert "define" in square.primal.llvm
    assert repr(square) == "<kernel square>"
    assert "<form square over" in repr(square.primal)


def test_decorating_something_else():
    with pytest.raises(TypeError, match="`@kernel` decorates a function, not int"):
        ti.kernel(3)
    with pytest.raises(TypeError, match=r"forward\(\) takes a func or a plain Python function, not int"):
        ti.forward(3)


def test_random_numbers_follow_the_seed():
    @ti.kernel
    def draw() -> ti.f32:
        return ti.random()

    ti.init(random_seed=3)
    first = [draw() for _ in range(3)]
    ti.init(random_seed=3)
    assert [draw() for _ in range(3)] == first
    assert len(set(first)) == 3
    ti.init(random_seed=4)
    assert draw() != first[0]


def test_loops_that_must_be_serial():
    x = ti.field(ti.f32, shape=5)

    def make():
        @ti.kernel
        def chain():
            for i in range(4):
                x[i + 1] = x[i] + 1.0

        return chain

    with pytest.warns(ti.DsimWarning, match="this loop runs serially"):
        make()()
    assert x.to_numpy().tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    ti.init(strict=True)
    with pytest.raises(ti.CompilationError, match="this loop runs serially"):
        make()()


def test_gradients_that_a_kernel_cannot_read():
    x, n = ti.field(ti.f32, shape=2), ti.field(ti.i32, shape=2)

    @ti.kernel
    def read_x() -> ti.f32:
        return x.grad[0]

    @ti.kernel
    def read_n() -> ti.f32:
        return n.grad[0]

    for k, name in ((read_x, "x"), (read_n, "n")):
        with pytest.raises(ti.CompilationError) as error:
            k()
        assert f"the field `{name}` has no `grad`" in str(error.value)
        assert f"return {name}.grad[0]" in str(error.value)
        assert "needs_grad=True" in str(error.value)


def test_decorating_twice():
    def one():
        pass

    with pytest.raises(
        TypeError, match=r"`@kernel` decorates a function, and `one` is a func already"
    ) as error:
        ti.kernel(ti.func(one))
    assert "ti.kernel(ti.func(one))" in str(error.value), "the line that did it"
    with pytest.raises(TypeError, match=r"`@func` decorates a function, and `one` is a kernel already"):
        ti.func(ti.kernel(one))
