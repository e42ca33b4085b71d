"""Matrices with infinite and NaN entries: the decompositions lose none of them."""

import numpy as np
import pytest

import dsim as ds
from tests.linalg.cases import apply


@pytest.mark.parametrize("exact", [False, True], ids=["fast", "exact"])
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("function", [ds.sym_eig, ds.svd, ds.polar_decompose, ds.eig])
def test_what_is_not_finite_reaches_the_results(function, n, exact):
    if function is ds.eig and n == 3:
        with pytest.raises(TypeError, match="2 by 2"):
            function(ds.Matrix.identity(ds.f64, 3))
        return
    shapes = {
        ds.sym_eig: [(n,), (n, n)],
        ds.svd: [(n, n), (n, n), (n, n)],
        ds.polar_decompose: [(n, n), (n, n)],
        ds.eig: [(2, 2), (4, 2)],
    }[function]
    rows = []
    for value in (np.nan, np.inf, -np.inf):
        for at in np.ndindex(n, n):
            rows.append(np.diag(np.arange(1.0, n + 1)))
            rows[-1][at] = value
    for result in apply(function, shapes, np.stack(rows), exact=exact):
        assert np.isnan(result.reshape(len(rows), -1)).any(axis=1).all()
