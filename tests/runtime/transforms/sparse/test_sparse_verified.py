"""Sparse matrices are verified: patterns that do not hold, cancelled numbers, contradictions."""

import threading

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import LinearOperator

import dsim as ti
from dsim.diagnostics import GradientError
from dsim.runtime.transforms.functions import linearized_gradient
from dsim.runtime.transforms.selection import Selection
from dsim.runtime.transforms.sparse.compression import compressed
from tests.runtime.transforms.sparse.sparse_programs import assert_found, grid, line, sheet


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def branches(n=64):
    x, y, on = ti.field(ti.f64, shape=n), ti.field(ti.f64, shape=n), ti.field(ti.i32, shape=())

    @ti.kernel
    def run():
        for i in x:
            y[i] = x[i] ** 2
            if on[None] == 1:
                y[i] += x[(i + 5) % n] ** 2

    x.from_numpy(np.linspace(1, 2, n))
    return x, y, on, run


def test_a_branch_that_is_not_taken_has_no_entries():
    x, y, on, run = branches()
    assert ti.jacobian(run, wrt=x, out=y, sparse="auto").nnz == 64
    on[None] = 1
    assert ti.jacobian(run, wrt=x, out=y, sparse="auto").nnz == 128


def test_a_pattern_that_no_longer_holds_is_found_anew():
    x, y, on, run = branches()
    before = ti.jacobian(run, wrt=x, out=y, sparse=True)
    on[None] = 1
    J = ti.linearize(run, wrt=x, out=y)
    after = J.sparse(before)
    assert_found(J, after)
    on[None] = 0
    J = ti.linearize(run, wrt=x, out=y)
    kept = J.sparse(after)
    assert kept.nnz == 128  # the pattern holds, and its zeros stay
    np.testing.assert_array_equal(kept.toarray(), J.dense())


@pytest.mark.parametrize(
    "wrong",
    [
        diags_array([1.0], shape=(30, 30)),
        csr_array((30, 30)),
        csr_array(np.eye(30)[::-1]),
        csr_array(np.tri(30)),
    ],
)
def test_a_pattern_that_is_wrong(wrong):
    p = line(30)
    J = ti.linearize(p.run, wrt=p.x, out=p.y)
    assert_found(J, J.sparse(wrong))


def test_an_entry_that_is_small_beside_its_neighbours_is_not_forgotten():
    n = 50
    x, y = (ti.field(ti.f64, shape=n) for _ in range(2))

    @ti.kernel
    def run():
        for i in x:
            y[i] = 1e6 * x[i] + 1e-6 * x[(i + 1) % n]

    J = ti.linearize(run, wrt=x, out=y)
    assert_found(J, J.sparse(diags_array([1.0], shape=(n, n))), atol=0)


def test_numbers_that_are_not_finite_stay_in_their_rows():
    n = 60
    x, y = (ti.field(ti.f64, shape=n) for _ in range(2))

    @ti.kernel
    def run():
        for i in x:
            y[i] = ti.sqrt(x[i]) + 2 * x[(i + 1) % n]

    x.fill(4.0)
    x[7] = 0.0
    S = ti.jacobian(run, wrt=x, out=y, sparse=True)
    assert not np.isfinite(S.toarray()[7]).all()
    rest = np.delete(S.toarray(), 7, axis=0)
    expected = 0.25 * np.eye(n) + 2 * np.roll(np.eye(n), 1, axis=1)
    np.testing.assert_array_equal(rest, np.delete(expected, 7, axis=0))


