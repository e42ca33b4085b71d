"""Each notebook with a time step asserts numbers that depend on it: with 1 % more, an assertion fails."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

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


@pytest.mark.slow
@pytest.mark.parametrize(("name", "step", "longer"), STEPS, ids=lambda text: text.partition(" =")[0].strip())
def test_one_percent_more_fails_an_assertion(name: str, step: str, longer: str, tmp_path: Path):
    notebook = nbformat.read(demo_folder() / f"{name}.ipynb", 4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert any(step in f"{cell.source}\n" for cell in code)
    for cell in code:
        cell.source = f"{cell.source}\n".replace(step, longer)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    with pytest.raises(CellExecutionError) as failed:
        client.execute(env=dict(os.environ))
    assert failed.value.ename == "AssertionError"
