"""Operations that read variables: a rule runs later, and must find them as they were at the call."""

import numpy as np
import pytest

import dsim as ds
from dsim.runtime.operations.captured import CapturedValues, changed
from tests.operations.programs import made, room
from tests.second_orders import second_orders

STEP = 0.5


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


def _helper(a):
    return STEP * a


@pytest.fixture
def moved():
    @ds.ad.operation
    def moved(a):
        return a + _helper(a)

    moved.jvp(lambda a, /, *, tangents: tangents[0] + _helper(tangents[0]))
    moved.vjp(lambda a, /, *, adjoint: adjoint + STEP * adjoint)
    return moved


@pytest.fixture
def p():
    return Program()


class Program:
    def __init__(self):
        self.a, self.loss = made([1.0, 2.0]), room()
        a, loss = self.a, self.loss

        @ds.kernel
        def squares():
            for i in a:
                loss[None] += a[i] ** 2

        self.squares = squares


def test_a_variable_that_changes_after_the_call_is_refused(moved, p, monkeypatch):
    def program():
        with ds.ad.Tape(p.loss):
            moved(p.a, out=p.a)
            monkeypatch.setitem(globals(), "STEP", 0.25)
            p.squares()

    with pytest.raises(
        ds.GradientError, match="`STEP`, which `moved` or its rule reads, has changed after the call"
    ):
        program()


def test_forward_mode_uses_the_value_of_each_call(moved, p, monkeypatch):
    p.a.from_numpy(np.array([1.0, 2.0]))
    with ds.ad.FwdMode(p.loss, p.a, seed=[1.0, 0.0]):
        for step in (0.5, 0.25, 0.5):
            monkeypatch.setitem(globals(), "STEP", step)
            moved(p.a, out=p.a)
        p.squares()
    factor = 1.5 * 1.25 * 1.5
    assert p.loss.dual[None] == pytest.approx(2 * factor * factor)


@pytest.mark.slow
def test_second_derivatives_after_a_change_are_those_of_the_new_value(moved, p, monkeypatch):
    start = made([1.0, 2.0])

    def run():
        p.a.copy_from(start)
        moved(p.a, out=p.a)
        p.squares()

    for step in (0.5, 0.25):
        monkeypatch.setitem(globals(), "STEP", step)
        found = second_orders(run, start, p.loss, np.array([1.0, 0.0]), np.array([1.0, 3.0]))
        np.testing.assert_allclose(found, 2 * (1 + step) ** 2)


def test_variables_of_enclosing_functions_and_arrays(p):
    weights = np.array([2.0, 3.0])

    @ds.ad.operation
    def weighted(a):
        return weights * a

    weighted.jacobian(lambda a: np.diag(weights))

    def program():
        with ds.ad.Tape(p.loss):
            weighted(p.a, out=p.a)
            weights[0] = 5.0
            p.squares()

    with pytest.raises(ds.GradientError, match="`weights`, which `weighted` or its rule reads"):
        program()


def test_what_the_function_counts_is_its_own(p):
    calls = 0

    @ds.ad.operation
    def counted(a):
        nonlocal calls
        calls += 1
        return 2 * a

    counted.jacobian(lambda a: 2 * np.eye(2))
    with ds.ad.Tape(p.loss):
        counted(p.a, out=p.a)
        counted(p.a, out=p.a)
        p.squares()
    assert calls == 2
    np.testing.assert_array_equal(p.a.grad.to_numpy(), [2 * 16 * 1.0, 2 * 16 * 2.0])


def test_variables_of_one_name_in_two_functions_are_two():
    def reader(value):
        def read():
            return factor

        def change(to):
            nonlocal factor
            factor = to

        factor = value
        return read, change

    (first, change), (second, _) = reader(1.0), reader(2.0)
    for functions in ((first, second), (second, first)):
        captured = CapturedValues(functions)
        change(1.0)
        before = captured.now()
        assert changed(before, captured.now()) is None
        change(3.0)
        assert changed(before, captured.now()) == "factor"
