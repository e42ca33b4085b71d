"""Whose gradients are after the run of a report in another context, and what a zero says after a report."""

from __future__ import annotations

import contextvars
import threading
import warnings

import numpy as np
import pytest

import dsim as ti
from dsim.notebook.running.state import unnoticed
from dsim.runtime.state import turns
from tests.runtime.recording.unreached import Fields, told
from tests.runtime.taping import taped


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def _report(f):
    """As of a report that follows: in a context of its own."""
    with unnoticed([f.w, f.x, f.loss]):
        taped(f.loss, f.double, f.use)
        taped(f.loss, f.double, f.use)


def _of_a_thread():
    def begin():
        turns.current()
        found.append(contextvars.copy_context())

    found: list[contextvars.Context] = []
    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize("context", [contextvars.copy_context, _of_a_thread])
def test_a_gradient_stays_that_of_the_cell(context):
    f = Fields()
    taped(f.loss, f.double, f.use)
    expected = f.w.grad.to_numpy()
    other = context()
    for _ in range(2):
        other.run(_report, f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(f.w.grad.to_numpy(), expected)
    taped(f.loss, f.square)  # a later tape of the cell clears it
    assert "no call inside the tape reads `w`" in told(lambda: f.w.grad[0])
    other.run(_report, f)
    assert f.w.grad.to_numpy().tolist() == [0.0] * 4


@pytest.mark.parametrize("context", [contextvars.copy_context, _of_a_thread])
def test_a_gradient_that_the_cell_has_cleared_says_why_it_is_zero(context):
    f = Fields()
    other = context()
    taped(f.loss, f.double, f.use)
    taped(f.loss, f.square)
    for _ in range(2):
        other.run(_report, f)
    assert "no call inside the tape reads `w`" in told(lambda: f.w.grad[0])


def test_what_a_task_of_this_thread_changes_is_not_told_as_of_a_thread():
    f = Fields()
    taped(f.loss, f.double, f.use)
    contextvars.copy_context().run(taped, f.loss, f.square)
    message = told(lambda: f.w.grad[0])
    assert "`w.grad` is 0: a tape or forward mode that ran since, in another task or a callback" in message
    taped(f.loss, f.double, f.use)
    contextvars.copy_context().run(taped, f.loss, f.double, f.use)
    assert "overwritten by another task or a callback after" in told(lambda: f.w.grad[0])


def test_a_report_is_no_block_of_the_person(notebook):
    notebook.good("%%kernel heights --loss U --wrt y\nfor i in y:\n    U[None] += y[i]")
    notebook.good("%%kernel lengths --loss U --wrt x\nfor i in x:\n    U[None] += x[i].norm_sqr()")
    with pytest.warns(ti.GradientWarning) as said:
        assert notebook.good("n = y.grad[0]").stderr == ""
    (one,) = said
    assert "the gradient of `y` is 0: no call inside the report of `lengths` reads `y`" in str(one.message)
    assert "`with` block" not in str(one.message)
    assert "help: its run has set all gradients to 0" in str(one.message)


def test_an_explorer_is_no_block_of_the_person():
    f = Fields()
    taped(f.loss, f.double, f.use)
    ti.explore(f.square, wrt=f.x, loss=f.loss)
    assert "no call inside the run of the explorer reads `w`" in told(lambda: f.w.grad[0])
