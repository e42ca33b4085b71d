"""Runs of a kernel for its report: under a tape, in forward mode, watched. Every primal field is restored."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsim.notebook.running import state
from dsim.runtime.fields.fields import Field
from dsim.runtime.kernels.kernel import Kernel
from dsim.runtime.launching.forms import Form
from dsim.runtime.recording.forward_mode import ForwardMode
from dsim.runtime.state.interruption import heard
from dsim.runtime.tapes.tape import Tape

Touched = Sequence[Field | np.ndarray]


@dataclass(frozen=True)
class NonfiniteCounts:
    """Numbers of fields that are not finite.

    Attributes
    ----------
    before, after : dict of str to int
        How many a field held before and after the run.
    derivatives : dict of str to (int, int)
        How many of a field's gradient, or tangent, and of how many; those fields alone that have any.
    """

    before: Mapping[str, int]
    after: Mapping[str, int]
    derivatives: Mapping[str, tuple[int, int]]

    @property
    def born(self) -> bool:
        """Whether the run has made such values."""
        return any(n > self.before.get(name, 0) for name, n in self.after.items())


@dataclass
class Ran:
    """The results of a run under a tape, beside the gradients.

    Attributes
    ----------
    tape : Tape
        Measured on the way; its times are for a report's `timings` alone.
    value : float
        The loss.
    gradients : dict of Field to ndarray
        Of the fields that were asked for.
    not_finite : NonfiniteCounts
        Numbers that are not.
    """

    tape: Tape
    value: float
    gradients: dict[str, np.ndarray]
    not_finite: NonfiniteCounts
    launch_s: float = 0.0
    gradient_s: float = 0.0


def touched(form: Form, loss: Field | None, args: Sequence[Any]) -> Touched:
    """What a run may change and what it reads: the kernel's fields, arrays it is given, and the loss."""
    found = state.touched(form, args)
    return found if loss is None or any(f is loss for f in found) else [*found, loss]


def taped(kernel: Kernel, args: Sequence[Any], loss: Field, wrt: Mapping[str, Field], what: Touched) -> Ran:
    """Launches `kernel` under a tape; the gradients stay."""
    before = _not_finite(what)
    with state.kept(what), state.gradients_kept(what, on_error=True):
        tape = Tape(loss, profile=True)
        with tape:
            begin = time.perf_counter()
            kernel(*args)
            launched = time.perf_counter()
            heard()
            value, after = float(loss.require_memory().item()), _not_finite(what)
    profile = tape.profile()
    profile.timed = False  # outside its timings, a report is the same in each run
    gradients = {name: np.array(f.grad.require_memory()) for name, f in wrt.items()}
    found = NonfiniteCounts(
        before, after, _of_derivatives({f.name: f.grad for f in _floats(what) if f.needs_grad})
    )
    return Ran(tape, value, gradients, found, launched - begin, float(np.nansum(profile.backward_seconds)))


def plain(kernel: Kernel, args: Sequence[Any], what: Touched) -> tuple[float, NonfiniteCounts]:
    """Launches `kernel` without derivatives; gives how long that took, too."""
    before = _not_finite(what)
    with state.kept(what):
        begin = time.perf_counter()
        kernel(*args)
        seconds = time.perf_counter() - begin
        heard()
        return seconds, NonfiniteCounts(before, _not_finite(what), {})


def _floats(what: Touched) -> list[Field]:
    return [w for w in what if isinstance(w, Field) and w.dtype.is_float]


def _not_finite(what: Touched) -> dict[str, int]:
    counts = {f.name: _bad(f) for f in _floats(what)}
    return {name: n for name, n in counts.items() if n}


def _of_derivatives(fields: Mapping[str, Field]) -> dict[str, tuple[int, int]]:
    return {name: (_bad(f), f.require_memory().size) for name, f in fields.items() if _bad(f)}


def _bad(f: Field) -> int:
    return int(np.count_nonzero(~np.isfinite(f.require_memory())))


def tangents(
    kernel: Kernel, args: Sequence[Any], params: Mapping[str, Field], what: Touched, written: Sequence[Field]
) -> tuple[dict[str, np.ndarray], NonfiniteCounts]:
    """The tangents of the fields `written`, along 1 in every number of `params`; they stay in ``.dual``."""
    before = _not_finite(what)
    seeds = [np.ones(f.full_shape) if f.full_shape else 1.0 for f in params.values()]
    mode = ForwardMode(loss=list(written) or None, param=list(params.values()), seed=seeds)
    with state.kept(what), mode:
        kernel(*args)
        after = _not_finite(what)
    duals = {f.name: f.dual for f in written}
    found = {name: np.array(dual.require_memory()) for name, dual in duals.items()}
    return found, NonfiniteCounts(before, after, _of_derivatives(duals))
