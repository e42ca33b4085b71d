"""A trajectory as one picture, for pages that have no kernel: some steps, and the norm at each."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dsim.live.files.drawn import head, kept, paint
from dsim.live.recording import FrameRecording
from dsim.runtime.inspection.adjoint_trajectory import AdjointTrajectory

_DOTS = 100  # an inch
_MOMENTS = 3


def still(trajectory: AdjointTrajectory, scene: dict[str, Any], frames: FrameRecording) -> bytes:
    """A PNG: the states with their adjoints at the first step, in the middle and at the end, and the norms.

    Parameters
    ----------
    trajectory : AdjointTrajectory
        What is drawn.
    scene : dict
        The scene, as the page gets it.
    frames : FrameRecording
        The frames of all steps.
    """
    known = np.flatnonzero(trajectory.norms != 0)
    last = int(known[-1]) if len(known) else len(frames) - 1  # behind it all adjoints are 0
    moments = sorted({0, last // 2, last})[:_MOMENTS]
    made = Figure(figsize=(10.0, 6.0), dpi=_DOTS, layout="constrained")
    parts: Any = made.subfigures(2, 1, height_ratios=[3, 2])
    above, below = parts
    flat = None if scene["dimensions"] == 2 else "3d"
    for number, moment in enumerate(moments):
        axes: Any = above.add_subplot(1, len(moments), number + 1, projection=flat)
        frame = frames.at(moment)
        assert frame is not None
        paint(axes, above, scene, frame, colorbars=False)  # those of an adjoint are of each step
        axes.set_title(_caption(trajectory, moment), fontsize=10)
        axes.tick_params(labelbottom=False, labelleft=False)
    trajectory.plot(below.add_subplot())
    head(made, scene["title"], fontsize=11)
    return kept(made)


def _caption(trajectory: AdjointTrajectory, moment: int) -> str:
    norm = trajectory.norms[moment]
    known = f"norm {norm:.3g}" if np.isfinite(norm) else "not finite"
    return f"{trajectory.unit} {trajectory.steps[moment]:,}: {known}"
