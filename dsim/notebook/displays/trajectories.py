"""Trajectories of adjoints in a notebook: `ds.adjoint_view` of each, or the norms where that is refused."""

from __future__ import annotations

import base64
import io
from typing import Any

from dsim.diagnostics import DsimError
from dsim.runtime.inspection.adjoint_trajectory import AdjointTrajectory


def trajectory_bundle(trajectory: AdjointTrajectory) -> Any:
    """The forms of a trajectory."""
    from dsim.live.adjoint.view import adjoint_view  # noqa: PLC0415 (takes long)

    try:
        view = adjoint_view(trajectory)
    except DsimError:
        return _norms(trajectory)
    return view._repr_mimebundle_()


def _norms(trajectory: AdjointTrajectory) -> dict[str, str]:
    from matplotlib.figure import Figure  # noqa: PLC0415 (takes long)

    plain = {"text/plain": repr(trajectory)}
    if trajectory.problem:
        return plain
    figure, file = Figure(figsize=(8, 3), layout="constrained"), io.BytesIO()
    trajectory.plot(figure.add_subplot())
    figure.savefig(file, format="png")
    return {**plain, "image/png": base64.b64encode(file.getvalue()).decode()}
