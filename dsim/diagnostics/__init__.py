"""Diagnostics: spans, messages with a help line, their rendering, and the exceptions that carry them.

It imports nothing else of dsim. Begin with `messages.py`, then `errors.py` and `render.py`.
"""

from dsim.diagnostics.errors import (
    AccessRuleError,
    ArgumentError,
    BoundsError,
    CompilationError,
    DeviceError,
    DsimError,
    GradientError,
    KernelAssertionError,
    KernelSyntaxError,
    KernelTypeError,
    LaunchError,
    LaunchTypeError,
    NonFiniteError,
    SelectionError,
    left,
    stopped,
)
from dsim.diagnostics.messages import CODES, Diagnostic, Label, Level
from dsim.diagnostics.render import render
from dsim.diagnostics.spans import Source, Span

__all__ = [
    "CODES",
    "AccessRuleError",
    "ArgumentError",
    "BoundsError",
    "CompilationError",
    "DeviceError",
    "Diagnostic",
    "DsimError",
    "GradientError",
    "KernelAssertionError",
    "KernelSyntaxError",
    "KernelTypeError",
    "Label",
    "LaunchError",
    "LaunchTypeError",
    "Level",
    "NonFiniteError",
    "SelectionError",
    "Source",
    "Span",
    "left",
    "render",
    "stopped",
]
