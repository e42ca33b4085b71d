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
