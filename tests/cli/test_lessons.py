"""`dsim lessons`."""

import shlex

import nbformat
import pytest

from dsim import cli
from dsim.tooling.lessons import for_students
from tests.course.lessons import STUB, lessons

TEACHERS = {path.name: path for path in lessons()}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course") / "mine"
    assert cli.main(["lessons", str(folder)]) == 0
    return folder


def test_all_lessons_are_there_with_their_checks(written):
    assert {path.name for path in written.glob("*.ipynb")} == set(TEACHERS)
    assert (written / "checks" / "slopes.py").is_file()


def test_it_says_how_to_begin(tmp_path, capsys):
    assert cli.main(["lessons", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith(f"begin with the first: dsim lab {tmp_path}/1_slopes.ipynb\n")


def test_the_next_command_can_be_pasted(tmp_path, capsys):
    folder = tmp_path / "a b" / "ü <b>"
    assert cli.main(["lessons", str(folder)]) == 0
    command = capsys.readouterr().out.partition("begin with the first: ")[2]
    assert shlex.split(command) == ["dsim", "lab", str(folder / "1_slopes.ipynb")]


@pytest.mark.parametrize("name", sorted(TEACHERS))
def test_a_solution_becomes_a_place_for_an_answer_and_all_else_stays(written, name):
    given, made = (nbformat.read(folder / name, 4) for folder in (TEACHERS[name].parent, written))
    nbformat.validate(made)
    assert len(given.cells) == len(made.cells)
    for teacher, student in zip(given.cells, made.cells, strict=True):
        assert student.metadata == teacher.metadata
        if "BEGIN SOLUTION" not in teacher.source:
            assert student.source == teacher.source
            continue
        before, _, rest = teacher.source.partition("### BEGIN SOLUTION\n")
        indent = before.rpartition("\n")[2]
        after = rest.partition("### END SOLUTION")[2]
        assert student.source == before + STUB.replace("\n", f"\n{indent}") + after
    assert not any(cell.get("outputs") for cell in made.cells)


def test_work_stays(tmp_path):
    mine = tmp_path / "2_backwards.ipynb"
    mine.write_text("my answers", encoding="utf-8")
    assert cli.main(["lessons", str(tmp_path)]) == 0
    assert mine.read_text(encoding="utf-8") == "my answers"
    assert (tmp_path / "3_loops.ipynb").is_file()


def test_a_folder_that_cannot_be_written(tmp_path, capsys):
    there = tmp_path / "file"
    there.write_text("", encoding="utf-8")
    assert cli.main(["lessons", str(there / "below")]) == 1
    error = capsys.readouterr().err
    assert "cannot be written: Not a directory" in error
    assert "help: choose another folder: dsim lessons FOLDER" in error


def test_each_solution_is_replaced_once():
    cell = nbformat.v4.new_code_cell("def f():\n    ### BEGIN SOLUTION\n    a\n    ### END SOLUTION\n    b")
    two = nbformat.v4.new_notebook(cells=[cell, nbformat.v4.new_code_cell(f"{cell.source}\n{cell.source}")])
    one, both = (each.source for each in for_students(two).cells)
    assert one == "def f():\n    # YOUR CODE HERE\n    ...\n    b"
    assert both == f"{one}\n{one}"
