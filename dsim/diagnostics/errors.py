"""The exceptions that dsim raises. Each carries diagnostics, which are its message."""

from __future__ import annotations

import sys
from collections.abc import Container
from dataclasses import replace
from types import FrameType
from typing import Any

from dsim.diagnostics.messages import Diagnostic
from dsim.diagnostics.places import caller, calls
from dsim.diagnostics.render import printable, render

_CALLS = 8  # the most calls shown above an error: of more, the outermost and the innermost

_CATCHING = ("IPython.core.interactiveshell", "ipykernel.kernelbase")  # catch a cell's KeyboardInterrupt


class DsimError(Exception):
    """Base class of dsim's errors.

    Attributes
    ----------
    diagnostics : tuple of Diagnostic
        The errors and their places, in the order of the program's text.
    """

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics = diagnostics
        super().__init__(render(diagnostics))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.diagnostics, self.__dict__)

    def _render_traceback_(self) -> list[str]:
        """The text that IPython prints instead of a traceback: the diagnostics and the user's call stack."""
        told = {(d.span.source.file, d.span.line) for d in self.diagnostics if d.span is not None}
        return [f"{type(self).__name__}:", *str(self).split("\n"), *_called_from(self, told)]


def stopped(error: KeyboardInterrupt) -> KeyboardInterrupt:
    """`error` without dsim's frames; IPython shows the user's call stack."""
    lines = [f"KeyboardInterrupt: {error}".rstrip()]
    error._render_traceback_ = lambda: [*lines, *_called_from(error, ())]  # type: ignore[attr-defined]
    return error.with_traceback(None)


def left(error: KeyboardInterrupt) -> BaseException:
    """The exception that an interrupted call raises: `stopped`, or a `CancelledError`.

    The latter in a background task of a notebook: any other exception there ends the event loop, and so the
    session.
    """
    return sys.modules["asyncio"].CancelledError(*error.args) if _beside_cells() else stopped(error)


def _beside_cells() -> bool:
    """Whether this runs in a background task of a notebook's kernel: no cell or message is on the stack."""
    asyncio, kernels = sys.modules.get("asyncio"), sys.modules.get("ipykernel.kernelapp")
    if asyncio is None or kernels is None or not kernels.IPKernelApp.initialized():
        return False
    if asyncio._get_running_loop() is None:
        return False
    at: FrameType | None = sys._getframe()
    while at is not None and at.f_globals.get("__name__") not in _CATCHING:
        at = at.f_back
    return at is None


def _called_from(error: BaseException, told: Container[tuple[str, int]]) -> list[str]:
    """The user's call stack of `error`, without the lines in `told`."""
    lines = [
        f"{printable(s.source.name)}:{s.line}: {printable(s.source.line(s.line).strip())}"
        for s in calls(error.__traceback__)
        if (s.source.file, s.line) not in told
    ]
    if len(lines) > _CALLS:
        lines[_CALLS // 2 : -_CALLS // 2] = ["…"]
    return [f"{'called from' if n == 0 else '':<11} {line}" for n, line in enumerate(lines)]


def _restored(kind: type[DsimError], diagnostics: tuple[Diagnostic, ...], known: dict[str, Any]) -> DsimError:
    """An unpickled error, of another process for example: it keeps its places."""
    made = kind.__new__(kind)
    DsimError.__init__(made, *diagnostics)
    made.__dict__.update(known)
    return made


class CompilationError(DsimError):
    """A kernel or func that cannot be compiled."""


class KernelSyntaxError(CompilationError):
    """Python that the kernel language does not support."""


class KernelTypeError(CompilationError, TypeError):
    """A value of the wrong type or shape."""


class _CallError(DsimError):
    """An error of a call from Python: a diagnostic without a place gets that of the call."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        here = caller() if any(d.span is None for d in diagnostics) else None
        super().__init__(*(d if d.span is not None else replace(d, span=here) for d in diagnostics))


class LaunchError(_CallError, RuntimeError):
    """A launch that cannot start, or that failed while running."""


class LaunchTypeError(LaunchError, TypeError):
    """Arguments of a launch that do not fit the kernel's parameters."""


class ArgumentError(_CallError, ValueError):
    """An argument of a call from Python that does not fit."""


class BoundsError(LaunchError, IndexError):
    """An index outside its field."""


class KernelAssertionError(DsimError, RuntimeError, AssertionError):
    """An `assert` of a kernel that failed."""


class AccessRuleError(KernelAssertionError):
    """A kernel overwrites a value that a gradient needs."""


class SelectionError(_CallError, KeyError):
    """A result was asked for by what it is not for."""

    __str__ = Exception.__str__  # a `KeyError` shows what it is of in quotes, as one line


class NonFiniteError(_CallError, FloatingPointError):
    """A NaN or an infinity, under ``Tape(find_nan=True)``."""


class GradientError(_CallError, RuntimeError):
    """A gradient that dsim cannot compute."""


class DeviceError(_CallError, RuntimeError):
    """A device was asked for, or code for one, and what that needs is not there."""
