"""One NumPy memory passed to launches of one context as several views that carry gradients."""

import ctypes
import warnings
from itertools import combinations

import numpy as np
import pytest

import dsim as ti
from dsim.runtime.fields.aliases import comb, interleaved
from tests.runtime.taping import taped

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def _fresh():
    ti.init(default_fp=ti.f64)


@pytest.fixture(autouse=True)
def _without_advice():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=ti.GradientWarning, message=".*is a NumPy array")
        warnings.filterwarnings("ignore", category=ti.GradientWarning, message=".*`w` is 0: ")
        yield


@pytest.fixture
def w():
    made = ti.ndarray(ti.f64, (), needs_grad=True)
    made[None] = 1.5
    return made


@pytest.fixture
def loss():
    return ti.ndarray(ti.f64, (), needs_grad=True)


@ti.kernel
def grow(a: ti.types.ndarray(), w: ti.types.ndarray(ndim=0)):
    for index in ti.grouped(a):
        a[index] = w[None] * a[index] + 1.0


@ti.kernel
def weigh(a: ti.types.ndarray(), loss: ti.types.ndarray(ndim=0)):
    for index in ti.grouped(a):
        n = 1.0
        for axis in ti.static(range(len(a.shape))):
            n = n * a.shape[axis] + index[axis]
        loss[None] += a[index] * ti.sin(n)


@ti.kernel
def grow_vectors(a: ti.types.ndarray(dtype=ti.types.vector(2, ti.f64), ndim=1), w: ti.types.ndarray(ndim=0)):
    for i in a:
        a[i] = w[None] * a[i] + 1.0


class Program:
    """The same steps by dsim and by NumPy, which carries derivatives by `w` along with the numbers.

    The numbers lie in an axis of three behind the others: a value, its first and its second derivative.
    """

    def __init__(self, w, loss):
        self.w, self.loss = w, loss
        self.base = np.linspace(0.5, 2.0, 12)
        self.jets = np.zeros((3, 12))
        self.jets[0] = self.base
        self.start = self.base.copy()
        self.result = np.zeros(3)

    def run(self, steps):
        self.base[...] = self.start
        for view, step in steps:
            getattr(self, step)(view(self.base))

    def by_hand(self, steps):
        self.jets[...] = 0.0
        self.jets[0] = self.start
        self.result[...] = 0.0
        for view, step in steps:
            value, first, second = (view(j) for j in self.jets)
            if step == "grow" or step == "grow_vectors":
                second[...] = 2 * first + 1.5 * second
                first[...] = value + 1.5 * first
                value[...] = 1.5 * value + 1.0
            elif step == "weigh":
                n = np.ones(value.shape)
                for axis, length in enumerate(value.shape):
                    n = n * length + np.indices(value.shape)[axis]
                self.result += [(j * np.sin(n)).sum() for j in (value, first, second)]
            else:
                flat = next(np.ndindex(value.shape))
                value[flat], first[flat], second[flat] = 7.123, 0.0, 0.0
        return self.result

    def grow(self, a):
        grow(a, self.w)

    def grow_vectors(self, a):
        grow_vectors(a, self.w)

    def weigh(self, a):
        weigh(a, self.loss)

    def put(self, a):
        a[next(np.ndindex(a.shape))] = 7.123


VIEWS = {
    "all": lambda b: b,
    "start": lambda b: b[:5],
    "shifted": lambda b: b[1:],
    "even": lambda b: b[::2],
    "odd": lambda b: b[1::2],
    "thirds": lambda b: b[::3],
    "reversed": lambda b: b[::-1],
    "rows": lambda b: b.reshape(3, 4),
    "columns": lambda b: b.reshape(3, 4).T,
    "cube": lambda b: b.reshape(2, 3, 2).transpose(2, 0, 1),
    "part of a view": lambda b: b[1:].reshape(-1)[2:9][::-2],
    "a corner": lambda b: b.reshape(4, 3)[1:3, :2],
    "one": lambda b: b[4:5].reshape(()),
    "pairs": lambda b: b.reshape(6, 2),
    "by a buffer": lambda b: np.frombuffer(memoryview(b), b.dtype)[3:8],
    "strides": lambda b: np.lib.stride_tricks.as_strided(b, (2, 2), (b.itemsize * 5, b.itemsize * 2)),
}


