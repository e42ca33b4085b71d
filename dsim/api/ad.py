"""Differentiation: tapes, forward mode, custom gradients, and functions without gradient."""

from dsim.api.kernels import forward, grad
from dsim.runtime.operations import arithmetic as _arithmetic  # noqa: F401 (fills the table of operators)
from dsim.runtime.operations import elementary as _elementary  # noqa: F401
from dsim.runtime.operations.operation import operation
from dsim.runtime.recording.forward_mode import ForwardMode as FwdMode
from dsim.runtime.recording.gradients import clear_all_gradients
from dsim.runtime.tapes.custom import grad_for, grad_replaced, no_grad, stop_grad
from dsim.runtime.tapes.gradient_check import check_grad
from dsim.runtime.tapes.loops import checkpoint
from dsim.runtime.tapes.tape import Tape

__all__ = [
    "FwdMode",
    "Tape",
    "check_grad",
    "checkpoint",
    "clear_all_gradients",
    "forward",
    "grad",
    "grad_for",
    "grad_replaced",
    "no_grad",
    "operation",
    "stop_grad",
]
