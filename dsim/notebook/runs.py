"""Runs of a kernel for its report: under a tape, in forward mode, watched. Every primal field is put back."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dsim.notebook import state
from dsim.notebook.interrupts import heard
from dsim.runtime.fields import Field
from dsim.runtime.forms import Form
from dsim.runtime.forward_mode import ForwardMode
from dsim.runtime.kernel import Kernel
from dsim.runtime.tape import Tape

Touched = Sequence[Field | np.ndarray]


@dataclass
class Ran:
    """What a run under a tape left, beside the gradients.

    Attributes
    ----------
    tape : Tape
        Measured on the way; its times are for a report's `timings` alone.
    value : float
        The loss.
    gradients : dict of Field to ndarray
        Of the fields that were asked for.
    spoilt : dict of str to int
        How many numbers of a field were not finite before the run.
    """

    tape: Tape
    value: float
    gradients: dict[str, np.ndarray]
    spoilt: dict[str, int] = field(default_factory=dict)
    launch_s: float = 0.0
    gradient_s: float = 0.0


def touched(form: Form, loss: Field | None, args: Sequence[Any]) -> Touched:
    """What a run may change and what it reads: the kernel's fields, arrays it is given, and the loss."""
    found = state.touched(form, args)
    return found if loss is None or any(f is loss for f in found) else [*found, loss]


def taped(kernel: Kernel, args: Sequence[Any], loss: Field, wrt: Mapping[str, Field], what: Touched) -> Ran:
    """Launches `kernel` under a tape; the gradients stay."""
    spoilt = _spoilt(what)
    with state.kept(what), state.gradients_kept(on_error=True):
        tape = Tape(loss, profile=True)
        with tape:
            begin = time.perf_counter()
            kernel(*args)
            launched = time.perf_counter()
            heard()
            value = float(loss.require_memory().item())
    profile = tape.profile()
    profile.timed = False  # nobody asked: elsewhere than among its timings, a report is the same in each run
    gradients = {name: np.array(f.grad.require_memory()) for name, f in wrt.items()}
    return Ran(tape, value, gradients, spoilt, launched - begin, float(np.nansum(profile.backward_seconds)))


def _spoilt(what: Touched) -> dict[str, int]:
    floats = [w for w in what if isinstance(w, Field) and w.dtype.is_float]
    counts = {f.name: int(np.count_nonzero(~np.isfinite(f.require_memory()))) for f in floats}
    return {name: n for name, n in counts.items() if n}


def tangents(
    kernel: Kernel, args: Sequence[Any], params: Mapping[str, Field], what: Touched, written: Sequence[Field]
) -> dict[str, np.ndarray]:
    """The tangents of the fields `written`, along 1 in every number of `params`; they stay in ``.dual``."""
    seeds = [np.ones(f.full_shape) if f.full_shape else 1.0 for f in params.values()]
    mode = ForwardMode(loss=list(written) or None, param=list(params.values()), seed=seeds)
    with state.kept(what), mode:
        kernel(*args)
    return {f.name: np.array(f.dual.require_memory()) for f in written}
