"""Lambdas in a `%%kernel` cell, whose first line is not Python."""

import numpy as np
import pytest

from dsim.diagnostics import DsimError
from tests.notebook.report.test_reports import validated

LINE = (
    "%%kernel total(f: ds.template() = lambda a: a * a * a) --loss U --wrt y\n"
    "for i in y:\n    U[None] += f(y[i])"
)
DEF = (
    "%%kernel --loss U --wrt y\ndef total(f: ds.template() = lambda a: a * a * a):\n"
    "    for i in y:\n        U[None] += f(y[i])"
)
NAMED = (
    "%%kernel --loss U --wrt y\npair = (lambda a: 2 * a, lambda a: a * a * a - 2 * a)\n"
    "def total():\n    for i in y:\n        U[None] += pair[0](y[i]) + pair[1](y[i])"
)


@pytest.mark.parametrize("cell", [LINE, DEF, NAMED, "\n\n" + LINE])
@pytest.mark.parametrize("history", [True, False])
def test_a_lambda_is_compiled_with_its_derivative(notebook, cell, history):
    ran = notebook.good(cell, history=history)
    validated(ran.report)
    values = notebook.names["y"].to_numpy()
    np.testing.assert_allclose(notebook.names["y"].grad.to_numpy(), 3 * values**2, rtol=1e-14)
    assert [origin["name"] for origin in ran.report["origins"]] == ["this cell"]


def test_two_lambdas_of_one_line_are_told_apart(notebook):
    notebook.good(
        "%%kernel both(f: ds.template() = lambda a: 7 * a, g: ds.template() = lambda a: 8 * a) "
        "--loss U --wrt y\nfor i in y:\n    U[None] += f(y[i]) - g(y[i])"
    )
    assert notebook.names["y"].grad.to_numpy().tolist() == [-1.0] * 8


def test_a_mistake_in_a_lambda_is_marked_in_the_line_of_the_magic(notebook):
    ran = notebook.run(LINE.replace("a * a * a", "a * gone"))
    assert isinstance(ran.error, DsimError)
    (found,) = ran.report["diagnostics"]
    text = LINE.replace("a * a * a", "a * gone").split("\n")[0]
    assert (found["line"], text[found["column"] : found["end_column"]]) == (1, "gone")
