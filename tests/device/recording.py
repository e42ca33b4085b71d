"""Launches of this processor, recorded with the same kernels in grid form, for a bundle.

While something is `recorded`, each kernel that the program compiles runs on this processor as always, and
is compiled to PTX, too. `Single` makes a run of each launch; `Sequence` one run of all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Sequence as Keys
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np
import pytest

from dsim.backends.cpu.launch import packed
from dsim.backends.cpu.machine import CpuMachine
from dsim.backends.cpu.variant import reported_types
from dsim.backends.cuda import ptx
from dsim.backends.faults import Fault
from dsim.backends.llvm import frame
from dsim.backends.llvm.grid import slots
from dsim.backends.llvm.grid.module import GridModule
from dsim.ir.nodes import KernelIR, MemoryKey, Print
from dsim.ir.walk import statements
from dsim.runtime.driver import pipeline
from dsim.runtime.state.settings import Settings
from tests.device.bundle import Buffer, Entry, Launch, Module, Run, Writer
from tests.ptx.kernels import described

SLOTS = {
    "status": frame.STATUS,
    "fault": frame.FAULT,
    "values": frame.VALUES,
    "pool": slots.POOL,
    "pool size": slots.POOL_SIZE,
    "sums": slots.SUMS,
    "prints": slots.PRINTS,
    "prints size": slots.PRINT_WORDS,
    "prints used": slots.PRINT_USED,
}
# How far values may be off: libdevice rounds otherwise than C's library, and sums run in another order.
CLOSE = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-11}
_KEPT = 1 << 16  # values of a large array that are compared at the end of a `Sequence`


class Call(NamedTuple):
    """A launch: its arrays in the order of the kernel's memories, and which of them it writes."""

    module: int
    params: str
    arrays: list[np.ndarray]
    written: list[bool]
    results: list[tuple[int, str] | None]
    numbers: Callable[[Fault], list[Any]]


