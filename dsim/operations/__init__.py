"""Operations of NumPy and SciPy on fields, with derivatives of every order.

``ds.operations.solve(A, b, out=x)``. They are written as a user writes an operation, by `ad.operation`:
`dense.py` and `sparse.py` solve, `spectral.py` transforms.
"""

from dsim.operations.dense import eigh, solve
from dsim.operations.sparse import sparse_solve
from dsim.operations.spectral import irfft, rfft
from dsim.runtime.operations.elements import scatter_add, take

__all__ = ["eigh", "irfft", "rfft", "scatter_add", "solve", "sparse_solve", "take"]
