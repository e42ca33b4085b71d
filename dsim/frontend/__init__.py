"""Python functions in Taichi's dialect become kernels: reading, names, values, statements, inlining.

It imports the IR and diagnostics, and knows fields by their attributes only. Begin with `lower.py`;
`README.md` says which folder imports which.
"""

from dsim.frontend.lower import lower, lower_call
from dsim.frontend.source.lowered import Capture, LoopConfig, Lowered, LoweringSettings, Param, Returns
from dsim.frontend.values.types import MatrixType, Template

__all__ = [
    "Capture",
    "LoopConfig",
    "Lowered",
    "LoweringSettings",
    "MatrixType",
    "Param",
    "Returns",
    "Template",
    "lower",
    "lower_call",
]
