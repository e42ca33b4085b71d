"""The changes that reports state: a notebook with one report, and the updates sent after each cell."""

import pytest

from dsim.notebook.report.report import MIME
from tests.notebook.report.test_reports import validated

SQUARE = """\
@ds.func
def inner(a):
    return a * a

@ds.func
def square(a):
    return inner(a) * scale
"""
CUBE = SQUARE.replace("a * a", "a * a * a")
CELL = "%%kernel energy --loss U --wrt y\nfor i in y:\n    e = square(y[i])\n    U[None] += e"


@pytest.fixture
def page(live):
    """A notebook in which a report on `energy`, the cell `energy`, depends on two funcs and a number."""
    live.good("scale = 2.0", "scale")
    live.good(SQUARE, "funcs")
    return live


def reports(ran):
    """What reports came with a cell, in the place of earlier ones."""
    return [b[MIME] for b in ran.bundles if MIME in b]


def told(page, cell, id="elsewhere"):
    """What the one report says that a cell changed; None when it says nothing."""
    found = reports(page.good(cell, id))
    assert len(found) <= 1
    for report in found:
        validated(report)
    return found[0].get("stale", "") if found else None
