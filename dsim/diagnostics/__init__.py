"""What went wrong, where, and what to do about it: spans, messages, their text, the exceptions."""

from dsim.diagnostics.errors import (
    AccessRuleError,
    BoundsError,
    CompilationError,
    DsimError,
    GradientError,
    KernelAssertionError,
    KernelSyntaxError,
    KernelTypeError,
    LaunchError,
    LaunchTypeError,
    NonFiniteError,
    left,
    stopped,
)
from dsim.diagnostics.messages import CODES, Diagnostic, Label, Level
from dsim.diagnostics.render import render
from dsim.diagnostics.spans import Source, Span

__all__ = [
    "CODES",
    "AccessRuleError",
    "BoundsError",
    "CompilationError",
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
    "Source",
    "Span",
    "left",
    "render",
    "stopped",
]
