"""One compiled variant of a kernel: its entry, its frames, and its faults."""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dsim.backends.cpu.builtin_calls import builtin
from dsim.backends.cpu.code import MachineCode
from dsim.backends.cpu.runtime import decode, runtime
from dsim.backends.cpu.stop import listen
from dsim.backends.faults import Fault, FaultKind
from dsim.backends.llvm import frame
from dsim.backends.llvm.parallel.emit import Emitted
from dsim.backends.llvm.writer import Messages
from dsim.diagnostics import stopped
from dsim.ir.nodes import Alloc, Assert, Const, KernelIR, MemoryKey
from dsim.ir.types import ScalarType, i64, u64

_FORMATS = {"f16": "e", "f32": "f", "f64": "d", "u1": "?"}
_INTEGERS = {8: "b", 16: "h", 32: "i", 64: "q"}
_Entry = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


def _packing(types: list[ScalarType]) -> struct.Struct:
    """The `struct` format of values of these types in consecutive slots."""
    parts = []
    for t in types:
        letter = _FORMATS.get(t.name) or _INTEGERS[t.bits]
        letter = letter.upper() if t.kind == "uint" else letter
        parts.append(f"{letter}{8 - struct.calcsize(letter)}x")
    return struct.Struct("<" + "".join(parts))


Search = Callable[[int], tuple[Emitted, MachineCode]]  # searches for the fault in a top-level loop


class Variant:
    """One compiled form of a kernel, and how its frames are laid out."""

    def __init__(self, kernel: KernelIR, emitted: Emitted, code: MachineCode, search: Search) -> None:
        self.kernel = kernel
        self.search = search
        self.emitted = emitted
        self.code = code
        self.entry = self.call = builtin(code)
        self.params = _packing([p.type for p in kernel.params])
        self.results = _packing([a.type for a in kernel.body.yields])
        self.params_at = emitted.layout.params * 8
        self.results_at = emitted.layout.returns * 8
        if emitted.messages.prints:
            self.call = self._call_and_print
        if emitted.asks:
            listen()

    def _call_and_print(self, address: int) -> int:
        with runtime().printing(address, self.emitted.messages.prints) as printing:
            status = self.entry(address)
        error = printing.error
        if error is not None and not (status == frame.STOPPED and isinstance(error, KeyboardInterrupt)):
            raise error
        return status

    def frame(self, addresses: Mapping[MemoryKey, int], buffers: Sequence[np.ndarray]) -> LaunchFrame:
        """A new frame for buffers at these addresses, which it keeps alive."""
        slots = (ctypes.c_int64 * self.emitted.layout.size)()
        slots[frame.RUNTIME] = runtime().address
        slots[frame.OWNER] = ctypes.addressof(slots)
        at = self.emitted.layout.memories
        for key, address in addresses.items():
            slots[at[key]] = address
        return LaunchFrame(slots, buffers)

    def read(self, held: LaunchFrame) -> tuple[Any, ...]:
        """What the kernel returned."""
        values = self.results.unpack_from(held.slots, self.results_at)
        yields = self.kernel.body.yields
        return tuple(a.value if isinstance(a, Const) else v for a, v in zip(yields, values, strict=True))

    def report(self, status: int, held: LaunchFrame) -> None:
        """Raises the fault of a launch."""
        if status == frame.STOPPED:
            raise self.stopped()
        if status == frame.CLAMPED:
            raise self._found_again(held)
        raise _fault(self.emitted.messages, held)

    def interrupted(self, held: LaunchFrame, stop: KeyboardInterrupt) -> KeyboardInterrupt:
        """What to raise when `stop` came as soon as a launch was over: a stopped one says so."""
        return self.stopped() if held.slots[frame.STATUS] == frame.STOPPED else stop

    def stopped(self) -> KeyboardInterrupt:
        """The exception of a stopped launch."""
        return stopped(KeyboardInterrupt(f"`{self.kernel.name}` was stopped before its end"))

    def _found_again(self, held: LaunchFrame) -> Fault:
        """The first fault in a loop with deferred checks: the loop runs again, without effects."""
        emitted, code = self.search(held.slots[frame.FAULT])
        status = code.function(_Entry)(held.address)
        if status == frame.FAULTY:
            return _fault(emitted.messages, held)
        if status == frame.STOPPED:
            raise self.stopped()
        raise RuntimeError(f"{self.kernel.name}: an index was out of bounds, and then was not")


def _fault(messages: Messages, held: LaunchFrame) -> Fault:
    """The fault that a frame records."""
    kind, statement = messages.faults[held.slots[frame.FAULT]]
    reported = held.slots[frame.VALUES : frame.VALUES + frame.MAX_VALUES]
    types = reported_types(kind, statement)
    values = (decode(bits, t) for bits, t in zip(reported, types, strict=False))
    return Fault(kind, statement, tuple(values))


def reported_types(kind: FaultKind, s: Any) -> list[ScalarType]:
    """The types of the values that a fault at `s` carries."""
    if isinstance(s, Assert):
        return [p.type for p in s.parts if not isinstance(p, str)]
    if kind == "memory":
        return [i64] * (len(s.shape) if isinstance(s, Alloc) else 1)
    return [u64 if a.type == u64 else i64 for a in s.index]


_free = ctypes.CDLL(None).free
_free.argtypes = [ctypes.c_void_p]
_free.restype = None


class LaunchFrame:
    """One frame; keeps its buffers alive, and frees the memory that its launches kept in it."""

    __slots__ = ("__weakref__", "address", "buffers", "slots")

    def __init__(self, slots: ctypes.Array[ctypes.c_int64], buffers: Sequence[np.ndarray]) -> None:
        self.slots = slots
        self.buffers = buffers
        self.address = ctypes.addressof(slots)
        # Its end calls C alone, the newer reference's first: in a finalizer in Python Ctrl-C would be lost.
        ends = weakref.ref(self, _SCRATCH.pop)
        freed = _SCRATCH[ends] = _Freed(self, _free)
        freed._as_parameter_ = ctypes.c_void_p.from_buffer(slots, 8 * frame.SCRATCH)


class _Freed(weakref.ref[LaunchFrame]):
    """Is an argument of C's `free`: the address that stands in the frame by then."""

    _as_parameter_ = ctypes.c_void_p(None)  # until it is known where


_SCRATCH: dict[Any, _Freed] = {}  # by the references whose end takes them away
