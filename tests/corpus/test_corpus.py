"""Every cell of the matrix passes, and none is empty."""

import pytest

from tests.corpus import matrix
from tests.corpus.summary import PROPERTY

# Some programs have loops that cannot be parallel, and dsim says so.
pytestmark = pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")


@pytest.fixture(autouse=True)
def _told(record_property):
    """The cells that a test fills go to the summary."""
    before = set(matrix.MARKS)
    yield
    record_property(PROPERTY, [[*cell, mark] for cell, mark in matrix.MARKS.items() if cell not in before])


@pytest.mark.parametrize(("name", "real", "column"), matrix.CELLS)
def test_cell(name, real, column):
    matrix.check(name, real, column)


def test_no_cell_is_empty():
    for cell in matrix.CELLS:
        if cell not in matrix.MARKS:
            matrix.check(*cell)
    assert set(matrix.MARKS) == set(matrix.CELLS)
    assert len({name for name, _, _ in matrix.CELLS}) >= 60
