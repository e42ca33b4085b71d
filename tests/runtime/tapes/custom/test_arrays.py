"""Functions with custom gradients on NumPy arrays, which are restored as fields are."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.tensors import Tensor


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


class Scaled:
    """``y += sum(x * a)``, with ``a`` an array, and a gradient that a person wrote."""

    def __init__(self):
        self.x = x = ti.field(ti.f64, shape=3, needs_grad=True)
        self.y = y = ti.field(ti.f64, shape=(), needs_grad=True)
        self.seen = []

        @ti.kernel
        def forward(a: ti.types.ndarray()):
            for i in x:
                y[None] += x[i] * a[i]

        @ti.kernel
        def backward(a: ti.types.ndarray()):
            for i in x:
                x.grad[i] += a[i] * y.grad[None]

        @ti.ad.grad_replaced
        def run(a):
            forward(a)

        @ti.ad.grad_for(run)
        def _(a):
            self.seen.append(a.tolist())
            backward(a)

        self.run = run


def test_an_array_that_python_changes_afterwards():
    s, a = Scaled(), np.array([1.0, 2.0, 3.0])
    with ti.ad.Tape(s.y):
        s.run(a)
        a[:] = 100.0
    assert s.x.grad.to_numpy().tolist() == [1.0, 2.0, 3.0]
    assert s.seen == [[1.0, 2.0, 3.0]]
    assert a.tolist() == [100.0] * 3


def test_an_array_that_changes_between_two_calls():
    s, a = Scaled(), np.array([1.0, 2.0, 3.0])

    @ti.kernel
    def double(a: ti.types.ndarray()):
        for i in a:
            a[i] *= 2.0

    with ti.ad.Tape(s.y):
        s.run(a)
        a[0] = 5.0
        s.run(a)
        double(a)
        s.run(a)
        double(a)
    assert s.seen == [[10.0, 4.0, 6.0], [5.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    assert s.x.grad.to_numpy().tolist() == [16.0, 8.0, 12.0]
    assert a.tolist() == [20.0, 8.0, 12.0]


@pytest.mark.filterwarnings("ignore::dsim.GradientWarning")  # an array has no tangent for Python
def test_inside_of_forward_mode():
    s, a = Scaled(), np.array([1.0, 2.0, 3.0])
    t = ti.field(ti.f64, shape=(), needs_grad=True)
    t[None] = 2.0

    @ti.kernel
    def fill(a: ti.types.ndarray()):
        for i in a:
            a[i] = t[None] * (i + 1)

    with ti.ad.FwdMode(loss=s.y, param=t):
        fill(a)
        with ti.ad.Tape(s.y):
            s.run(a)
            fill_again(a)
    assert s.x.grad.to_numpy().tolist() == [2.0, 4.0, 6.0]
    assert s.x.grad.dual.to_numpy().tolist() == [1.0, 2.0, 3.0]
    assert a.tolist() == [7.0] * 3


@ti.kernel
def fill_again(a: ti.types.ndarray()):
    for i in a:
        a[i] = 7.0


def test_a_gradient_that_writes_an_array():
    s, a, out = Scaled(), np.ones(3), np.zeros(3)
    x, y = s.x, s.y

    @ti.kernel
    def collect(a: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in out:
            out[i] += a[i] * y.grad[None]

    @ti.ad.grad_replaced
    def run(a, out):
        s.run(a)

    @ti.ad.grad_for(run)
    def _(a, out):
        collect(a, out)

    with ti.ad.Tape(y):
        run(a, out)
        a[:] = 9.0
    assert out.tolist() == [1.0] * 3
    assert a.tolist() == [9.0] * 3
    assert x.grad.to_numpy().tolist() == [0.0] * 3


def test_an_array_that_cannot_be_put_back():
    s, base = Scaled(), np.array([1.0, 2.0, 3.0])
    a = base.view()
    a.flags.writeable = False
    tape = ti.ad.Tape(s.y)

    def run():
        with tape:
            s.run(a)
            base[:] = 9.0

    with pytest.raises(RuntimeError) as error:
        run()
    assert "the array `a` changed after a function under `grad_replaced` had used it" in str(error.value)
    assert "help: the gradient needs its old numbers, and the array is read-only" in str(error.value)


class InPython:
    """``y = x * w``, computed in Python of the numbers that an array ``w`` holds; and the loss, their sum."""

    def __init__(self, numbers=np.asarray, **reads):
        self.x, self.y = x, y = [ti.field(ti.f64, shape=3, needs_grad=True, name=name) for name in "xy"]
        self.loss = loss = ti.field(ti.f64, shape=(), needs_grad=True)
        x.fill(1.0)

        @ti.kernel
        def total():
            for i in y:
                loss[None] += y[i]

        @ti.ad.grad_replaced
        def run(w, out=None):
            y.from_numpy(x.to_numpy() * numbers(w))

        @ti.ad.grad_for(run, **reads)
        def _(w, out=None):
            found = numbers(w) * y.grad.to_numpy()
            x.grad.from_numpy(x.grad.to_numpy() + found)
            y.grad.fill(0.0)
            if out is not None:
                out += found

        self.run, self.total = run, total

    def gradient(self):
        return self.x.grad.to_numpy().tolist()


@ti.kernel
def times_ten(w: ti.types.ndarray()):
    for i in w:
        w[i] *= 10.0


TYPES = ["f8", "f4", "i8", "u1", "f2", ">f8", "c16"]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_an_array_that_only_python_reads(dtype, named):
    s, w = InPython(np.real), np.array([1, 2, 3], dtype)
    with ti.Tape(s.loss) as tape:
        s.run(w=w) if named else s.run(w)
        w[:] = 100
        s.total()
    assert s.gradient() == [1, 2, 3]
    assert w.tolist() == [100] * 3
    with pytest.raises(ti.GradientError, match="can run backwards only once"):
        tape.backward()


def test_other_kinds_of_arrays_that_only_python_reads():
    words = InPython(lambda w: np.array([len(word) for word in w.tolist()]))
    chosen = InPython(lambda w: np.where(w, 2, 1))
    rows = InPython(lambda w: w[:, 1])
    for s, w, other in (
        (words, np.array(["a", "to", "the"]), "none"),
        (chosen, np.array([False, True, False]), True),
        (rows, np.arange(12.0)[::2].reshape(3, 2)[:, ::-1], 0.0),
    ):
        right = s.run.function(w) or s.y.to_numpy().tolist()
        with ti.Tape(s.loss):
            s.run(w)
            w[...] = other
            s.total()
        assert s.gradient() == right


@pytest.mark.parametrize("reads", [{}, {"linear": True}])
def test_an_array_used_again_and_again(reads):
    """Also by kernels, in between; and in steps."""
    s, w = InPython(**reads), np.zeros(3)

    def run(steps, again):
        for n in steps:
            w[:] = n + 1.0
            s.run(w)
            if again:
                times_ten(w)
                s.run(w)
            s.total()

    for again, right in ((False, 1 + 2 + 3), (True, 10 + 20 + 30)):
        with ti.Tape(s.loss):
            run(range(3), again)
        assert s.gradient() == [right] * 3
        with ti.Tape(s.loss) as tape:
            run(tape.steps(range(3), slots=1), again)
        assert s.gradient() == [right] * 3
        assert (
            ti.grad(lambda again=again: run(range(3), again), wrt=s.x, out=s.loss)().tolist() == [right] * 3
        )


def test_an_array_that_the_function_itself_changes():
    """Its backward function finds what the function left."""
    s, w = InPython(), np.ones(3)

    @ti.ad.grad_replaced
    def run(w):
        w += 1.0
        s.run.function(w)

    @ti.ad.grad_for(run)
    def _(w):
        s.run.grad(w)

    with ti.Tape(s.loss):
        for _ in range(3):
            run(w)
            s.total()
    assert s.gradient() == [2 + 3 + 4] * 3
    assert w.tolist() == [4] * 3


def test_an_array_in_which_backward_functions_sum_up_results():
    s, out = InPython(), np.zeros(3)
    with ti.Tape(s.loss):
        for n in range(3):
            s.run(np.full(3, n + 1.0), out)
            s.total()
    assert out.tolist() == [6] * 3


def test_a_tensor_that_only_python_reads():
    s, w = InPython(lambda w: w.detach().numpy()), Tensor(np.array([1.0, 2.0, 3.0]), requires_grad=True)
    with ti.Tape(s.loss):
        s.run(w)
        w.array[:] = 100.0
        s.total()
    assert s.gradient() == [1, 2, 3]


def test_the_memory_of_a_field_as_an_argument():
    s = InPython()
    w = ti.field(ti.f64, shape=3)
    w.fill(2.0)
    with ti.Tape(s.loss):
        s.run(w.array)
        w.fill(100.0)
        s.total()
    assert s.gradient() == [2] * 3


@pytest.mark.filterwarnings("ignore::dsim.GradientWarning")  # nor has what Python computes
def test_an_array_that_only_python_reads_inside_of_forward_mode():
    s, w = InPython(), np.array([1.0, 2.0, 3.0])
    with ti.ad.FwdMode(s.x.grad, s.x, seed=np.ones(3)), ti.Tape(s.loss):
        s.run(w)
        w[:] = 100.0
        s.total()
    assert s.gradient() == [1, 2, 3]


def test_an_array_that_kernels_take_as_vectors_has_one_shadow_array():
    x, y = (ti.field(ti.f64, shape=n, needs_grad=True) for n in (2, ()))
    x.fill(1.0)

    @ti.kernel
    def weigh(a: ti.types.ndarray(dtype=ti.types.vector(2, ti.f64), ndim=1)):
        for i in x:
            a[i][0] *= 2.0
            y[None] += x[i] * a[i].sum()

    @ti.ad.grad_replaced
    def run(a):
        weigh(a)

    @ti.ad.grad_for(run)
    def _(a):
        x.grad.from_numpy(x.grad.to_numpy() + a.sum(axis=1) * y.grad[None])

    a = np.ones((2, 2))
    with ti.Tape(y) as tape:
        for _ in range(2):
            run(a)
            a += 1.0
        assert [mirror.name for mirror, _ in tape.mirrors.arrays()] == ["a"]
    assert x.grad.to_numpy().tolist() == [(2 + 1) + (6 + 2)] * 2
    assert a.tolist() == [[7.0, 3.0]] * 2
