"""The printed output of a cell's kernels is limited in a page, and in all reports."""

import pytest

from dsim.notebook import printing
from tests.notebook.cells import paged

SAYS = "for i in range(2500):\n    print('i is', i)\n    if i == 0:\n        U[None] += y[0] ** 2"


def told(ran):
    """How many lines a cell's kernels printed, and what else there is."""
    lines = ran.stdout.splitlines()
    return sum(line.startswith("i is ") for line in lines), [n for n in lines if not n.startswith("i is ")]


@pytest.fixture
def page(notebook):
    """A notebook that has a page."""
    with paged(notebook, printing) as found:
        yield found


def defined(notebook):
    body = SAYS.replace("\n", "\n    ")
    notebook.good(f"@ds.kernel\ndef says():\n    {body}")
    return notebook


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_a_report_prints_the_first_lines(notebook):
    ran = notebook.good(f"%%kernel says --loss U --wrt y --probe 3 --check\n{SAYS}")
    count, others = told(ran)
    assert (count, others[0]) == (1000, "… 1,500 more")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_a_cell_of_a_page_prints_the_first_lines_of_all_its_launches(page):
    defined(page)
    ran = page.good("for n in range(400):\n    says()\nprint('done')")
    assert told(ran) == (1000, ["done", "… 999,000 more"])
    assert told(page.good("says()")) == (1000, ["… 1,500 more"])


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_a_cell_that_fails_tells_how_many_too(page):
    defined(page)
    ran = page.run("says()\n1 / 0")
    assert isinstance(ran.error, ZeroDivisionError)
    assert told(ran)[0] == 1000
    assert "… 1,500 more\n" in ran.stdout


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_a_terminal_prints_everything(notebook):
    defined(notebook)
    assert told(notebook.good("says()")) == (2500, [])
