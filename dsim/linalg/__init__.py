"""Decompositions of small matrices and linear equations, inside kernels and outside; differentiable.

It imports the public interface, as a user's module would. Begin with `symmetric.py`. Kernels do not check
their derivatives when compiled (``check=False``): the tests do.
"""

from dsim.api.absent import absent
from dsim.diagnostics.frames import outermost as _outermost
from dsim.linalg.general import eig
from dsim.linalg.polar import polar_decompose
from dsim.linalg.singular import svd
from dsim.linalg.solving import solve
from dsim.linalg.symmetric import sym_eig

__all__ = ["eig", "polar_decompose", "solve", "svd", "sym_eig"]


@_outermost
def __getattr__(name: str) -> object:
    raise absent("dsim.linalg", name, __all__)
