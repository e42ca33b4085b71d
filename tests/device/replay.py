"""Replays a bundle on a device, and compares: `python -m tests.device.replay BUNDLE`.

It needs NVIDIA's driver and NumPy, and nothing else: neither dsim nor CUDA. Every run is launched on several
grids. Runs that are worth timing are timed on the largest one, also launch by launch.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from tests.device.bundle import Buffer, Bundle, Launch, Run
from tests.device.driver import Driver, DriverError

POOL_BYTES, LARGE_POOL_BYTES = 16 << 20, 512 << 20
PRINT_WORDS = 1 << 12
_SHARED_BYTES = 48 << 10
_NAN = 0xFF  # each byte of what a launch may not read before it wrote it


class Grid(NamedTuple):
    """The size of a grid."""

    blocks: int
    threads: int


GRIDS = (Grid(1, 32), Grid(3, 96), Grid(132, 256))
LARGE_GRIDS = (Grid(132, 256), Grid(1056, 256))
TIMED = (Grid(132, 256), Grid(528, 256), Grid(1056, 256), Grid(4224, 256), Grid(1056, 128), Grid(4224, 64))
_TOGETHER = 100  # runs of one process


class Device(Protocol):
    """What replays launches: see `Driver`."""

    def allocate(self, size: int) -> int: ...
    def free(self, address: int) -> None: ...
    def fill(self, address: int, byte: int, size: int) -> None: ...
    def upload(self, address: int, array: np.ndarray) -> None: ...
    def download(self, array: np.ndarray, address: int) -> None: ...
    def load(self, ptx: str, entries: list[str]) -> list[int]: ...
    def launch(self, function: int, blocks: int, threads: int, shared: int, frame: int) -> None: ...
    def wait(self) -> None: ...


@dataclass
class Outcome:
    """What a replay of a run showed.

    Attributes
    ----------
    wrong : list of str
        What differs from the record.
    off : dict
        By a dtype's name, the largest deviation, in units of the largest value of its buffer.
    """

    wrong: list[str] = field(default_factory=list)
    off: dict[str, float] = field(default_factory=dict)


class Player:
    """Replays the runs of a bundle on a device."""

    def __init__(self, device: Device, bundle: Bundle) -> None:
        self.device, self.bundle = device, bundle
        self._functions: dict[int, list[int]] = {}

    def play(self, run: Run, grid: Grid) -> Outcome:
        """Launches a run, and compares."""
        outcome = Outcome()
        with self._buffers(run) as addresses, self._scratch(run, grid) as scratch:
            for n, launch in enumerate(run.launches):
                self._host_writes(run, launch, addresses)
                words = self._frame(launch, addresses, scratch)
                with self._uploaded([words]) as (frame,):
                    self.launch(launch, grid, frame)
                    self.device.download(words, frame)
                self._judge(outcome, n, launch, words, scratch["prints"][0])
            for n, (buffer, address) in enumerate(zip(run.buffers, addresses, strict=True)):
                if buffer.after is not None:
                    found = np.empty(buffer.shape, buffer.dtype)
                    self.device.download(found, address)
                    found = found.ravel()[:: buffer.every]
                    self._compare(outcome, f"buffer {n}", found, buffer.after, run.tolerance)
        return outcome

    def times(self, run: Run, driver: Driver, grid: Grid, turns: int = 5) -> tuple[float, dict[str, float]]:
        """The least time of all launches, and by a kernel's name that of its own, in seconds."""
        whole, parts = [], defaultdict[str, list[float]](list)
        with self._buffers(run) as addresses, self._scratch(run, grid) as scratch:
            frames = [self._frame(launch, addresses, scratch) for launch in run.launches]
            for _ in range(turns):
                self._restore(run, addresses)
                with self._uploaded(frames) as at:
                    whole.append(driver.seconds(lambda at=at: self._all(run, grid, addresses, at)))
                self._restore(run, addresses)
                sums = defaultdict[str, float](float)
                with self._uploaded(frames) as at:
                    for x, f in zip(run.launches, at, strict=True):
                        self._host_writes(run, x, addresses)
                        own = driver.seconds(lambda x=x, f=f: self.launch(x, grid, f))
                        sums[self.bundle.modules[x.module].name] += own
                for name, seconds in sums.items():
                    parts[name].append(seconds)
        return min(whole), {name: min(found) for name, found in parts.items()}

    # memory ---------------------------------------------------------------------------------------

    @contextmanager
    def _buffers(self, run: Run) -> Iterator[list[int]]:
        addresses = [
            self.device.allocate(int(np.prod(b.shape)) * np.dtype(b.dtype).itemsize) for b in run.buffers
        ]
        try:
            self._restore(run, addresses)
            yield addresses
        finally:
            for address in addresses:
                self.device.free(address)

    def _restore(self, run: Run, addresses: list[int]) -> None:
        for buffer, address in zip(run.buffers, addresses, strict=True):
            self._put(buffer, address, buffer.before)

    def _host_writes(self, run: Run, launch: Launch, addresses: list[int]) -> None:
        for number, name in launch.uploads:
            self._put(run.buffers[number], addresses[number], name)

    def _put(self, buffer: Buffer, address: int, name: str | None) -> None:
        if name is None:
            size = int(np.prod(buffer.shape)) * np.dtype(buffer.dtype).itemsize
            self.device.fill(address, 0, size)
        else:
            self.device.upload(address, np.ascontiguousarray(self.bundle.array(name)))

    def _all(self, run: Run, grid: Grid, addresses: list[int], frames: list[int]) -> None:
        for launch, frame in zip(run.launches, frames, strict=True):
            self._host_writes(run, launch, addresses)
            self.launch(launch, grid, frame)

    @contextmanager
    def _scratch(self, run: Run, grid: Grid) -> Iterator[dict[str, tuple[int, int]]]:
        """The pool, the blocks' sums and the print buffer: an address and a size each."""
        modules = [self.bundle.modules[x.module] for x in run.launches]
        entries = [e for m in modules for e in m.entries]
        pool = LARGE_POOL_BYTES if grid.blocks * grid.threads > 1 << 12 else POOL_BYTES
        sizes = {
            "pool": pool * any(e.pool for e in entries),
            "sums": 8 * grid.blocks * max((e.sums for e in entries), default=0),
            "prints": 8 * PRINT_WORDS * any(m.prints for m in modules),
        }
        made = {name: (self.device.allocate(size), size) for name, size in sizes.items()}
        try:
            for address, size in made.values():
                if size:
                    self.device.fill(address, _NAN, size)
            yield made
        finally:
            for address, _ in made.values():
                self.device.free(address)

    def _frame(
        self, launch: Launch, buffers: list[int], scratch: dict[str, tuple[int, int]]
    ) -> np.ndarray:
        """The words of a launch's frame before it."""
        module, slots = self.bundle.modules[launch.module], self.bundle.slots
        words = np.zeros(module.words, np.uint64)
        for slot, number in zip(module.memories, launch.buffers, strict=True):
            words[slot] = buffers[number]
        for name, (address, size) in scratch.items():
            words[slots[name]] = address
            if name != "sums":
                words[slots[f"{name} size"]] = size if name == "pool" else size // 8
        params = np.frombuffer(bytes.fromhex(launch.params), np.uint8)
        words.view(np.uint8)[8 * module.params : 8 * module.params + len(params)] = params
        return words

    @contextmanager
    def _uploaded(self, frames: list[np.ndarray]) -> Iterator[list[int]]:
        addresses = [self.device.allocate(words.nbytes) for words in frames]
        try:
            for address, words in zip(addresses, frames, strict=True):
                self.device.upload(address, words)
            yield addresses
        finally:
            for address in addresses:
                self.device.free(address)

    # launches -------------------------------------------------------------------------------------

    def load(self, number: int) -> list[int]:
        """The entries of a module, as machine code."""
        if number not in self._functions:
            module = self.bundle.modules[number]
            text = self.bundle.text(module.ptx)
            self._functions[number] = self.device.load(text, [e.name for e in module.entries])
        return self._functions[number]

    def launch(self, launch: Launch, grid: Grid, frame: int) -> None:
        """Runs the entries of a module, one after the other."""
        for entry, function in zip(
            self.bundle.modules[launch.module].entries, self.load(launch.module), strict=True
        ):
            threads = min(grid.threads, entry.threads)
            blocks = grid.blocks if entry.kind == "parallel" else 1
            shared = entry.shared_bytes * threads + entry.block_bytes
            self.device.launch(function, blocks, threads, shared, frame)

    # comparing ------------------------------------------------------------------------------------

    def _judge(
        self, outcome: Outcome, n: int, launch: Launch, words: np.ndarray, prints: int
    ) -> None:
        """Compares what a launch reports, returns and prints."""
        slots, module = self.bundle.slots, self.bundle.modules[launch.module]
        found: list[Any] = [int(words[slots["status"]])]
        wanted: list[Any] = [0]
        if launch.fault is not None:
            values = launch.fault[2]
            first = slots["values"]
            found += [int(words[slots["fault"]]), [int(w) for w in words[first : first + len(values)]]]
            wanted = [1, *launch.fault[1:]]
        if found != wanted:
            outcome.wrong.append(f"launch {n}: {found} for {wanted}")
        if launch.results is not None:
            for i, (slot, right) in enumerate(
                zip(module.results, self.bundle.array(launch.results), strict=True)
            ):
                if slot is not None:
                    got = words[slot[0] : slot[0] + 1].view(slot[1])[:1]
                    self._near(outcome, f"result {i}", got, np.array([right]).astype(slot[1]), CLOSE_RESULTS)
        if launch.prints is not None:
            buffer = np.empty(PRINT_WORDS, np.uint64)
            self.device.download(buffer, prints)
            rows = sorted(_rows(buffer, int(words[slots["prints used"]])))
            if rows != launch.prints:
                outcome.wrong.append(f"launch {n}: printed {rows[:5]}… for {launch.prints[:5]}…")

    def _compare(
        self, outcome: Outcome, what: str, found: np.ndarray, name: str, tolerance: dict[str, float]
    ) -> None:
        self._near(outcome, what, found, self.bundle.array(name).ravel(), tolerance)

    def _near(
        self,
        outcome: Outcome,
        what: str,
        found: np.ndarray,
        wanted: np.ndarray,
        tolerance: dict[str, float],
    ) -> None:
        kind = found.dtype.name
        if kind not in tolerance:
            if not np.array_equal(found, wanted):
                at = int(np.flatnonzero(found != wanted)[0])
                outcome.wrong.append(f"{what}: {found[at]} for {wanted[at]} at {at}")
            return
        finite = np.isfinite(wanted)
        if not np.array_equal(found[~finite], wanted[~finite], equal_nan=True):
            outcome.wrong.append(f"{what}: other infinities or NaN")
            return
        size = max(1.0, float(np.abs(wanted[finite]).max(initial=0.0)))
        apart = np.abs(found.astype(float) - wanted.astype(float), where=finite, out=np.zeros(found.shape))
        off = float(apart.max(initial=0.0)) / size
        outcome.off[kind] = max(outcome.off.get(kind, 0.0), off)
        if not off <= tolerance[kind]:
            at = int(np.nanargmax(apart))
            outcome.wrong.append(f"{what}: {found[at]} for {wanted[at]} at {at}, of {size:.3g} at most")


CLOSE_RESULTS = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-11}


def _rows(buffer: np.ndarray, used: int) -> Iterator[list[Any]]:
    """The rows of a print buffer: see `dsim.backends.llvm.grid.prints`."""
    at, end = 0, min(used, len(buffer))
    while at < end and int(buffer[at]):
        count, number = divmod(int(buffer[at]), 1 << 32)
        yield [number - 1, [int(w) for w in buffer[at + 1 : at + 1 + count]]]
        at += 1 + count


# the command -------------------------------------------------------------------------------------


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
    """How many runs do not hold."""
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
    return counts.total() - counts["hold"]


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
        uploads = sum(name is not None for x in run.launches for _, name in x.uploads)
        print(f"{run.label}: {len(run.launches)} launches, {uploads} uploads, {seconds * 1e3:.3f} ms{rate}{there}")
        print(f"    {loading * 1e3:10.3f} ms for machine code of {len(modules)} kernels")
        for name, own in sorted(parts.items(), key=lambda p: -p[1]):
            print(f"    {own * 1e3:10.3f} ms {name}", flush=True)


def main() -> int:
    """The number of runs that do not hold."""
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
