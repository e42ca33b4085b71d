"""Differentiation: tapes, forward mode, gradients that a person gives, and none."""

from dsim.api.kernels import forward, grad
from dsim.runtime.custom import grad_for, grad_replaced, no_grad, stop_grad
from dsim.runtime.forward_mode import ForwardMode as FwdMode
from dsim.runtime.gradient_check import check_grad
from dsim.runtime.gradients import clear_all_gradients
from dsim.runtime.tape import Tape

__all__ = [
    "FwdMode",
    "Tape",
    "check_grad",
    "clear_all_gradients",
    "forward",
    "grad",
    "grad_for",
    "grad_replaced",
    "no_grad",
    "stop_grad",
]