class Observer(Protocol):
    """What is made of launches."""

    def see(self, call: Call, go: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Runs one, and gives what it returns."""
        ...


class _Recorded:
    """A kernel that runs on this processor while an observer looks."""

    def __init__(self, kernel: KernelIR, settings: Settings, writer: Writer, observer: Observer) -> None:
        machine = pipeline.BACKENDS["cpu"](kernel, settings)
        assert isinstance(machine, CpuMachine)
        self.machine = machine
        self._grid = pipeline.grid_form(kernel, settings)
        self._module = _described(self._grid, kernel, self.machine.kernel, writer)
        self._number = writer.module(self._module)
        self._observer = observer

    def bind(self, buffers: Mapping[MemoryKey, np.ndarray]) -> Callable[..., tuple[Any, ...]]:
        """See `Machine`."""
        return self.roam(buffers, ())

    def roam(
        self, buffers: Mapping[MemoryKey, np.ndarray], keys: Keys[MemoryKey]
    ) -> Callable[..., tuple[Any, ...]]:
        """See `Machine`."""
        launch = self.machine.roam(buffers, keys)

        def seen(*args: Any) -> tuple[Any, ...]:
            moving = dict(zip(keys, args, strict=False))
            bounds, numbers = self.machine.bounds, args[len(moving) :]
            if bounds is not None and bounds.conditions and not bounds.holds(numbers):
                LEFT_OUT["launches outside the conditions of their kernel's checks"] += 1
                return launch(*args)
            return self._observer.see(self._call({**buffers, **moving}, numbers), lambda: launch(*args))

        return seen

    def _call(self, buffers: Mapping[MemoryKey, np.ndarray], numbers: tuple[Any, ...]) -> Call:
        memories = self.machine.kernel.memories
        params = packed(self.machine.variant(checked=False), numbers).hex()
        written = [m.key in self.machine.written for m in memories]
        arrays = [buffers[m.key] for m in memories]
        return Call(self._number, params, arrays, written, self._module.results, self._fault)

    def _fault(self, fault: Fault) -> list[Any]:
        """A fault as the frame of a launch in grid form has it: its number, and the bits of its values."""
        faults = self._grid.messages.faults
        (number,) = [
            n
            for n, (kind, s) in enumerate(faults)
            if (kind, s.origin) == (fault.kind, fault.statement.origin) and type(s) is type(fault.statement)
        ]
        types = [t.numpy for t in reported_types(fault.kind, fault.statement)]
        return [number, [_bits(v, t) for v, t in zip(fault.values, types, strict=True)]]


LEFT_OUT: Counter[str] = Counter()


def _bits(value: Any, dtype: np.dtype) -> int:
    return int.from_bytes(np.array(value, dtype).tobytes(), "little")


@contextmanager
def recorded(writer: Writer, observer: Observer) -> Iterator[None]:
    """What is compiled meanwhile is recorded when it is launched."""

    def compiled(kernel: KernelIR, settings: Settings) -> pipeline.Machine:
        return _Recorded(kernel, settings, writer, observer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "machine", compiled)
        yield


def _described(grid: GridModule, kernel: KernelIR, ready: KernelIR, writer: Writer) -> Module:
    found = ptx.compile_ptx(grid, kernel.name)
    types = [
        None if slot is None else (slot, np.dtype(a.type.numpy).name)
        for slot, a in zip(grid.results, ready.body.yields, strict=True)
    ]
    return Module(
        name=described(kernel),
        ptx=writer.text(found.text),
        words=grid.layout.size,
        params=grid.layout.params,
        memories=[grid.layout.memories[m.key] for m in ready.memories],
        results=types,
        entries=[
            Entry(name, k.kind, ptx.most_threads(k), k.shared_bytes, k.block_bytes, k.sums, k.pool)
            for name, k in zip(found.entries, grid.kernels, strict=True)
        ],
        prints=any(isinstance(s, Print) for s in statements(kernel.body)),
    )


def _values(writer: Writer, array: np.ndarray) -> str | None:
    """The name of an array's values; None: zeros."""
    return writer.array(array) if array.any() else None


# what is made of launches ----------------------------------------------------------------------------------


class Single:
    """Makes a run of each launch, of the first `most` ones of each module."""

    def __init__(self, writer: Writer, label: str, most: int) -> None:
        self.writer, self.label, self.most = writer, label, most
        self._seen: Counter[int] = Counter()

    def see(self, call: Call, go: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """See `Observer`."""
        self._seen[call.module] += 1
        if self._seen[call.module] > self.most:
            return go()
        run = Run(f"{self.label}, launch {self._seen.total()}", CLOSE)
        launch = Launch(call.module, call.params, list(range(len(call.arrays))))
        for array in call.arrays:
            run.buffers.append(Buffer(array.dtype.name, list(array.shape), _values(self.writer, array)))
        run.launches.append(launch)
        self.writer.runs.append(run)
        before = [array.copy() for array in call.arrays]
        try:
            returned = go()
        except Fault as fault:
            launch.fault = call.numbers(fault)
            raise
        launch.results = self.writer.array(np.array(returned, np.float64)) if returned else None
        unit = largest([*before, *call.arrays])
        launch.unit = max(unit, largest([np.array(returned, np.float64)]))
        for buffer, array in zip(run.buffers, call.arrays, strict=True):
            buffer.after, buffer.unit = self.writer.array(array), unit
        return returned


class Sequence:
    """Makes one run of all launches, and of what the host writes in between.

    Parameters
    ----------
    least : float
        The least unit of a buffer: where values cancel, what is left is rounding of larger ones.
    """

    def __init__(self, writer: Writer, label: str, least: float = 0.0) -> None:
        self.writer, self.least = writer, least
        self.run = Run(label, {**CLOSE, "float32": 1e-3}, timed=True)
        self._arrays: list[np.ndarray] = []
        self._last: list[np.ndarray] = []

    def see(self, call: Call, go: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """See `Observer`."""
        launch = Launch(call.module, call.params, [self._number(a) for a in call.arrays])
        for number in launch.buffers:
            array = self._arrays[number]
            if self._last[number].tobytes() != array.tobytes():
                launch.uploads.append((number, _values(self.writer, array)))
                self._last[number] = array.copy()
        self.run.launches.append(launch)
        returned = go()
        for number, written in zip(launch.buffers, call.written, strict=True):
            if written:
                self._last[number] = self._arrays[number].copy()
        return returned

    def _number(self, array: np.ndarray) -> int:
        for number, known in enumerate(self._arrays):
            if np.may_share_memory(known, array):
                same = known.shape == array.shape and known.ctypes.data == array.ctypes.data
                assert same, "two buffers overlap"
                return number
        self.run.buffers.append(Buffer(array.dtype.name, list(array.shape), _values(self.writer, array)))
        self._arrays.append(array)
        self._last.append(array.copy())
        return len(self._arrays) - 1

    def finish(self) -> None:
        """Adds the run to the bundle."""
        # What the launches left: the host may have written since.
        for buffer, array in zip(self.run.buffers, self._last, strict=True):
            buffer.every = max(1, array.size // _KEPT)
            while math.gcd(buffer.every, array.size) > 1:  # else some places along an axis are never kept
                buffer.every += 1
            buffer.after = self.writer.array(array.ravel()[:: buffer.every])
            buffer.unit = max(self.least, largest([array]))
        self.writer.runs.append(self.run)


def largest(arrays: Iterable[np.ndarray]) -> float:
    """The largest finite magnitude among floats; 1 where there is none but 0."""
    sizes = [np.abs(a[np.isfinite(a)]).max(initial=0.0) for a in arrays if a.dtype.kind == "f"]
    return float(max(sizes, default=0.0)) or 1.0
