"""Derivatives of kernels, as kernels: forward mode, reverse mode, and derivatives inside kernels."""

from dsim.autodiff.adjoint import Adjoint, Lost, compares_final_values, reverse
from dsim.autodiff.backward import derivatives
from dsim.autodiff.expand import expand
from dsim.autodiff.forward import forward
from dsim.autodiff.symmetric import Made, by_symmetry, writes_again

__all__ = [
    "Adjoint",
    "Lost",
    "Made",
    "by_symmetry",
    "compares_final_values",
    "derivatives",
    "expand",
    "forward",
    "reverse",
    "writes_again",
]
