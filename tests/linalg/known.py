"""Matrices made of known factors, with equal or nearly equal values, as references for derivatives."""

import numpy as np
import pytest

from tests.linalg.cases import rotation

GAPS = [1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 0.0]
SIZES = pytest.mark.parametrize("n", [2, 3])


class Known:
    """Matrices with known factors: one for each gap, and for 3 by 3 again with three values that close."""

    def __init__(self, n, seed=0, values=None):
        rng = np.random.default_rng(seed)
        if values is None:
            values = [[1.5 + gap, 1.5, 0.5][:n] for gap in GAPS]
            values += [[1.5 + gap, 1.5, 1.5 - gap] for gap in GAPS] if n == 3 else []
        self.gaps = np.array(GAPS * (len(values) // len(GAPS)))  # of the values that are not given
        self.values = np.array(values)
        self.left = np.stack([rotation(rng, n) for _ in values])
        self.right = np.stack([rotation(rng, n) for _ in values])
        self.directions = rng.normal(size=self.left.shape)
        self.matrices = product(self.left, self.values, self.right)

    def seen(self, directions):
        """`directions` as the singular vectors see them."""
        return self.left.transpose(0, 2, 1) @ directions @ self.right

    def rotating(self, directions):
        """The derivative of the orthogonal factor, in that view: each entry has a sum as its divisor."""
        P = self.seen(directions)
        return (P - P.transpose(0, 2, 1)) / (
            self.values[:, :, None] + self.values[:, None, :] + np.eye(P.shape[-1])
        )


def product(U, values, V):
    return (U * values[:, None, :]) @ V.transpose(0, 2, 1)


def dot(a, b):
    return (a * b).sum(axis=(1, 2))


def agree(slope, directions, gradients, tolerance=1e-10):
    """Both modes give these gradients."""
    np.testing.assert_allclose(slope.gradients(), gradients, atol=tolerance)
    np.testing.assert_allclose(slope.tangents(directions), dot(gradients, directions), atol=10 * tolerance)
