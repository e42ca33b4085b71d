"""A report does not affect earlier tapes over the same fields; and the state of its own tape."""

import time

import numpy as np
import pytest

import dsim as ds
from tests.notebook.cells import GRAVITY

BEND = "for i in y:\n    y[i] = y[i] * y[i]\nfor i in y:\n    U[None] += y[i] ** 3"

EARLIER = """%%kernel cubes
for i in y:
    U[None] += y[i] ** 3 + x[i].dot(x[i]) ** 2"""

REPORTS = {
    "gravity": GRAVITY,
    "in place": f"%%kernel bend --loss U\n{BEND}",
    "checked": f"%%kernel bend --loss U --wrt y --check\n{BEND}",
    "forward": f"%%kernel bend --forward y\n{BEND}",
    "stopped": "%%kernel wrong --loss U\nfor i in y:\n    y[i] = 2.0\n    U[None] += y[i + 9]",
}


@pytest.fixture
def earlier(notebook):
    """A tape over `x` and `y`, and the gradient that it gave."""
    notebook.good(EARLIER)
    notebook.good("with ds.Tape(U) as earlier:\n    cubes()\nslope = y.grad.to_numpy()")
    return notebook


def right(notebook):
    names = notebook.names
    names["y"].grad.fill(0.0)
    names["earlier"].backward()
    y = names["y"].to_numpy()
    assert names["y"].grad.to_numpy() == pytest.approx(3 * y**2)
    assert (names["y"].grad.to_numpy() == names["slope"]).all()


@pytest.mark.parametrize("name", REPORTS)
def test_an_earlier_tape_goes_backwards_after_a_report(earlier, name):
    ran = earlier.run(REPORTS[name])
    assert (ran.error is None) == (name != "stopped")
    right(earlier)
    ran = earlier.run(REPORTS[name])
    right(earlier)
    earlier.good("y[0] = 3.0")
    with pytest.raises(ds.GradientError, match="`y` was changed from Python"):
        earlier.names["earlier"].backward()
    earlier.good("with ds.Tape(U) as earlier:\n    cubes()\nslope = y.grad.to_numpy()")
    earlier.run(REPORTS[name])
    right(earlier)


@pytest.mark.parametrize("name", ["in place", "gravity"])
def test_a_kernel_of_a_report_that_is_launched_later_counts(earlier, name):
    earlier.good(REPORTS[name])
    earlier.good("energy()" if name == "gravity" else "bend()")
    if name == "gravity":
        right(earlier)  # it wrote nothing that is needed
        return
    with pytest.raises(ds.GradientError, match="`y` was changed by `bend`"):
        earlier.names["earlier"].backward()


def test_looking_into_another_iteration_leaves_it_alone(earlier):
    from dsim.notebook.cell.cells import cell_of, header_of
    from dsim.notebook.cell.request import defined, request
    from dsim.notebook.report.reporting import ReportRun, compile_cell

    cell = cell_of(earlier.shell, "bend --loss U", BEND)
    head = header_of(cell)
    with defined(cell, head, earlier.shell) as (kernels, _):
        asked = request(kernels, head.options, earlier.names)
        run = ReportRun(cell, asked, compile_cell(asked), time.perf_counter())
    for at in (3, 5):
        assert run.look((at,), None)["probe"]["indices"][0]["value"] == at
        right(earlier)
    earlier.good("with ds.Tape(U) as later:\n    cubes()")
    run.look((2,), None)
    earlier.names["later"].backward()
    right(earlier)


def own(notebook):
    """The tape of the last report."""
    magics = notebook.shell.magics_manager.registry["KernelMagics"]
    return magics._last


def test_the_tape_of_a_report_goes_backwards_while_its_values_are_there(notebook):
    names = notebook.names
    notebook.good(GRAVITY)
    tape, gradient = own(notebook), names["x"].grad.to_numpy()
    tape.backward(2.0)
    assert (names["x"].grad.to_numpy() == 2.0 * gradient).all()
    notebook.good(REPORTS["in place"])
    assert (tape.gradient(names["x"]) == gradient).all()
    notebook.good(REPORTS["gravity"])
    tape.backward()
    assert (names["x"].grad.to_numpy() == gradient).all()
    notebook.good("x[0] = x[1]")
    with pytest.raises(ds.GradientError, match="`x` was changed from Python"):
        tape.backward()


@pytest.mark.slow
def test_the_tape_of_a_report_whose_values_were_put_back_refuses(notebook):
    names = notebook.names
    notebook.good(REPORTS["in place"])
    tape = own(notebook)
    for _ in range(2):
        with pytest.raises(ds.GradientError, match="`y` was restored after the tape's block"):
            tape.backward()
        notebook.good(REPORTS["in place"])
    notebook.good("bend()")  # now the values are those that it needs, and nobody knows
    with pytest.raises(ds.GradientError, match="`y` was restored after the tape's block"):
        tape.gradient(names["y"])
    assert np.isfinite(tape.profile().gradient_norm).all()  # it was measured in its own time
    assert "1 call" in notebook.good("%tape").form("plain")
