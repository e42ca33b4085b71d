"""Every cell of the matrix holds, and none is empty."""

import pytest

from tests.corpus import matrix

# Some programs have loops that cannot be parallel, and dsim says so.
pytestmark = pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")


@pytest.mark.parametrize(("name", "real", "column"), matrix.CELLS)
def test_cell(name, real, column):
    matrix.check(name, real, column)


def test_no_cell_is_empty():
    for cell in matrix.CELLS:
        if cell not in matrix.MARKS:
            matrix.check(*cell)
    assert set(matrix.MARKS) == set(matrix.CELLS)
    assert len({name for name, _, _ in matrix.CELLS}) >= 60
