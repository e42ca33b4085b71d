"""Completions in the line of `%%kernel`, and in its cell."""

import pytest
from IPython.core.completer import provisionalcompleter

from tests.notebook.cells import GRAVITY


def completed(notebook, cell):
    """What a front end offers at the end of `cell`."""
    with provisionalcompleter():
        return {c.text for c in notebook.shell.Completer.completions(cell, len(cell))}


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("%%kernel energy --lo", {"--loss"}),
        ("%%kernel energy --loss ", {"U"}),
        ("%%kernel energy --loss U --wrt ", {"x", "v", "y", "U"}),
        ("%%kernel energy --loss U --wrt x,", {"v", "y"}),
        ("%%kernel ", {"energy", "--loss"}),
        ("%%kernel energy --show ", {"adjoint", "ir", "python", "llvm", "ptx"}),
        ("%adjoint ", {"energy"}),
        ("%check en", {"energy"}),
        ("%check energy --p", {"--plot"}),
    ],
)
def test_completions(notebook, text, offered):
    notebook.good(GRAVITY)
    found = completed(notebook, text)
    assert offered <= found
    assert found.isdisjoint({"N", "and", "if", "not"})  # Python's own words mean nothing there


@pytest.mark.slow
def test_names_complete_inside_the_cell(notebook):
    notebook.good(GRAVITY)
    assert "ndrange" in completed(notebook, "%%kernel two --loss U\nfor i in ds.nd")
    assert "energy" in completed(notebook, "%%kernel two --loss U\nfor i in x:\n    ener")
