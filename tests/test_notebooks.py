"""The committed notebooks. `pytest --nbval notebooks` compares the outputs of their cells."""

from pathlib import Path

import nbformat
import pytest

from dsim.tooling.demo import DEMO, demo_folder
from dsim.tooling.formulas import drawn
from dsim.tooling.output_widgets import WIDGET_VIEW

LARGEST = 400_000  # bytes: GitHub shows larger ones late, or not at all
REPORT = "application/vnd.dsim.report+json"


def notebooks() -> list[Path]:
    return sorted(demo_folder().glob("*.ipynb"))


def lessons() -> list[Path]:
    return sorted((demo_folder() / "course").rglob("*.ipynb"))


def outputs(path: Path):
    return [output for cell in nbformat.read(path, 4).cells for output in cell.get("outputs", [])]


def test_the_demo_shows_all_of_them():
    assert {path.stem for path in notebooks()} == set(DEMO)


@pytest.mark.parametrize("path", [*notebooks(), *lessons()], ids=lambda path: path.stem)
def test_a_notebook_was_run_from_top_to_bottom_and_tidied(path):
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    assert "widgets" not in notebook.metadata
    assert notebook.metadata.language_info.name == "python"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    for output in outputs(path):
        assert output.output_type != "error"
        assert output.get("name") != "stderr"
        assert WIDGET_VIEW not in output.get("data", {})


@pytest.mark.parametrize("path", [*notebooks(), *lessons()], ids=lambda path: path.stem)
def test_a_notebook_is_small_enough_to_be_shown_everywhere(path):
    assert path.stat().st_size <= LARGEST


@pytest.mark.slow
@pytest.mark.parametrize("path", [*notebooks(), *lessons()], ids=lambda path: path.stem)
def test_pages_have_all_formulas_as_pictures_and_need_no_network(path):
    texts = [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "markdown"]
    assert not [line for text in texts for line in drawn(text, lambda _: "").splitlines() if "$" in line]


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_a_notebook_has_pictures_and_a_report_that_looks_into_a_kernel(path):
    data = [output.get("data", {}) for output in outputs(path)]
    assert sum("image/png" in forms for forms in data) >= 2
    reports = [forms[REPORT] for forms in data if REPORT in forms]
    assert any(report["heat"] and report["probe"]["values"] for report in reports)
    assert all({"text/html", "text/plain"} < set(forms) for forms in data if REPORT in forms)


@pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
def test_a_lesson_has_a_picture_a_report_and_no_exercise_that_is_not_solved(path):
    found = outputs(path)
    data = [output.get("data", {}) for output in found]
    assert any("image/png" in forms for forms in data)
    assert any(REPORT in forms for forms in data)
    told = "".join(output.text for output in found if output.get("name") == "stdout")
    checked = [cell for cell in nbformat.read(path, 4).cells if "points" in cell.metadata.get("nbgrader", {})]
    assert told.count("right: ") == len(checked) >= 2
