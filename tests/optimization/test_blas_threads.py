"""An optimiser's own vectors stay on one thread of BLAS; a run has all of them."""

import threading

import pytest

import dsim as ds
from dsim.optimization.blas_threads import BLAS_THREADS, BlasThreads, libraries
from dsim.optimization.scipy_methods import NAMES
from tests.optimization.programs import rosenbrock


class Blas:
    def __init__(self, count):
        self.count, self.least = count, count

    def get_num_threads(self):
        return self.count

    def set_num_threads(self, count):
        self.count, self.least = count, min(self.least, count)


@pytest.fixture
def two():
    return [Blas(4), Blas(2)]


def counts(blas):
    return [each.count for each in blas]


def test_one_thread_inside_and_as_many_as_before_behind(two):
    threads = BlasThreads(lambda: two)
    with threads.single():
        assert counts(two) == [1, 1]
        with threads.lifted():
            assert counts(two) == [4, 2]
        assert counts(two) == [1, 1]
    assert counts(two) == [4, 2]


def test_errors_restore_them(two):
    threads = BlasThreads(lambda: two)
    with pytest.raises(ZeroDivisionError), threads.single(), threads.lifted():
        1 / 0  # noqa: B018
    assert counts(two) == [4, 2]


def test_the_last_of_several_python_threads_restores_them(two):
    threads = BlasThreads(lambda: two)
    began, ends = threading.Event(), threading.Event()

    def another():
        with threads.single():
            began.set()
            ends.wait()

    work = threading.Thread(target=another)
    with threads.single():
        work.start()
        began.wait()
    assert counts(two) == [1, 1]
    ends.set()
    work.join()
    assert counts(two) == [4, 2]


@pytest.mark.parametrize("method", NAMES)
def test_a_method_has_one_thread_and_the_run_as_many_as_before(method, monkeypatch):
    ds.init(default_fp=ds.f64)
    blas = Blas(4)
    monkeypatch.setattr(BLAS_THREADS, "_libraries", lambda: [blas])
    x, y, kernel = rosenbrock()
    seen = set()

    def run():
        seen.add(blas.count)
        kernel()

    found = ds.optimize(
        run, wrt=x, loss=y, method=method, steps=3, progress=False, callback=lambda _: seen.add(blas.count)
    )
    assert found.done
    assert (seen, blas.least, blas.count) == ({4}, 1, 4)


@pytest.mark.parametrize("blas", libraries())
def test_those_of_numpy_and_scipy_can_be_set(blas):
    before = blas.get_num_threads()
    with BlasThreads(lambda: [blas]).single():
        assert blas.get_num_threads() == 1
    assert blas.get_num_threads() == before
