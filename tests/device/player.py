"""The runs of a bundle, launched again on a device and compared with what was recorded.

It imports nothing of dsim: see `replay.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np

from tests.device.bundle import Buffer, Bundle, Launch, Run
from tests.device.driver import Driver
from tests.device.outcome import Outcome

POOL_BYTES, LARGE_POOL_BYTES = 16 << 20, 4 << 30
PRINT_WORDS = 1 << 12
_MANY_THREADS = 1 << 12  # a grid of more has the large pool
_NAN = 0xFF  # each byte of what a launch may not read before it wrote it


class Grid(NamedTuple):
    """The size of a grid."""

    blocks: int
    threads: int


class Device(Protocol):
    """What replays launches: see `Driver`."""

    def allocate(self, size: int) -> int: ...
    def free(self, address: int) -> None: ...
    def fill(self, address: int, byte: int, size: int) -> None: ...
    def upload(self, address: int, array: np.ndarray) -> None: ...
    def download(self, array: np.ndarray, address: int) -> None: ...
    def load(self, ptx: str, entries: list[str]) -> list[int]: ...
    def launch(self, function: int, blocks: int, threads: int, shared: int, frame: int) -> None: ...


class Player:
    """Replays the runs of a bundle on a device."""

    def __init__(self, device: Device, bundle: Bundle) -> None:
        self.device, self.bundle = device, bundle
        self._functions: dict[int, list[int]] = {}

    def play(self, run: Run, grid: Grid) -> Outcome:
        """Launches a run, and compares."""
        outcome = Outcome(run.tolerance)
        with self._buffers(run) as addresses, self._scratch(run, grid) as scratch:
            for n, launch in enumerate(run.launches):
                self._host_writes(run, launch, addresses)
                words = self._frame(launch, addresses, scratch)
                with self._uploaded([words]) as (frame,):
                    self.launch(launch, grid, frame)
                    self.device.download(words, frame)
                self._reports(outcome, f"launch {n}", launch, words, scratch["prints"][0])
            for n, (buffer, address) in enumerate(zip(run.buffers, addresses, strict=True)):
                if buffer.after is not None:
                    found = np.empty(buffer.shape, buffer.dtype)
                    self.device.download(found, address)
                    wanted = self.bundle.array(buffer.after).ravel()
                    outcome.compare(f"buffer {n}", found.ravel()[:: buffer.every], wanted, buffer.unit)
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
        pool = LARGE_POOL_BYTES if grid.blocks * grid.threads > _MANY_THREADS else POOL_BYTES
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

    def _frame(self, launch: Launch, buffers: list[int], scratch: dict[str, tuple[int, int]]) -> np.ndarray:
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

    # what launches report -------------------------------------------------------------------------

    def _reports(self, outcome: Outcome, what: str, launch: Launch, words: np.ndarray, prints: int) -> None:
        """Compares the fault of a launch, what it returned, and what it printed."""
        slots, module = self.bundle.slots, self.bundle.modules[launch.module]
        found, wanted = [int(words[slots["status"]])], [0]
        if launch.fault is not None:
            number, values = launch.fault
            first = slots["values"]
            found += [int(words[slots["fault"]]), *map(int, words[first : first + len(values)])]
            wanted = [1, number, *values]
        outcome.same(f"{what}: status and fault", found, wanted)
        if launch.results is not None:
            returned = self.bundle.array(launch.results)
            for i, (slot, right) in enumerate(zip(module.results, returned, strict=True)):
                if slot is not None:
                    at, dtype = slot
                    got = words[at : at + 1].view(dtype)[:1]
                    outcome.compare(f"{what}, result {i}", got, np.array([right]).astype(dtype), launch.unit)
        if launch.prints is not None:
            buffer = np.empty(PRINT_WORDS, np.uint64)
            self.device.download(buffer, prints)
            printed = sorted(rows(buffer, int(words[slots["prints used"]])))
            outcome.same(f"{what}: prints", printed, launch.prints)


def rows(buffer: np.ndarray, used: int) -> Iterator[list[Any]]:
    """The rows of a print buffer, as `dsim.backends.llvm.grid.prints.rows` gives them."""
    at, end = 0, min(used, len(buffer))
    while at < end and int(buffer[at]):
        count, number = divmod(int(buffer[at]), 1 << 32)
        yield [number - 1, [int(w) for w in buffer[at + 1 : at + 1 + count]]]
        at += 1 + count
