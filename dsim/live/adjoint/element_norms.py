"""The norm of the adjoint of each element at each step, for pages that have no kernel to ask."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from dsim.live.files.delta_coding import planes, zigzag
from dsim.runtime.inspection.adjoint_trajectory import AdjointTrajectory

_MISSING = 65535  # not finite; 0 is a norm of 0
_LEVELS = _MISSING - 2


def element_norms(trajectory: AdjointTrajectory) -> dict[str, Any]:
    """The norms as JSON.

    Codes of 16 bits, on a logarithmic scale from `low` to `high`, are differences from the step before, with
    all low bytes before all high ones, deflated. The scale's step is 0.1 % where norms span 60 powers of ten.

    Parameters
    ----------
    trajectory : AdjointTrajectory
        What has them.
    """
    adjoints = trajectory.adjoints
    steps, count = len(adjoints), int(np.prod(trajectory.shape, dtype=np.int64))
    with np.errstate(all="ignore"):
        rows = (step.reshape(count, -1).astype(np.float64) for step in adjoints)
        logs = np.array([_log_norms(row) for row in rows]).reshape(steps, count)
    known = logs[np.isfinite(logs)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    with np.errstate(all="ignore"):
        codes = 1 + np.rint((logs - low) / ((high - low) or 1.0) * _LEVELS)
    codes[logs == -np.inf] = 0
    codes[np.isnan(logs)] = _MISSING
    levels = codes.astype("<u2")
    changes = np.concatenate([levels[:1], zigzag(levels[1:] - levels[:-1])])
    data = zlib.compress(planes(changes))
    return {
        "shape": list(trajectory.shape), "count": count, "steps": steps, "low": low, "high": high,
        "data": base64.b64encode(data).decode(),
    }  # fmt: skip


def _log_norms(row: np.ndarray) -> np.ndarray:
    """Logarithms to the base 2: -inf for 0, NaN for what is not finite; no square overflows."""
    most = np.abs(row).max(axis=1, initial=0.0)
    scaled = row / np.where(most > 0, most, 1.0)[:, None]
    found = np.log2(most) + np.where(most > 0, np.log2(np.sqrt((scaled**2).sum(1))), 0.0)
    found[~np.isfinite(row).all(1)] = np.nan
    return found
