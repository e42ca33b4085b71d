"""Draws `checkpoints.png`: the steps that run for each step of a loop, over the number of slots.

Run it from the repository's root: ``python docs/pictures/checkpoints.py``.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

from dsim.runtime.schedules.offline import OfflineSchedule, revolve_runs, schedule
from dsim.runtime.schedules.online import BASE, place

STEPS = 10_000
SLOTS = (4, 6, 8, 10, 14, 20, 30, 45, 70, 100)


def runs_online(steps: int, slots: int, plan: OfflineSchedule) -> int:
    """How many steps run when the number of steps is not known in the first run."""
    kept = [(0, BASE)]
    for at in range(1, steps):
        goes, level = place([one for _, one in kept]) if len(kept) >= slots else (None, 0)
        if goes is not None:
            del kept[goes]
        kept.append((at, level))
    marks = [*(at for at, _ in kept), steps]
    return steps + sum(plan.runs(b - a, slots - n) for n, (a, b) in enumerate(pairwise(marks)))


def main() -> None:
    """Draws the picture."""
    plans = {slots: schedule(STEPS, slots) for slots in SLOTS}
    lines = {
        "states alone (revolve)": [revolve_runs(STEPS, s) / STEPS for s in SLOTS],
        "unknown length": [runs_online(STEPS, s, plans[s]) / STEPS for s in SLOTS],
        "states and residuals": [plans[s].runs(STEPS, s) / STEPS for s in SLOTS],
    }
    mpl.use("Agg")
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for (label, runs), mark in zip(lines.items(), "s^o", strict=True):
        axes.plot(SLOTS, runs, mark + "-", markersize=4, linewidth=1.2, label=label)
    axes.set(xscale="log", xlabel="slots", ylabel="runs of a step", xticks=SLOTS, ylim=(0, None))
    axes.set_xticks(SLOTS, [str(s) for s in SLOTS])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=150)


if __name__ == "__main__":
    main()
