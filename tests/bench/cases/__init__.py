"""The cases of `make bench`: programs with gradients whose speed matters."""

from __future__ import annotations

from collections.abc import Callable

from tests.bench.cases import fitting, grids, launching, mpm, particles, robots, structures
from tests.bench.cases.fields import Case

CASES: dict[str, Callable[..., Case]] = {
    c.__name__: c
    for c in (
        particles.gravity,
        particles.lennard_jones,
        particles.lennard_jones_cells,
        particles.sph,
        grids.wave,
        grids.wave_graph,
        grids.shallow_water,
        grids.fluid,
        grids.fluid_in_place,
        grids.implicit_heat,
        structures.springs,
        structures.springs_graph,
        structures.cloth,
        structures.sheet,
        robots.robot_graph,
        mpm.mpm,
        fitting.bundle_adjustment,
        fitting.hand_tracking,
        launching.launches,
        launching.batches,
    )
}
# Sizes at which a test compares their gradients with differences.
SMALL: dict[str, dict[str, int]] = {
    "gravity": {"bodies": 7},
    "lennard_jones": {"side": 2},
    "lennard_jones_cells": {"side": 4},
    "sph": {"side": 5, "steps": 2},
    "wave": {"n": 8, "steps": 6},
    "wave_graph": {"n": 8, "steps": 6},
    "shallow_water": {"n": 6, "steps": 3},
    "fluid": {"n": 8, "steps": 2, "sweeps": 3},
    "fluid_in_place": {"n": 8, "steps": 2, "sweeps": 3},
    "implicit_heat": {"n": 9, "steps": 2},
    "springs": {"side": 3, "steps": 5},
    "springs_graph": {"side": 3, "steps": 5},
    "cloth": {"side": 5, "steps": 3},
    "sheet": {"side": 3},
    "robot_graph": {"steps": 12},
    "mpm": {"particles": 12, "n": 16, "steps": 4},
    "bundle_adjustment": {"cameras": 3, "points": 5, "seen": 12},
    "hand_tracking": {"vertices": 9, "bones": 6},
    "launches": {"count": 5},
    "batches": {"count": 4, "size": 3},
}
