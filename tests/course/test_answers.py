"""Each lesson refuses typical wrong answers by a sentence that says what is wrong, and accepts right ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

from tests.course.lessons import SOURCES, STUB, answered, exercises, lessons, read
from tests.course.right import OTHER
from tests.course.wrong import WRONG
from tests.notebook.cells import Notebook, opened


class Lesson:
    """A lesson that was run from top to bottom, and its exercises."""

    def __init__(self, notebook: Notebook, path: Path) -> None:
        self.notebook, self.name = notebook, path.stem
        document = read(path)
        self.exercises = exercises(document)
        for cell in document.cells:
            if cell.cell_type == "code":
                notebook.good(cell.source)

    def accepted(self, exercise: str, answer: str) -> str:
        """What the check of a right answer prints."""
        cell, check = self.exercises[exercise]
        self.notebook.good(answered(cell, answer))
        told = self.notebook.good(check).stdout
        self.notebook.good(cell)
        return told

    def refused(self, exercise: str, answer: str) -> str:
        """The sentence with which an answer is refused; the right one is put back."""
        cell, check = self.exercises[exercise]
        written = self.notebook.run(answered(cell, answer))
        assert written.error is None, written.stdout + written.stderr
        error = self.notebook.run(check).error
        self.notebook.good(cell)
        self.notebook.good(check)
        assert type(error).__name__ == "NotYetError", error
        return str(error)


@pytest.fixture(scope="module", params=WRONG)
def lesson(request: Any) -> Iterator[Lesson]:
    with pytest.MonkeyPatch.context() as patch, opened() as notebook:
        patch.syspath_prepend(SOURCES)
        patch.setattr(plt, "show", lambda: plt.close("all"))
        yield Lesson(notebook, SOURCES / f"{request.param}.ipynb")
        for name in [name for name in sys.modules if name.partition(".")[0] == "checks"]:
            del sys.modules[name]


def test_wrong_answers_are_refused_by_sentences_that_help(lesson: Lesson, subtests: pytest.Subtests):
    for wrong in WRONG[lesson.name]:
        with subtests.test(wrong.sentence, exercise=wrong.exercise):
            assert wrong.sentence in lesson.refused(wrong.exercise, wrong.answer)


def test_other_right_answers_are_accepted(lesson: Lesson, subtests: pytest.Subtests):
    """No check compares with the text or the way of the lesson's own solution."""
    for exercise, answer in OTHER[lesson.name]:
        with subtests.test(exercise=exercise):
            assert lesson.accepted(exercise, answer).startswith("right: ")


def test_an_exercise_without_an_answer_is_refused_by_a_sentence(lesson: Lesson):
    for exercise in lesson.exercises:
        assert lesson.refused(exercise, STUB)


def test_each_lesson_has_five_wrong_answers_and_each_exercise_one():
    assert [path.stem for path in lessons()] == list(WRONG)
    for path in lessons():
        answers = WRONG[path.stem]
        assert len(answers) >= 5
        assert {answer.exercise for answer in answers} == set(exercises(read(path)))
        assert list(dict(OTHER[path.stem])) == list(exercises(read(path)))
        assert len({answer.sentence for answer in answers}) >= 5
