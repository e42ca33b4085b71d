"""Long sums in a cell: Python nests them as deeply as they have terms."""

import pytest

from dsim.diagnostics import KernelSyntaxError

HEADS = ["%%kernel deep\nfor i in y:\n    ", "%%kernel\ndef deep():\n    for i in y:\n        "]


def long_sum(terms, between=" "):
    return "U[None] += (" + f" +{between}".join(f"{k}.0 * y[i]" for k in range(terms)) + ")"


@pytest.mark.slow
@pytest.mark.parametrize("head", HEADS)
def test_as_many_terms_as_in_a_file_are_compiled(notebook, head):
    notebook.good(head + long_sum(1200))
    notebook.good("U[None] = 0\ny.fill(1.0)\ndeep()")
    assert notebook.names["U"][None] == 8 * sum(range(1200))


@pytest.mark.slow
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(("terms", "between"), [(4000, "\n  "), (12000, " ")])
def test_more_are_refused_at_their_line(notebook, head, terms, between):
    ran = notebook.run(head + long_sum(terms, between) + "\n" + head.split("\n")[-1] + "U[None] = 0.0")
    assert isinstance(ran.error, KernelSyntaxError)
    (found,) = ran.report["diagnostics"]
    assert (found["code"], found["line"]) == ("limit", head.count("\n") + 1)
    assert "dsim/" not in ran.stdout
