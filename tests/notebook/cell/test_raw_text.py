"""A `%%kernel` that does not stand at the beginning of its cell: text and lines are those of the editor."""

import textwrap

import pytest

from dsim.diagnostics import DsimError
from tests.notebook.cells import GRAVITY
from tests.notebook.forms.test_errors import underlined
from tests.notebook.report.test_reports import validated

INDENTED = textwrap.indent(GRAVITY, "  ")
SPACES = GRAVITY.replace("\n    U", "\n   \n    U")
ABOVE = ["%%time\n", "%%time\n\n", "%%timeit -n1 -r1\n", "\n%%time\n%%capture caught\n"]
CELLS = [*(above + GRAVITY for above in ABOVE), INDENTED, "\n" + INDENTED, "%%time\n" + INDENTED, SPACES]
FUNCS = """%%kernel --loss U --wrt y
double = lambda a: 2 * a
@ds.func
def cubed(a):
    return double(a)**3
def energy():
    for i in y:
        U[None] += cubed(y[i])"""


def ran_as(notebook, cell):
    """The reports of `cell`, also those that ``%%capture`` keeps."""
    ran = notebook.run(cell)
    if "caught" in cell:
        ran.bundles = [output.data for output in notebook.names["caught"].outputs]
    return ran


@pytest.mark.parametrize("cell", CELLS)
def test_a_report_has_the_text_of_the_editor(notebook, cell):
    first = cell.split("\n").index(next(t for t in cell.split("\n") if "%%kernel" in t)) + 1
    ran = ran_as(notebook, cell)
    assert ran.error is None
    validated(ran.report)
    assert ran.report["source"] == cell
    behind = first + len(GRAVITY.split("\n")) - 1 + cell.count("\n   \n")
    assert [v["line"] for v in ran.report["probe"]["values"]] == [first + 2, behind]


@pytest.mark.parametrize("cell", CELLS)
def test_an_error_names_the_line_of_the_editor(notebook, cell):
    wrong = cell.replace("r.norm", "nix.norm")
    number = notebook.shell.execution_count
    ran = ran_as(notebook, wrong)
    (found,) = ran.report["diagnostics"]
    lines = wrong.split("\n")
    assert (found["line"], underlined(ran.report)) == (len(lines), ["nix"])
    if "caught" not in cell:
        assert isinstance(ran.error, DsimError)
        assert f"cell In[{number}]:{len(lines)}:{lines[-1].index('nix') + 1}\n" in ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("body", "line", "marked"),
    [("for i in y:\n    a = (1,", 3, "("), ("for i in y:\n    return nix", 3, "nix"), ("", 1, "%%kernel f")],
)
def test_what_python_cannot_parse_is_marked_in_an_indented_cell(notebook, body, line, marked):
    ran = notebook.run(textwrap.indent("%%kernel f\n" + body + "\n#", "\t"))
    assert ran.report["diagnostics"][0]["line"] == line
    assert underlined(ran.report)[0] == marked


@pytest.mark.parametrize("cell", [FUNCS, textwrap.indent(FUNCS, "    "), "%%time\n" + FUNCS])
def test_functions_and_lambdas_are_found(notebook, cell):
    ran = notebook.good(cell)
    values = notebook.names["y"].to_numpy()
    assert notebook.names["y"].grad.to_numpy() == pytest.approx(24 * values**2)
    assert [origin["name"] for origin in ran.report["origins"]] == ["this cell"]
    wrong = notebook.run(cell.replace("(a)**3", "(nix)**3"))
    assert "nix" in underlined(wrong.report)


@pytest.mark.slow
def test_another_line_above_the_same_body_is_another_cell(notebook):
    notebook.good(GRAVITY)
    cell = GRAVITY.replace(" --wrt x", "")
    assert notebook.good(cell, history=False).report["source"] == cell
