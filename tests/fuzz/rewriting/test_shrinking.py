"""A failing program shrinks, and keeps failing."""

from __future__ import annotations

import runpy

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.drawing.program import Program
from tests.fuzz.drawing.programs import programs
from tests.fuzz.oracle import plain
from tests.fuzz.rewriting.shrinking import shrunk
from tests.fuzz.running import script


def _drawn() -> Program:
    """A program that runs, with a `tanh`."""
    found: list[Program] = []

    @seed(8)
    @settings(
        max_examples=20,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def draw(program: Program) -> None:
        found.append(program)

    draw()
    return max((p for p in found if _at_fault(p)), key=lambda p: len(p.text))


def _at_fault(program: Program) -> bool:
    """Whether it still is a program, and changes an element by what a `tanh` gives."""
    lines = [line for k in program.kernels for line in k.text().splitlines() if "ti.tanh(" in line]
    try:
        plain.run(program.text, program.start, program.inputs)
    except (NameError, TypeError, ValueError, IndexError):
        return False
    return any("] = " in line or "] += " in line for line in lines)


def test_what_is_no_part_of_the_fault_goes():
    program = _drawn()
    small = shrunk(program, _at_fault)
    assert _at_fault(small)
    assert len(program.text.splitlines()) > 50
    assert [len(k.blocks) for k in small.kernels] == [1]
    assert len(small.kernels[0].blocks[0].lines) == 1
    assert len(small.actions) == 1


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_what_is_kept_of_it_runs(tmp_path, capsys):
    path = tmp_path / "kept.py"
    path.write_text(script(shrunk(_drawn(), _at_fault)))
    runpy.run_path(str(path))
    shown = capsys.readouterr().out
    assert "gradient" in shown
    assert "<---" not in shown
