"""The exceptions that dsim raises. Each carries diagnostics and shows them as its text."""

from __future__ import annotations

from dsim.diagnostics.messages import Diagnostic
from dsim.diagnostics.render import render


class DsimError(Exception):
    """Base of all of dsim's own errors.

    Attributes
    ----------
    diagnostics : tuple of Diagnostic
        What went wrong and where, in the order of the program's text.
    """

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics = diagnostics
        super().__init__(render(diagnostics))

    def _render_traceback_(self) -> list[str]:
        """What IPython prints instead of a traceback: the diagnostics, without dsim's frames."""
        return [f"{type(self).__name__}:", *str(self).split("\n")]


class CompilationError(DsimError):
    """A kernel or func that cannot be compiled."""


class KernelSyntaxError(CompilationError):
    """Python that the kernel language does not have."""


class KernelTypeError(CompilationError, TypeError):
    """A value of a type or shape that does not fit."""


class LaunchError(DsimError, RuntimeError):
    """A launch that cannot run or that failed while running."""


class LaunchTypeError(LaunchError, TypeError):
    """Arguments of a launch that do not fit the kernel's parameters."""


class BoundsError(LaunchError, IndexError):
    """An index outside its field."""


class KernelAssertionError(DsimError, AssertionError):
    """An `assert` of a kernel that failed."""


class AccessRuleError(DsimError, AssertionError):
    """A value that a gradient needs was overwritten."""


class GradientError(DsimError, RuntimeError):
    """A gradient that was asked for and cannot be given."""
