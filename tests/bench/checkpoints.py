"""Counts what checkpoints cost in long loops: ``python -m tests.bench.checkpoints``.

Ten thousand steps go backwards with 10, 30 and 100 slots. The runs of steps and the memory are counted in
such loops, beside the best schedule of states alone (revolve's binomial formula), and beside another
package's actions for states and residuals (`MixedCheckpointSchedule` of checkpoint-schedules). Times are
ratios to a tape that saves all, by turns. It draws ``docs/pictures/checkpoints.png``.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from checkpoint_schedules import Forward, MixedCheckpointSchedule, Move

import dsim as ds
from dsim.runtime.launching.forms import Form
from dsim.runtime.schedules.offline import OfflineSchedule, revolve_runs, schedule
from dsim.runtime.schedules.online import BASE, place

STEPS = 10_000
SLOTS = (10, 30, 100)
DRAWN = (4, 6, 8, 10, 14, 20, 30, 45, 70, 100)
PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "checkpoints.png"
ROUNDS = 3


# -- what is counted in a loop


class Program(NamedTuple):
    """A step that changes the state in place, and the loss after the loop.

    Attributes
    ----------
    state : int
        How many bytes a step overwrites.
    """

    step: Callable[[], None]
    end: Callable[[], None]
    loss: Any
    fields: Sequence[Any]
    state: int

    def gradient(self, loop: Callable[[ds.Tape], Any]) -> bytes:
        """The gradient, from a tape of the steps in a loop."""
        for field in self.fields:
            field.from_numpy(np.linspace(0.1, 3.0, *field.shape))
        self.loss.fill(0)
        with ds.Tape(self.loss) as tape:
            for _ in loop(tape):
                self.step()
            self.end()
        return self.fields[0].grad.to_numpy().tobytes()


def program(n: int, *, half: bool = False) -> Program:
    """A program whose residuals of a step are as large as a state; with `half`, half as large."""
    x, v = (ds.field(ds.f64, shape=n, needs_grad=True) for _ in "xv")
    loss = ds.field(ds.f64, shape=(), needs_grad=True)

    @ds.kernel
    def turn():
        for i in x:
            x[i] += 1e-3 * ds.sin(x[i])

    @ds.kernel
    def swing():
        for i in x:
            v[i] -= 1e-3 * ds.sin(x[i])
            x[i] += 1e-3 * v[i]

    @ds.kernel
    def end():
        for i in x:
            loss[None] += x[i] ** 2 / n

    return Program(swing, end, loss, (x, v), 16 * n) if half else Program(turn, end, loss, (x,), 8 * n)


def in_slots(steps: int, slots: int, *, known: bool = True) -> Callable[[ds.Tape], Any]:
    """A loop with checkpoints, whose length the tape is told or not."""
    return lambda tape: tape.steps(range(steps) if known else iter(range(steps)), slots=slots)


@contextmanager
def launches() -> Iterator[list[int]]:
    """Counts the launches of kernels that use no gradients."""
    count, run = [0], Form.run

    def counted(form: Form, args: tuple[Any, ...]) -> tuple[Any, ...]:
        count[0] += not (form.from_python or any(m.derivative for m in form.kernel.memories))
        return run(form, args)

    Form.run = counted  # type: ignore[method-assign]
    try:
        yield count
    finally:
        Form.run = run  # type: ignore[method-assign]


def runs(p: Program, loop: Callable[[ds.Tape], Any]) -> int:
    """How many steps run in all, forwards and again."""
    with launches() as count:
        p.gradient(loop)
    return count[0] - 1  # the loss


def memory(p: Program, loop: Callable[[ds.Tape], Any]) -> float:
    """The most that Python and NumPy allocate in the loop and on its way back, in states."""
    p.gradient(loop)  # compiles, and tabulates the schedule
    tracemalloc.start()
    try:
        p.gradient(loop)
        return tracemalloc.get_traced_memory()[1] / p.state
    finally:
        tracemalloc.stop()


def times(p: Program, loops: Sequence[Callable[[ds.Tape], Any]]) -> list[float]:
    """The least time of each, by turns, to that of a tape that saves all."""
    least = [float("inf")] * (len(loops) + 1)
    for _ in range(ROUNDS):
        for at, loop in enumerate((lambda _: range(STEPS), *loops)):
            began = time.perf_counter()
            p.gradient(loop)
            least[at] = min(least[at], time.perf_counter() - began)
    return [taken / least[0] for taken in least[1:]]


def tabulating(slots: int) -> float:
    """The seconds until the first loop of a process with so many slots has its schedule."""
    began = time.perf_counter()
    OfflineSchedule(STEPS, slots, 1, 1)
    return time.perf_counter() - began


# -- what schedules say


def mixed(steps: int, slots: int) -> tuple[int, int]:
    """How many steps run by the actions of `MixedCheckpointSchedule`, and how many units it keeps at most."""
    ran = kept = most = 0
    for action in MixedCheckpointSchedule(steps, slots):
        if isinstance(action, Forward):
            ran += len(action)
            kept += action.write_ics or (action.write_adj_deps and action.storage.name != "WORK")
            most = max(most, kept)
        elif isinstance(action, Move):
            kept -= 1
    return ran, most


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


# -- the report


def draw(counted: Sequence[float]) -> None:
    """The picture in the docs: the lines of schedules, and the points of what was counted."""
    plans = {slots: schedule(STEPS, slots) for slots in DRAWN}
    lines = {
        "states alone (revolve)": [revolve_runs(STEPS, s) / STEPS for s in DRAWN],
        "unknown length": [runs_online(STEPS, s, plans[s]) / STEPS for s in DRAWN],
        "states and residuals": [plans[s].runs(STEPS, s) / STEPS for s in DRAWN],
    }
    mpl.use("Agg")
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for (label, values), mark in zip(lines.items(), "s^o", strict=True):
        axes.plot(DRAWN, values, mark + "-", markersize=4, linewidth=1.2, label=label)
    axes.plot(SLOTS, counted, "kx", markersize=8, label="counted in a loop")
    axes.set(xscale="log", xlabel="slots", ylabel="runs of a step", xticks=DRAWN, ylim=(0, None))
    axes.set_xticks(DRAWN, [str(s) for s in DRAWN])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(PICTURE, dpi=150)


def row(label: str, values: Sequence[float], digits: int = 2) -> None:
    """Prints a line of the table."""
    print(f"{label:58}" + "".join(f"{value:9,.{digits}f}" for value in values), flush=True)


def main() -> None:
    """Prints the table, and draws the picture."""
    ds.init(default_fp=ds.f64, deterministic=True)
    p, half, large = program(8192), program(8192, half=True), program(65536)
    known = [in_slots(STEPS, s) for s in SLOTS]
    row(f"{STEPS:,} steps, slots", SLOTS, 0)
    row("revolve, states alone: runs of a step", [revolve_runs(STEPS, s) / STEPS for s in SLOTS])
    counted = [runs(p, loop) / STEPS for loop in known]
    row("dsim, residuals as large as a state: counted", counted)
    unknown = [runs(p, in_slots(STEPS, s, known=False)) / STEPS for s in SLOTS]
    row("dsim, length unknown: counted", unknown)
    row("dsim, residuals half a state: counted", [runs(half, loop) / STEPS for loop in known])
    row("dsim: most memory, in states", [memory(large, loop) for loop in known], 1)
    plain = p.gradient(lambda _: range(STEPS))
    assert all(p.gradient(loop) == plain for loop in known), "the gradients differ"
    row("dsim: time, to the tape that saves all", times(p, known), 1)
    row("dsim: seconds that the schedule's table takes, once", [tabulating(s) for s in SLOTS])
    draw(counted)
    other = [mixed(STEPS, s) for s in SLOTS]
    row("MixedCheckpointSchedule: runs of a step", [ran / STEPS for ran, _ in other])
    assert [round(n * STEPS) for n in counted] == [ran for ran, _ in other], (
        "dsim runs other numbers of steps"
    )
    row("MixedCheckpointSchedule: most units, beside the last step's", [most for _, most in other], 0)


if __name__ == "__main__":
    main()
