"""Six of the cases, primal and adjoint, written by hand for Numba: what dsim's code is measured against.

Each gives a function that computes the loss and one that computes the loss and the gradient. Loops are
parallel where their iterations are independent; those that scatter add into a copy for each thread.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.bench.by_hand import mpm, particles, robots, structures, waves

ByHand = tuple[Callable[[], float], Callable[[], tuple[float, np.ndarray]]]

BY_HAND: dict[str, Callable[..., ByHand]] = {
    "gravity": particles.gravity,
    "wave": waves.wave,
    "wave_graph": waves.wave,
    "springs": structures.springs,
    "springs_graph": structures.springs,
    "sheet": structures.sheet,
    "robot_graph": robots.robot,
    "mpm": mpm.mpm,
}
