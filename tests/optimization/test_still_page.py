"""An optimisation in a page without a kernel: curves, numbers and the best parameters."""

import numpy as np
import pytest

import dsim as ds
from dsim.live import shown
from dsim.optimization import still_page
from dsim.optimization.methods import method_named
from dsim.optimization.optimize import _with_panel
from dsim.optimization.plan import OptimizationPlan
from dsim.optimization.still_page import OptimizationPage
from dsim.tooling.notebooks import PLAYER
from tests.gui.test_notebook_window import cell
from tests.live.conftest import wired
from tests.stopping import watched

__all__ = ["cell", "wired"]


@pytest.fixture(autouse=True)
def page(cell, monkeypatch):
    """The outputs of a page."""
    ds.init(default_fp=ds.f64)
    monkeypatch.setenv(shown.PAGES_VARIABLE, "100000")
    shell = shown.get_ipython()
    shell.execution_count = 1
    monkeypatch.setattr(still_page, "get_ipython", lambda: shell)
    monkeypatch.setattr(still_page, "DisplayHandle", shown.DisplayHandle)
    with watched():
        yield cell


def program():
    """Two parameters, one of them with many numbers."""
    a = ds.field(ds.f64, shape=3, needs_grad=True, name="<b>a</b>")
    b = ds.field(ds.f64, shape=20, needs_grad=True, name="b")
    y = ds.field(ds.f64, shape=(), needs_grad=True, name="y")

    @ds.kernel
    def run():
        for i in a:
            y[None] += (a[i] - i) ** 2
        for i in b:
            y[None] += (b[i] - i) ** 2

    return run, a, b, y


def begun(wrt, run, y, steps=200, **options):
    f = ds.objective(run, wrt=wrt, loss=y)
    made = _with_panel(OptimizationPlan(f, method_named("Adam", {"rate": 0.3}, False), steps, **options))
    made.start()
    made.wait()
    return made


@pytest.mark.slow
def test_an_output_has_the_end_of_the_work(page):
    run, a, b, y = program()
    made = begun([a, b], run, y)
    assert isinstance(made._progress, OptimizationPage)
    assert list(page.outputs[0][0][0]) == ["text/plain"]
    page.end()
    data, metadata = page.outputs[0][-1]
    assert metadata == PLAYER
    assert data["text/plain"] == repr(made)
    text = data["text/html"]
    assert "finished: all 200 steps are done" in text
    assert "200 of 200 steps, loss " in text
    assert text.count("<svg") >= 1
    values = ", ".join(f"{v:.6g}" for v in made.best.parameters[a])
    assert f'<th scope="row">&lt;b&gt;a&lt;/b&gt;</th><td>(3,)</td><td>{values}</td>' in text
    assert '<th scope="row">b</th><td>(20,)</td><td>' in text
    assert " to 19" in text.partition("(20,)")[2] or "to 18.9" in text.partition("(20,)")[2]
    assert "<b>" not in text
    page.end()
    assert len(page.outputs[0]) == 2, "nothing has changed since"


def test_a_later_cell_that_goes_on_renews_the_output(page):
    run, a, _, y = program()
    made = begun(a, run, y, steps=5)
    page.end()
    assert made.parameters[0][0] == "<b>a</b>"
    np.testing.assert_array_equal(made.parameters[0][1], made.best.parameters)
    made.resume(steps=7)
    made.wait()
    page.end()
    assert "12 of 12 steps" in page.outputs[0][-1][0]["text/html"]


def test_what_has_failed_says_why(page):
    x = ds.field(ds.f64, shape=(), needs_grad=True, name="x")
    y = ds.field(ds.f64, shape=(), needs_grad=True, name="y")

    @ds.kernel
    def run():
        y[None] = ds.sqrt(x[None])

    x[None] = -1.0
    f = ds.objective(run, wrt=x, loss=y)
    made = _with_panel(OptimizationPlan(f, method_named("Adam", {}, False), 5))
    made.start()
    with pytest.raises(Exception):  # noqa: B017, PT011 (whatever it says)
        made.wait()
    page.end()
    text = page.outputs[0][-1][0]["text/html"]
    assert "failed" in text
    assert "role='alert'" in text
