"""Operations in tapes and forward modes: what is saved, refused, shown, and left out."""

import threading

import numpy as np
import pytest

import dsim as ds
from tests.garbage import left
from tests.operations.programs import assert_differentiates, made, room

A = np.array([[2.0, 1.0], [0.0, 3.0]])


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


@pytest.fixture
def s():
    return Solves()


class Solves:
    """A linear system, and a loss."""

    def __init__(self):
        self.A, self.b, self.x, self.loss = made(A), made([1.0, 2.0]), room(2), room()
        for name in ("A", "b", "x", "loss"):
            getattr(self, name).given_name = name
        x, loss = self.x, self.loss

        @ds.kernel
        def cubes():
            for i in x:
                loss[None] += x[i] ** 3

        self.cubes = cubes

    def solve(self):
        ds.operations.solve(self.A, self.b, out=self.x)

    def run(self):
        self.solve()
        self.cubes()

    @property
    def gradient(self):
        """That by `b`, as it should be."""
        return np.linalg.solve(A.T, 3 * np.linalg.solve(A, [1.0, 2.0]) ** 2)


# -- values that are overwritten


def test_overwritten_inputs_and_results_are_saved(s):
    with ds.ad.Tape(s.loss) as tape:
        s.run()
        s.A.fill(7.0)
        s.x.fill(5.0)
    np.testing.assert_allclose(s.b.grad.to_numpy(), s.gradient, rtol=1e-12)
    assert (s.A.to_numpy() == 7.0).all()
    assert (s.x.to_numpy() == 5.0).all()
    assert "solve" in str(tape.saved)
    assert tape.saved_bytes == 8 * (4 + 2)


def test_overwrites_are_refused_on_request(s):
    def program():
        with ds.ad.Tape(s.loss, on_overwrite="error"):
            s.run()
            s.b.fill(0.0)

    message = r"`b\[0:2\]` is overwritten from Python after `solve` read it"
    with pytest.raises(ds.AccessRuleError, match=message):
        program()


def test_nothing_is_refused_where_nothing_is_overwritten(s):
    with ds.ad.Tape(s.loss, on_overwrite="error"):
        s.run()
    np.testing.assert_allclose(s.b.grad.to_numpy(), s.gradient, rtol=1e-12)


def test_the_budget_counts(s):
    def program():
        with ds.ad.Tape(s.loss, budget=8):
            s.run()
            s.A.fill(7.0)

    with pytest.raises(ds.GradientError, match="more than the tape's budget of 8"):
        program()


def test_results_in_the_place_of_an_input(s):
    with ds.ad.Tape(s.loss):
        for _ in range(3):
            ds.operations.solve(s.A, s.b, out=s.b)
        s.x.copy_from(s.b)
        s.cubes()
    power = np.linalg.matrix_power(np.linalg.inv(A), 3)
    solution = power @ [1.0, 2.0]
    np.testing.assert_allclose(s.b.to_numpy(), solution, rtol=1e-12)
    np.testing.assert_allclose(s.b.grad.to_numpy(), power.T @ (3 * solution**2), rtol=1e-12)


@pytest.mark.slow
def test_results_in_the_place_of_an_input_in_every_composition(s):
    def call():
        s.x.copy_from(s.b)
        ds.operations.solve(s.A, s.x, out=s.x)

    assert_differentiates(call, [s.A, s.b], [s.x], np.random.default_rng(0))


# -- constants


def test_no_grad(s):
    with ds.ad.Tape(s.loss):
        s.solve()
        ds.ad.no_grad(s.solve)()
        s.cubes()
    assert not s.b.grad.to_numpy().any()
    with ds.ad.FwdMode(s.loss, s.b, seed=[1.0, 1.0]):
        s.solve()
        ds.ad.no_grad(s.solve)()
        s.cubes()
    assert not s.x.dual.to_numpy().any()


def test_no_grad_inside_an_inner_tape(s):
    """A derivative that is a constant to an outer tape."""

    def inner():
        with ds.ad.Tape(s.loss):
            s.run()

    outer = room()

    @ds.kernel
    def slopes():
        for i in s.b:
            outer[None] += s.b.grad[i] ** 2 + s.b[i]

    with ds.ad.Tape(outer):
        ds.ad.no_grad(inner)()
        slopes()
    np.testing.assert_array_equal(s.b.grad.to_numpy(), [1.0, 1.0])


def test_stop_grad(s):
    with ds.ad.Tape(s.loss):
        s.solve()
        ds.ad.stop_grad(s.x)
        s.cubes()
    assert not s.b.grad.to_numpy().any()


def test_operations_in_a_function_with_a_gradient_of_its_own(s):
    replaced = ds.ad.grad_replaced(s.solve)

    @ds.ad.grad_for(replaced)
    def _():
        s.b.grad.from_numpy(10 * s.x.grad.to_numpy())

    with ds.ad.Tape(s.loss):
        replaced()
        s.cubes()
    np.testing.assert_allclose(s.b.grad.to_numpy(), 30 * s.x.to_numpy() ** 2)


# -- inspection


def test_a_tape_shows_the_call(s):
    @ds.ad.operation
    def double(a):
        return 2 * a

    double.jacobian(lambda a: 2 * np.eye(2))
    with ds.ad.Tape(s.loss) as tape:
        double(s.b, out=s.x)
        s.cubes()
    call = tape.calls[0]
    assert (call.kernel, call.reads, call.stores, call.accumulates) == ("double", ("b",), ("x",), ())
    assert call.span is not None
    assert call.span.source.line(call.span.line).strip() == "def double(a):"
    assert str(tape).splitlines()[2].split()[1] == "double"


