"""Replays a bundle on a device, and compares: `python -m tests.device.replay BUNDLE`.

It needs NVIDIA's driver and NumPy, and nothing else: neither dsim nor CUDA. Every run is launched on several
grids. With ``--time`` the runs that are worth it are timed, also kernel by kernel.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.device.bundle import Bundle
from tests.device.driver import Driver, DriverError
from tests.device.player import Grid, Player

GRIDS = (Grid(1, 32), Grid(3, 96), Grid(132, 256))
LARGE_GRIDS = (Grid(132, 256), Grid(1056, 256))
TIMED = (Grid(132, 256), Grid(528, 256), Grid(1056, 256), Grid(4224, 256), Grid(1056, 128), Grid(4224, 64))
_TOGETHER = 100  # runs of one process


class Tally(NamedTuple):
    """Counts of runs, and by a dtype's name the largest deviation."""

    counts: Counter[str]
    off: dict[str, float]


def _check(path: Path, numbers: list[int]) -> Tally:
    """Replays some runs in a process of its own, which ends when one of them spoils the device's state."""
    bundle, tally = Bundle(path), Tally(Counter(), {})
    player = Player(Driver(), bundle)
    for left, number in zip(range(len(numbers), 0, -1), numbers, strict=True):
        run = bundle.runs[number]
        for grid in LARGE_GRIDS if run.timed else GRIDS:
            where = f"{run.label} on {grid.blocks}x{grid.threads}"
            try:
                outcome = player.play(run, grid)
            except DriverError as error:
                print(f"{where}: {error}", flush=True)
                tally.counts.update({"runs refused": 1, "runs left out behind those": left - 1})
                return tally
            tally.counts["do not hold" if outcome.wrong else "hold"] += 1
            for wrong in outcome.wrong:
                print(f"{where}: {wrong}", flush=True)
            for kind, most in outcome.off.items():
                tally.off[kind] = max(tally.off.get(kind, 0.0), most)
    return tally


def _check_all(path: Path, jobs: int, only: str) -> int:
    """1 when a run does not hold, or there is none."""
    began = time.perf_counter()
    numbers = [n for n, run in enumerate(Bundle(path).runs) if only in run.label]
    chunks = [(path, numbers[i : i + _TOGETHER]) for i in range(0, len(numbers), _TOGETHER)]
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=1) as pool:
        tallies = pool.starmap(_check, chunks, chunksize=1)
    counts = sum((t.counts for t in tallies), Counter[str]())
    for kind in sorted({kind for t in tallies for kind in t.off}):
        print(f"{kind}: off by {max(t.off.get(kind, 0.0) for t in tallies):.2g} at most")
    print(*(f"{count} {what}" for what, count in sorted(counts.items())), sep=", ", end="; ")
    print(f"{len(numbers)} runs, {time.perf_counter() - began:.0f} s")
    return int(counts.total() != counts["hold"] or not numbers)


def _time_all(path: Path, only: str) -> None:
    bundle, driver = Bundle(path), Driver()
    player = Player(driver, bundle)
    print(f"{driver.name}, {driver.multiprocessors} multiprocessors")
    for run in [r for r in bundle.runs if r.timed and only in r.label]:
        began = time.perf_counter()
        modules = {x.module for x in run.launches}
        for number in modules:
            player.load(number)
        loading = time.perf_counter() - began
        found = {grid: player.times(run, driver, grid) for grid in TIMED}
        for grid, (seconds, _) in found.items():
            print(f"{grid.blocks:6} blocks of {grid.threads}: {seconds * 1e3:10.3f} ms")
        seconds, parts = min(found.values(), key=lambda f: f[0])
        rate = f", {run.moved / seconds / 1e9:.0f} GB/s" if run.moved else ""
        there = f", there {run.seconds * 1e3:.1f} ms" if run.seconds else ""
        print(f"{run.label}: {len(run.launches)} launches, {seconds * 1e3:.3f} ms{rate}{there}")
        print(f"    {loading * 1e3:10.3f} ms for machine code of {len(modules)} kernels")
        for name, own in sorted(parts.items(), key=lambda p: -p[1]):
            print(f"    {own * 1e3:10.3f} ms {name}", flush=True)


def main() -> int:
    """1 when a run does not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.device.replay", description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--jobs", type=int, default=8, help="processes at once")
    parser.add_argument("--only", default="", help="runs whose label contains this")
    parser.add_argument("--time", action="store_true", help="only time, and compare nothing")
    options = parser.parse_args()
    if options.time:
        _time_all(options.bundle, options.only)
        return 0
    return _check_all(options.bundle, options.jobs, options.only)


if __name__ == "__main__":
    raise SystemExit(main())
