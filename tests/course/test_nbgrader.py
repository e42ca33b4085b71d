"""nbgrader makes the students' versions of the lessons, and marks submissions, right and wrong."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.course.lessons import COURSE, answered, exercises, lessons, read
from tests.course.wrong import WRONG

pytestmark = pytest.mark.slow
_ANSWER = re.compile(r"### BEGIN SOLUTION\n(.*?)\n *### END SOLUTION", re.DOTALL)


def nbgrader(course: Path, *arguments: str) -> str:
    """What a command of nbgrader writes; it calls programs that are installed beside Python."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    found = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=course,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(COURSE.parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stderr


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory, forked_kernels: None) -> Path:
    """A teacher's course, with the versions for the students."""
    folder = tmp_path_factory.mktemp("nbgrader") / "course"
    leave = shutil.ignore_patterns("__pycache__", "release", "submitted", "autograded", "gradebook.db*")
    shutil.copytree(COURSE, folder, ignore=leave)
    nbgrader(folder, "generate_assignment", "lessons")
    return folder


def hand_in(course: Path, student: str, lesson: str, answers: dict[str, str]) -> None:
    """A student's copy of a lesson with these answers, and the rest as it was released."""
    released = course / "release" / "lessons"
    to = course / "submitted" / student / "lessons"
    if not to.exists():
        shutil.copytree(released, to, ignore=shutil.ignore_patterns("*.ipynb"))
    notebook = read(released / f"{lesson}.ipynb")
    for cell in notebook.cells:
        answer = answers.get(cell.metadata.get("nbgrader", {}).get("grade_id"))
        if answer is not None:
            cell.source = answered(cell.source, answer)
    nbformat.write(notebook, to / f"{lesson}.ipynb")


def solutions(lesson: str) -> dict[str, str]:
    """The instructor's answers to a lesson."""
    path = next(path for path in lessons() if path.stem == lesson)
    found = {name: _ANSWER.search(cell) for name, (cell, _) in exercises(read(path)).items()}
    return {name: _without_indent(match[1]) for name, match in found.items() if match}


def _without_indent(text: str) -> str:
    indent = len(text) - len(text.lstrip(" "))
    return "\n".join(line[indent:] for line in text.split("\n"))


def marks(course: Path, student: str, lesson: str) -> dict[str, tuple[float, float]]:
    """By exercise, the points that a student got, and those to be had."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "gradients") as book:
        notebook = book.find_submission_notebook(lesson, "lessons", student)
        return {
            grade.name.removesuffix("-check"): (grade.score, grade.max_score) for grade in notebook.grades
        }


def errors(course: Path, student: str, lesson: str) -> dict[str, list[str]]:
    """By cell, the names of the errors that marking it shows to the teacher."""
    notebook = read(course / "autograded" / student / "lessons" / f"{lesson}.ipynb")
    return {
        cell.metadata.nbgrader.grade_id: [o.ename for o in cell.outputs if o.output_type == "error"]
        for cell in notebook.cells
        if "nbgrader" in cell.metadata and cell.cell_type == "code"
    }


def test_students_get_the_lessons_without_answers_and_outputs(course):
    for path in lessons():
        released = read(course / "release" / "lessons" / path.name)
        text = "\n".join(cell.source for cell in released.cells)
        assert "SOLUTION" not in text
        assert text.count("# YOUR CODE HERE") == len(exercises(read(path))) == len(exercises(released))
        assert not any(cell.get("outputs") for cell in released.cells)
        for cell in released.cells:
            if cell.metadata.get("nbgrader", {}).get("grade"):
                assert cell.metadata.editable is False
                assert cell.metadata.nbgrader.points > 0
    assert (course / "release" / "lessons" / "checks" / "saying.py").is_file()
    assert not list((course / "release").rglob("nbgrader_config.py"))


def test_submissions_right_and_wrong_are_marked(course):
    first, last = lessons()[0].stem, lessons()[-1].stem
    right = solutions(first)
    mistake = next(wrong for wrong in WRONG[first] if wrong.exercise == "carried")
    hand_in(course, "ada", first, right)
    hand_in(course, "ada", last, solutions(last))
    hand_in(course, "ben", first, {**right, "carried": mistake.answer})
    hand_in(course, "cem", first, {})
    cheated = course / "submitted" / "ben" / "lessons" / "checks" / "__init__.py"
    cheated.write_text("carried = differences = cubes = print\n", encoding="utf-8")
    nbgrader(course, "autograde", "lessons")

    ada, ben, cem = (marks(course, student, first) for student in ("ada", "ben", "cem"))
    assert set(ada) == set(right)
    assert all(score == most > 0 for score, most in ada.values())
    assert ben == {**ada, "carried": (0, ada["carried"][1])}, "the checks that count are the teacher's"
    assert all(score == 0 for score, _ in cem.values())
    assert not any(errors(course, "ada", first).values())
    refused = {name: found for name, found in errors(course, "cem", first).items() if found}
    assert refused == {f"{name}-check": ["NotYetError"] for name in right}, (
        "an empty answer is no other error"
    )
    assert all(score == most > 0 for score, most in marks(course, "ada", last).values())

    nbgrader(course, "generate_feedback", "lessons", "--student", "cem")
    page = (course / "feedback" / "cem" / "lessons" / f"{first}.html").read_text(encoding="utf-8")
    assert page.count("not yet: ") == len(right), "students read the sentences"
