"""Derivatives of kernels, as kernels: forward mode, reverse mode, and derivatives inside kernels.

It imports passes, analyses and the IR, and knows no fields. Begin with `expand.py`, which replaces `Derive`
nodes by derivatives, the innermost first, then `forward_mode.py` and `reverse_mode.py`.
"""

from dsim.autodiff.backward_sweep import derivatives
from dsim.autodiff.custom_rules import has_rules, rules_read
from dsim.autodiff.expand import expand
from dsim.autodiff.forward_mode import forward
from dsim.autodiff.reverse_mode import Adjoint, Lost, compares_final_values, reverse
from dsim.autodiff.second_order_symmetry import Made, by_symmetry, writes_again

__all__ = [
    "Adjoint",
    "Lost",
    "Made",
    "by_symmetry",
    "compares_final_values",
    "derivatives",
    "expand",
    "forward",
    "has_rules",
    "reverse",
    "rules_read",
    "writes_again",
]
