"""Each notebook with a time step asserts numbers that depend on it: with 1 % more, an assertion fails.

Its cells run in a shell of IPython without a kernel: `test_notebooks.py` runs them as they are, in kernels.
"""

from __future__ import annotations

import os
import sys
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path

import nbformat
import pytest

from dsim.tooling.demo import DEMO, demo_folder

# What defines a time step, and the same with 1 % more. The wave's step is in c² Δt²/Δx² = 1/3.
STEPS = [
    ("billiards", "steps, dt, ground = 203, 0.002,", "steps, dt, ground = 203, 0.00202,"),
    ("billiards", "rounds, tick = 1024, 0.003", "rounds, tick = 1024, 0.00303"),
    ("build_the_compiler", "h = 0.1\n", "h = 0.101\n"),
    ("electric", "steps, dt = 512, 0.03", "steps, dt = 512, 0.0303"),
    ("fem_neo_hookean", "h, frames = 1 / 120,", "h, frames = 1.01 / 120,"),
    ("gravity", "dt = 1e-5", "dt = 1.01e-5"),
    ("jacobians", "steps, dt, g = 1200, 1 / 240,", "steps, dt, g = 1200, 1.01 / 240,"),
    ("mass_spring", "steps, dt = 1024, 0.001", "steps, dt = 1024, 0.00101"),
    ("mass_spring", "robot_dt = 0.004", "robot_dt = 0.00404"),
    ("mpm_checkpoints", "cells, dt = 32, 1e-3", "cells, dt = 32, 1.01e-3"),
    ("mpm_lagrangian", "    step(2e-4)\n", "    step(2.02e-4)\n"),
    ("rigid_body", "longest, dt = 5000, 0.002", "longest, dt = 5000, 0.00202"),
    ("rigid_body", "tick = 0.001", "tick = 0.00101"),
    ("smoke", "dt, iterations = 1.0, 6", "dt, iterations = 1.01, 6"),
    ("volume_rendering", "step = 0.02", "step = 0.0202"),
    ("volume_rendering", "march = (far - near) / marches", "march = 1.01 * (far - near) / marches"),
    ("wave", "(around - 4 * now[i, j]) / 3", "1.0201 * (around - 4 * now[i, j]) / 3"),
    ("wrong_gradients", "dt = 0.01\n", "dt = 0.0101\n"),
]
TIMELESS = {"custom_gradients", "implicit_fem", "newton"}  # derivatives of one evaluation, and equilibria


def test_every_notebook_is_here():
    assert {name for name, *_ in STEPS} | TIMELESS == set(DEMO)


@pytest.fixture(scope="module")
def ready() -> ForkServerContext:
    """Makes processes that have imported what all notebooks import."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["matplotlib.pyplot", "ipywidgets", "anywidget", "IPython", __name__])
    return context


@pytest.mark.slow
@pytest.mark.parametrize(("name", "step", "longer"), STEPS, ids=lambda text: text.partition(" =")[0].strip())
def test_one_percent_more_fails_an_assertion(name, step, longer, ready, tmp_path):
    notebook = nbformat.read(demo_folder() / f"{name}.ipynb", 4)
    cells = [f"{cell.source}\n" for cell in notebook.cells if cell.cell_type == "code"]
    assert any(step in cell for cell in cells)
    ours, theirs = ready.Pipe()
    process = ready.Process(
        target=_run, args=([cell.replace(step, longer) for cell in cells], tmp_path, theirs)
    )
    process.start()
    theirs.close()
    try:
        assert ours.poll(300), "it takes too long"
        assert ours.recv() == "AssertionError"
    finally:
        process.kill()
        process.join()


def _run(cells: list[str], folder: Path, told: Connection) -> None:
    """Runs the cells of a notebook in `folder`; tells the name of the error that ends it, or nothing."""
    from IPython.core.interactiveshell import InteractiveShell

    os.chdir(folder)
    os.environ["MPLBACKEND"] = "agg"
    sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 (until the process ends)
    shell = InteractiveShell.instance()
    results = (shell.run_cell(cell, store_history=True) for cell in cells)
    failed = next((r for r in results if not r.success), None)
    told.send(None if failed is None else type(failed.error_before_exec or failed.error_in_exec).__name__)
