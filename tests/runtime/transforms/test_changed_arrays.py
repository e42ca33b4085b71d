"""NumPy arrays that Python changes inside a run, or that kernels get a copy of: the derivative ends there."""

import numpy as np
import pytest

import dsim as ds


@pytest.fixture
def kernels():
    ds.init(default_fp=ds.f64)
    x, total = ds.field(ds.f64, shape=3, needs_grad=True), ds.field(ds.f64, shape=(), needs_grad=True)
    x.fill(2.0)

    @ds.kernel
    def square(p: ds.types.ndarray(dtype=ds.f64, ndim=1)):
        for i in p:
            p[i] = x[i] ** 2

    @ds.kernel
    def add(p: ds.types.ndarray(dtype=ds.f64, ndim=1)):
        for i in p:
            total[None] += p[i] ** 2

    return x, total, square, add


def test_numbers_that_depend_on_the_inputs(kernels):
    x, total, square, add = kernels
    a = np.zeros(3)

    def run():
        square(a)
        a[1:] *= 5
        add(a)

    with pytest.warns(ds.GradientWarning, match="Python changed `.*` inside the run") as heard:
        value, gradient = ds.value_and_grad(run, wrt=x, out=total)()
    assert (value, gradient.tolist()) == (16.0 + 2 * 400.0, [32.0, 0.0, 0.0])
    assert [w.filename for w in heard] == [__file__]

    def changed_at_the_end():
        square(a)
        a[:] *= 5

    with pytest.warns(ds.GradientWarning, match="Python changed `.*` inside the run"):
        assert not ds.jacobian(changed_at_the_end, wrt=x, out=a).any()


def test_an_array_that_is_an_input(kernels):
    _, total, _, add = kernels
    b = np.ones(3)

    def run():
        b[:] = 3 * b
        add(b)

    with pytest.warns(ds.GradientWarning, match="Python changed `.*` inside the run"):
        value, gradient = ds.value_and_grad(run, wrt=b, out=total)()
    assert (value, gradient.tolist(), b.tolist()) == (27.0, [0.0] * 3, [1.0] * 3)
    with pytest.warns(ds.GradientWarning, match="no call inside the run is given `.*` itself"):
        assert not ds.grad(lambda: add(2 * b), wrt=b, out=total)().any()


@pytest.mark.filterwarnings("error")
def test_what_changes_nothing_or_is_meant_to_be_constant_says_nothing(kernels):
    x, total, square, add = kernels
    a, given = np.zeros(3), np.ones(3)

    def run():
        square(a)
        a[:] = a.copy()
        add(a)
        given[:] = 4.0  # depends on no input
        add(given)

    assert ds.grad(run, wrt=x, out=total)().tolist() == [32.0] * 3

    @ds.ad.no_grad
    def constant():
        square(a)
        a[:] *= 2
        add(a)

    assert ds.grad(lambda: [run(), constant()], wrt=x, out=total)().tolist() == [32.0] * 3


def test_an_array_that_python_reads_after_a_kernel_has_written_it(kernels):
    x, total, square, add = kernels
    y, a = ds.field(ds.f64, shape=3, needs_grad=True), np.zeros(3)

    @ds.kernel
    def sums():
        for i in y:
            total[None] += y[i]

    def set_from():
        square(a)
        y.from_numpy(a)
        add(a)
        sums()

    def copied():
        square(a)
        add(a.copy())

    for run, said in ((set_from, "sets a field to `p`"), (copied, "makes of what the run writes")):
        with pytest.warns(ds.GradientWarning, match=said) as heard:
            ds.grad(run, wrt=x, out=total)()
        assert len(heard) == 1
        with pytest.warns(ds.GradientWarning, match=said):
            ds.jvp(run, wrt=x, out=total, tangents=np.ones(3))


VIEWS = {
    "the array": lambda b: b,
    "its beginning": lambda b: b[:2],
    "reversed": lambda b: b[::-1],
    "a column": lambda b: b.reshape(2, 2).T[0],
    "a view of a view": lambda b: b[1:][:2],
}


@pytest.fixture
def doubled():
    ds.init(default_fp=ds.f64)
    total = ds.field(ds.f64, shape=(), needs_grad=True)

    @ds.kernel
    def double(p: ds.types.ndarray()):
        for i in p:
            p[i] = 2 * p[i]

    @ds.kernel
    def add(p: ds.types.ndarray()):
        for i in p:
            total[None] += p[i] ** 2

    return total, double, add


@pytest.mark.filterwarnings("ignore:warning.cut:dsim.GradientWarning")
@pytest.mark.parametrize("view", VIEWS)
def test_an_array_is_as_before_where_kernels_write_to_a_view_of_it(view, doubled):
    total, double, add = doubled
    b, k = np.ones(4), ds.field(ds.f64, shape=(), needs_grad=True)

    def run():
        total[None] = 0.0
        double(VIEWS[view](b))
        b[3] += 1.0
        add(b)

    f = ds.objective(run, wrt=k, loss=total)
    found = {f(f.x0)[0] for _ in range(3)}
    assert len(found) == 1
    ds.value_and_grad(run, wrt=k, out=total)()
    ds.linearize(run, wrt=k, out=total)
    assert b.tolist() == [1.0] * 4


@pytest.mark.filterwarnings("ignore:warning.cut:dsim.GradientWarning")
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("view", VIEWS)
def test_an_input_is_as_before_whatever_writes_to_it(view, before, doubled):
    total, double, add = doubled
    b = np.ones(4)

    def run():
        total[None] = 0.0
        b[1] += 5.0 * before
        double(VIEWS[view](b))
        b[1] += 5.0 * (not before)
        add(b[::-1])

    f = ds.value_and_grad(run, wrt=b, out=total)
    assert len({f()[0] for _ in range(3)}) == 1
    assert b.tolist() == [1.0] * 4