def test_a_tape_after_its_block(s):
    with ds.ad.Tape(s.loss, profile=True) as tape:
        s.run()
    tape.backward(2.0)
    np.testing.assert_allclose(s.b.grad.to_numpy(), 2 * s.gradient, rtol=1e-12)
    np.testing.assert_allclose(tape.gradient(s.b), s.gradient, rtol=1e-12)
    np.testing.assert_allclose(tape.gradient(s.x, after=0), 3 * s.x.to_numpy() ** 2, rtol=1e-12)
    assert len(tape.profile(again=True)) == 2
    s.solve()  # outside of the tape: the result that its adjoint reads is another one now
    with pytest.raises(ds.GradientError, match="`x` was changed"):
        tape.backward()


def test_a_tape_that_checks(s):
    with ds.ad.Tape(s.loss, grad_check=[s.A, s.b]) as tape:
        s.run()
    assert tape.check


def test_the_first_nan_in_a_result(s):
    @ds.ad.operation
    def logarithm(a):
        with np.errstate(all="ignore"):
            return np.log(a - 1)

    logarithm.vjp(lambda a, /, *, adjoint: adjoint / (a - 1))
    message = r"`x\[0\]` becomes -inf in `logarithm`, call 0 of the tape"
    with pytest.raises(ds.NonFiniteError, match=message) as error:
        _searched(s, logarithm)
    assert "def logarithm(a):" in str(error.value)


def test_the_first_nan_in_the_backward_pass(s):
    @ds.ad.operation
    def root(a):
        return np.sqrt(a - 1)

    @root.vjp
    def _(a, /, *, out, adjoint):
        with np.errstate(all="ignore"):
            return 0.5 * adjoint / out

    s.b.from_numpy(np.array([1.0, 2.0]))
    with pytest.raises(ds.NonFiniteError, match=r"`b.grad\[0\]` becomes nan in the backward pass of `root`"):
        _searched(s, root)


def _searched(s, operation):
    with ds.ad.Tape(s.loss, find_nan=True):
        operation(s.b, out=s.x)
        s.cubes()


# -- reading and writing through NumPy


def test_numpy_arrays_carry_gradients_between_operations(s):
    between = np.zeros(2)

    def program():
        with ds.ad.Tape(s.loss):
            ds.operations.solve(s.A, s.b, out=between)
            ds.operations.solve(s.A, between, out=s.x)
            s.cubes()

    with pytest.warns(ds.GradientWarning, match="`out` is a NumPy array"):
        program()
    twice = np.linalg.matrix_power(np.linalg.inv(A), 2)
    np.testing.assert_allclose(between, np.linalg.solve(A, [1.0, 2.0]))
    np.testing.assert_allclose(s.b.grad.to_numpy(), twice.T @ (3 * s.x.to_numpy() ** 2), rtol=1e-12)


def test_ndarrays(s):
    b, x = (ds.ndarray(ds.f64, shape=2, needs_grad=True) for _ in range(2))
    b.from_numpy(np.array([1.0, 2.0]))

    @ds.kernel
    def cubes(a: ds.types.ndarray()):
        for i in a:
            s.loss[None] += a[i] ** 3

    def run():
        ds.operations.solve(s.A, b, out=x)
        cubes(x)

    assert ds.check_grad(run, wrt=[s.A, b], loss=s.loss, order=2)


def test_an_operation_on_a_gradient(s):
    """The gradient of a function of a gradient, through an operation on it."""
    y, outer = room(2), room()

    @ds.kernel
    def squares():
        for i in y:
            outer[None] += y[i] ** 2

    def run():
        with ds.ad.Tape(s.loss):
            s.run()
        ds.operations.solve(s.A, s.b.grad, out=y)
        squares()

    with ds.ad.Tape(outer):
        run()
    found, h = s.A.grad.to_numpy(), 1e-6
    expected = np.zeros((2, 2))
    for at in np.ndindex(2, 2):
        for sign in (1, -1):
            moved = A.copy()
            moved[at] += sign * h
            s.A.from_numpy(moved)
            outer[None] = 0.0
            run()
            expected[at] += sign * outer[None] / (2 * h)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


# -- mistakes, threads, memory


def test_an_operation_that_launches_is_refused_in_a_tape(s):
    @ds.ad.operation
    def impure(a):
        s.cubes()
        return 2 * a

    impure.jacobian(lambda a: 2 * np.eye(2))
    with pytest.raises(ds.GradientError, match="`impure` launches a kernel"), ds.ad.Tape(s.loss):
        impure(s.b, out=s.x)


def test_threads_with_fields_of_their_own():
    found = {}

    def work(n):
        s = Solves()
        for _ in range(10):
            with ds.ad.Tape(s.loss):
                s.run()
        found[n] = s.b.grad.to_numpy(), s.gradient

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 3
    for gradient, expected in found.values():
        np.testing.assert_allclose(gradient, expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
def test_a_tape_leaves_no_garbage(s, order):
    def program():
        if order == 1:
            with ds.ad.Tape(s.loss):
                s.run()
        else:
            with ds.ad.FwdMode(None, s.b, seed=[1.0, 1.0]), ds.ad.Tape(s.loss):
                s.run()

    assert not left(program)