def test_modes_that_contradict_each_other_are_refused():
    x, y = (ti.field(ti.f64, shape=40) for _ in range(2))

    @ti.func
    def odd(a):
        return a**2

    @ti.func
    def forward(a, dot):
        return 2.0 * dot

    @ti.func
    def backward(a, bar):
        return 3.0 * bar

    odd.derivative(jvp=forward, vjp=backward, check=False)

    @ti.kernel
    def run():
        for i in x:
            y[i] = odd(x[i])

    J = ti.linearize(run, wrt=x, out=y)
    with pytest.raises(GradientError, match="contradict each other"):
        J.sparse()


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (np.ones((4, 4)), r"a sparse array of shape \(4, 4\), got a NumPy array"),
        (csr_array((4, 3)), r"a sparse array of shape \(4, 4\), got one of shape \(4, 3\)"),
        ("fast", "got str"),
    ],
)
def test_what_is_no_pattern(pattern, message):
    p = line(4)
    with pytest.raises(GradientError, match=message):
        ti.jacobian(p.run, wrt=p.x, out=p.y, sparse=pattern)


def test_a_hessian_that_is_not_symmetric():
    """A derivative of one's own need not be that of its func: the gradient has a Jacobian all the same."""
    x, y = ti.field(ti.f64, shape=40), ti.field(ti.f64, shape=())

    @ti.func
    def product(a, b):
        return a * b

    @ti.func
    def forward(a, b, da, db):
        return a**2 * da + b * db

    @ti.func
    def backward(a, b, bar):
        return a**2 * bar, b * a * bar

    product.derivative(jvp=forward, vjp=backward, check=False)

    @ti.kernel
    def run():
        for i in range(39):
            y[None] += product(x[i], x[i + 1])

    x.from_numpy(np.linspace(1, 2, 40))
    H = linearized_gradient(run, x, y)
    dense = H.dense()
    assert not np.allclose(dense, dense.T)
    np.testing.assert_allclose(H.sparse(symmetric=True).toarray(), dense, rtol=1e-12)


def test_half_precision_draws_numbers_that_often_cancel():
    n = 600
    x, y = (ti.field(ti.f16, shape=n) for _ in range(2))

    @ti.kernel
    def run():
        for i in x:
            y[i] = x[i] - x[(i + 1) % n]

    J = ti.linearize(run, wrt=x, out=y)
    S = J.sparse()
    assert S.nnz == 2 * n
    np.testing.assert_array_equal(S.toarray(), np.eye(n) - np.roll(np.eye(n), 1, axis=1))


@pytest.mark.slow
def test_numbers_that_an_objective_gives():
    p = sheet(4, 3)
    f = ti.objective(p.run, wrt=p.x, loss=p.U)
    H = f.hessian(f.x0)
    np.testing.assert_allclose(H.sparse(symmetric=True).toarray(), H.dense(), atol=1e-12)


@pytest.mark.slow
def test_two_threads():
    programs = [line(60), grid((8, 8))]
    operators = [ti.linearize(p.run, wrt=p.x, out=p.y) for p in programs]
    expected = [J.sparse().toarray() for J in operators]
    found = [None, None]

    def work(k):
        found[k] = [operators[k].sparse().toarray() for _ in range(5)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(2):
        np.testing.assert_array_equal(found[k], [expected[k]] * 5)


def test_last_digits_outside_of_the_pattern_are_rounding():
    """Terms that cancel exactly in some products leave a last digit in others."""
    n = 40
    x = ti.field(ti.f64, shape=n)
    exact = diags_array(
        [np.full(n - 1, 1.0), np.full(n, 4.0), np.full(n - 1, 2.0)], offsets=[-1, 0, 1]
    ).tocsr()
    random = np.random.default_rng(3)

    def noisy(found):
        digits = 2e-16 * random.choice([-1.0, 0.0, 1.0], found.shape) * np.abs(found).max()
        return found + np.where(found == 0, digits, 0.0) + 1e-16 * np.abs(found) * digits

    operator = LinearOperator(
        (n, n),
        dtype=np.float64,
        matvec=lambda v: noisy(exact @ v),
        rmatvec=lambda v: noisy(exact.T @ v),
        matmat=lambda v: noisy(exact @ v),
        rmatmat=lambda v: noisy(exact.T @ v),
    )
    matrix, _ = compressed(operator, Selection(x, "out"), Selection(x, "wrt"), exact, False)
    np.testing.assert_allclose(matrix.toarray(), exact.toarray(), atol=1e-14)
