"""Errors of running kernels as diagnostics with field, index, shape and line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dsim.backends.cpu.runtime import formatted
from dsim.backends.faults import Fault
from dsim.diagnostics import BoundsError, Diagnostic, DsimError, KernelAssertionError, Label, LaunchError
from dsim.ir.nodes import Accumulate, Append, Assert, Load, Origin, Store
from dsim.runtime.fields.access import out_of_bounds
from dsim.runtime.fields.fields import Field


def raised(fault: Fault, fields: Mapping[str, Field]) -> DsimError:
    """The exception for `fault`."""
    if fault.kind == "bounds":
        return BoundsError(_outside(fault, fields))
    if fault.kind == "assertion":
        assert isinstance(fault.statement, Assert)
        return _untrue(fault, fault.statement)
    lengths = "×".join(map(str, fault.values))
    message = f"there is no memory for a local array of {lengths} numbers"
    if isinstance(fault.statement, Append):
        message = f"there is no memory to log more than {lengths} values of `{fault.statement.memory.name}`"
    return LaunchError(_at(Diagnostic("memory", message), fault.statement.origin, ""))


def _outside(fault: Fault, fields: Mapping[str, Field]) -> Diagnostic:
    s = fault.statement
    assert isinstance(s, Load | Store | Accumulate | Append)
    shape = tuple(n or 0 for n in s.memory.shape)
    at = tuple(int(v) for v in fault.values)
    quoted = f"`{s.memory.name}`"
    root = fields.get(s.memory.name)
    first = (0,) * len(shape)
    if root is not None and not s.memory.private:
        quoted = root.companion(s.memory.derivative).quoted
        first = (*root.offset, *first[len(root.offset) :])
    plain = len(shape) - s.memory.entry_axes
    axis = next((a for a, (k, n) in enumerate(zip(at, shape, strict=False)) if not 0 <= k < n), 0)
    if axis < plain:
        at, shape = at[:plain], shape[:plain]
    at = tuple(k + o for k, o in zip(at, first, strict=False))
    return _at(out_of_bounds(quoted, at, shape, axis, first[axis]), s.origin, "here")


def _untrue(fault: Fault, s: Assert) -> DsimError:
    """The exception for the failed assertion `s`."""
    values, given = iter(fault.values), iter(s.formats)
    text = "".join(p if isinstance(p, str) else _shown(next(values, "…"), next(given, "")) for p in s.parts)
    if s.code == "out-of-bounds":
        help = "compare the loop's range with the size of the vector or matrix"
        return BoundsError(_at(Diagnostic(s.code, text, help=help), s.origin, "here"))
    message = f"an assertion failed{': ' + text if text else ''}"
    return KernelAssertionError(_at(Diagnostic(s.code, message), s.origin, "is false"))


def _shown(value: Any, given: str) -> str:
    """A value of a message; beyond a limit, values are not reported."""
    return value if isinstance(value, str) else formatted(value, given)


def _at(d: Diagnostic, origin: Origin, here: str) -> Diagnostic:
    labels = tuple(Label(span, "called here") for span in origin.inlined)
    return Diagnostic(d.code, d.message, origin.span, here, labels, d.help)