def check(program, steps):
    value, first, second = program.by_hand(steps)
    with ti.Tape(program.loss):
        program.run(steps)
    assert np.allclose([program.loss[None], program.w.grad[None]], [value, first], rtol=1e-12, atol=1e-12)
    assert np.allclose(program.base, program.jets[0], rtol=1e-12)
    program.loss[None] = 0.0
    with ti.ad.FwdMode(loss=program.loss, param=program.w):
        program.run(steps)
    assert np.allclose(program.loss.dual[None], first, rtol=1e-12, atol=1e-12)
    with ti.ad.FwdMode(param=program.w), ti.Tape(program.loss):
        program.run(steps)
    assert np.allclose(program.w.grad.dual[None], second, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("writer", VIEWS)
def test_what_one_view_writes_another_one_reads(w, loss, writer):
    program = Program(w, loss)
    readers = list(VIEWS)
    for reader in readers[readers.index(writer) % 3 :: 3]:
        check(program, [(VIEWS[writer], "grow"), (VIEWS[reader], "weigh")])


@pytest.mark.slow
def test_random_programs(w, loss):
    draw = np.random.default_rng(3)
    program, views = Program(w, loss), list(VIEWS.values())
    for _ in range(12):
        length = draw.integers(3, 12)
        steps = [
            (views[draw.integers(len(views))], ("grow", "grow", "weigh", "put")[draw.integers(4)])
            for _ in range(length)
        ]
        check(program, [*steps, (VIEWS["all"], "weigh")])


def test_vectors_and_numbers_of_one_memory(w, loss):
    steps = [(VIEWS["pairs"], "grow_vectors"), (VIEWS["shifted"], "weigh"), (VIEWS["pairs"], "weigh")]
    check(Program(w, loss), steps)
    check(Program(w, loss), [(VIEWS["start"], "grow"), *steps])


def test_interleaved_views_stay_apart(w, loss):
    check(Program(w, loss), [(VIEWS["even"], "grow"), (VIEWS["odd"], "grow"), (VIEWS["even"], "weigh")])
    table = np.zeros(3, [("x", np.float64), ("y", np.float64)])
    with ti.Tape(loss):
        grow(table["x"], w)
        grow(table["x"], w)
        grow(table["y"], w)
        weigh(table["x"][:1], loss)
    assert table["x"].tolist() == [2.5] * 3
    assert table["y"].tolist() == [1.0] * 3
    assert np.isclose(w.grad[None], np.sin(1.0))


@pytest.mark.filterwarnings("ignore:Setting the (shape|strides|dtype):DeprecationWarning")
def test_an_array_whose_shape_changes_in_place_is_another_view(w, loss):
    base, shape = np.array([1.0, 2.0, 3.0, 4.0]), (2, 2)
    with ti.Tape(loss):
        grow(base, w)
        base.shape = shape
        weigh(base, loss)
    n = np.sin([[(2 + i) * 2 + j for j in range(2)] for i in range(2)])
    assert np.isclose(w.grad[None], ([[1.0, 2.0], [3.0, 4.0]] * n).sum())
    refused = pytest.raises(ti.LaunchTypeError, match="one of them as float64, the other as int64")
    with refused, ti.Tape(loss):
        grow(base, w)
        base.dtype = np.int64
        weigh(base, loss)


def test_interleaved_arrays_share_no_byte():
    draw, memory, views = np.random.default_rng(0), np.zeros(60, np.uint8), []
    while len(views) < 150:
        dtype = np.dtype(draw.choice(["u1", "u2", "f4", "f8", "V3"]))
        shape = draw.integers(1, 4, draw.integers(0, 4))
        strides = draw.integers(-12, 13, shape.shape)
        reach = strides * (shape - 1)
        low, high = reach.clip(None, 0).sum(), reach.clip(0).sum() + dtype.itemsize
        if high - low <= memory.size:
            at = draw.integers(-low, memory.size - high + 1)
            views.append(np.ndarray(tuple(shape), dtype, memory, at, tuple(strides)))
    found = [(a, b) for a, b in combinations(views, 2) if interleaved(comb(a), comb(b))]
    assert len(found) > 100
    assert not any(np.shares_memory(a, b) for a, b in found)
    table = np.zeros((3, 4))
    columns = [comb(table[:, i]) for i in range(4)]
    assert all(interleaved(a, b) for a, b in combinations(columns, 2))


def test_elements_that_share_memory_are_read(w, loss):
    base = np.array([1.0, 2.0, 3.0])
    window = np.lib.stride_tricks.sliding_window_view(base, 2)
    with ti.Tape(loss):
        grow(base, w)
        weigh(np.broadcast_to(base[1:2], (3,)), loss)
        weigh(window, loss)
    n = np.arange(3.0) + 3
    of_window = np.sin([[(2 + i) * 2 + j for j in range(2)] for i in range(2)])
    right = 2.0 * np.sin(n).sum() + (of_window * np.array([[1.0, 2.0], [2.0, 3.0]])).sum()
    assert np.isclose(w.grad[None], right)


@pytest.mark.parametrize(
    "view",
    [lambda b: b.view(np.float32), lambda b: b.view(np.int64), lambda b: b.view(np.uint8)[4:-4].view("f8")],
)
def test_views_that_read_numbers_differently_are_refused(w, loss, view):
    base = np.ones(4)
    with pytest.raises(ti.LaunchTypeError, match="`a` of `grow` and `a` of `weigh` are views") as caught:
        taped(loss, lambda: grow(base, w), lambda: weigh(view(base), loss))
    assert "pass views of one type, or a copy" in str(caught.value)
    with ti.Tape(loss):  # nothing was written: both are constants
        weigh(base, loss)
        weigh(view(base), loss)


def test_python_changes_a_part_of_an_array(w, loss):
    base = np.ones(4)
    with ti.Tape(loss):
        grow(base, w)
        base[1:3] = 5.0
        weigh(base, loss)
    assert np.isclose(loss[None], 2.5 * (np.sin(4) + np.sin(7)) + 5.0 * (np.sin(5) + np.sin(6)))
    assert np.isclose(w.grad[None], np.sin(4) + np.sin(7))


def test_fresh_views_in_a_loop(w, loss):
    base = np.zeros((20, 3))
    base[0] = 1.0
    with ti.Tape(loss):
        for k in range(1, 20):
            add(base[k - 1], base[k], w)
        weigh(base[-1], loss)
    assert np.allclose(base[-1], 1.5**19)
    assert np.isclose(w.grad[None], 19 * 1.5**18 * np.sin(np.arange(3.0) + 3).sum())


@ti.kernel
def add(a: ti.types.ndarray(), b: ti.types.ndarray(), w: ti.types.ndarray(ndim=0)):
    for i in a:
        b[i] += w[None] * a[i]


def test_a_view_in_a_function_that_is_not_differentiated(w, loss):
    base = np.ones(3)
    with ti.Tape(loss):
        weigh(base, loss)
        grow(base[:2], w)
        ti.ad.no_grad(weigh)(base, loss)
        weigh(base, loss)
    assert np.isclose(w.grad[None], np.sin(3) + np.sin(4))
    base[...] = 1.0
    with ti.Tape(loss):
        weigh(base, loss)
        ti.ad.no_grad(grow)(base[:2], w)
        weigh(base, loss)
    assert w.grad.array[()] == 0.0
    base[...] = 1.0
    with ti.Tape(loss):
        grow(base[:2], w)
        ti.ad.no_grad(weigh)(base, loss)  # meets it first
        weigh(base, loss)
    assert np.isclose(w.grad[None], np.sin(3) + np.sin(4))

    def both():
        grow(base[:2], w)
        weigh(base, loss)

    with pytest.raises(ti.GradientError, match="`a` of `weigh` shares memory with `a` of `grow`, which was"):
        taped(loss, lambda: grow(base[:2], w), ti.ad.no_grad(both))


def test_a_gradient_of_ones_own_finds_all_views_as_they_were(w, loss):
    base = np.ones(3)

    @ti.ad.grad_replaced
    def ahead():
        weigh(base, loss)
        grow(base[1:], w)
        weigh(base[1:], loss)

    found = []

    @ti.ad.grad_for(ahead)
    def back():
        found.append(base.copy())
        base[0] = -1.0

    with ti.Tape(loss):
        grow(base, w)
        ahead()
        base[...] = 9.0
        weigh(base, loss)
    assert [f.tolist() for f in found] == [[2.5, 4.75, 4.75]]
    assert base.tolist() == [-1.0, 9.0, 9.0]


def test_a_field_behind_a_buffer(loss):
    x = ti.field(ti.f64, shape=3, needs_grad=True, name="x")
    x.fill(2.0)
    routes = [
        lambda: np.asarray(memoryview(x.array)),
        lambda: np.lib.stride_tricks.as_strided(x.array, (3,), (8,)),
        lambda: np.ctypeslib.as_array((ctypes.c_double * 3).from_address(x.array.ctypes.data)),
    ]
    for route in routes:
        array = route()
        with ti.Tape(loss):
            weigh(array, loss)
        assert np.allclose(x.grad.to_numpy(), np.sin([3.0, 4.0, 5.0]))
        with pytest.raises(ti.LaunchTypeError, match="a read-only view of a field"):
            grow(array, w_of(1.0))


def w_of(value):
    made = ti.ndarray(ti.f64, ())
    made[None] = value
    return made


def test_a_part_of_a_field_says_each_time_that_it_is_read(w, loss):
    x = ti.field(ti.f64, shape=3, name="x")
    part = x.array[1:]
    with ti.Tape(loss):
        weigh(part, loss)
        shift(x, w)
        with pytest.warns(ti.GradientWarning, match="`x` is read into Python"):
            weigh(part, loss)


@ti.kernel
def shift(a: ti.types.ndarray(), w: ti.types.ndarray(ndim=0)):
    for i in a:
        a[i] = 1.5 - w[None]
