"""Launches: a frame filled with the arguments, one call of machine code, the results read back."""

from __future__ import annotations

import ctypes
import itertools
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dsim.backends import llvm_frame as frame
from dsim.backends.cpu_code import MachineCode
from dsim.backends.cpu_runtime import decode, runtime
from dsim.backends.faults import Fault
from dsim.backends.llvm import Emitted
from dsim.ir.nodes import Alloc, Assert, Const, Kernel, Memory, MemoryKey
from dsim.ir.types import ScalarType, i64

if TYPE_CHECKING:
    from dsim.backends.cpu import Compiled

_FORMATS = {"f16": "e", "f32": "f", "f64": "d", "u1": "?"}
_INTEGERS = {8: "b", 16: "h", 32: "i", 64: "q"}
_Entry = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


def _packing(types: list[ScalarType]) -> struct.Struct:
    """How values of these types lie in consecutive slots."""
    parts = []
    for t in types:
        letter = _FORMATS.get(t.name) or _INTEGERS[t.bits]
        letter = letter.upper() if t.kind == "uint" else letter
        parts.append(f"{letter}{8 - struct.calcsize(letter)}x")
    return struct.Struct("<" + "".join(parts))


class Variant:
    """One compiled form of a kernel, and how its frames are laid out."""

    def __init__(self, kernel: Kernel, emitted: Emitted, code: MachineCode) -> None:
        self.kernel = kernel
        self.emitted = emitted
        self.code = code
        self.call = _Entry(code.entry)
        self.params = _packing([p.type for p in kernel.params])
        self.results = _packing([a.type for a in kernel.body.yields])
        self.params_at = emitted.layout.params * 8
        self.results_at = emitted.layout.returns * 8
        prints = emitted.messages.prints
        self.owner = runtime().prints(prints) if prints else -1

    def fault(self, slots: Any) -> Fault:
        """The fault that a frame records."""
        kind, statement = self.emitted.messages.faults[slots[frame.FAULT]]
        reported = slots[frame.VALUES : frame.VALUES + frame.MAX_VALUES]
        types = _reported(statement)
        values = (decode(bits, t).item() for bits, t in zip(reported, types, strict=False))
        return Fault(kind, statement, tuple(values))


def _reported(s: Any) -> list[ScalarType]:
    """The types of the values that a fault at `s` carries."""
    if isinstance(s, Assert):
        return [p.type for p in s.parts if not isinstance(p, str)]
    return [i64] * len(s.shape if isinstance(s, Alloc) else s.index)


class Frame:
    """One frame; frees what its launches kept in it."""

    __slots__ = ("address", "slots")

    def __init__(self, variant: Variant, addresses: Mapping[MemoryKey, int]) -> None:
        layout = variant.emitted.layout
        self.slots = (ctypes.c_int64 * layout.size)()
        self.address = ctypes.addressof(self.slots)
        self.slots[frame.RUNTIME] = runtime().address
        self.slots[frame.OWNER] = variant.owner
        for key, address in addresses.items():
            self.slots[layout.memories[key]] = address

    def __del__(self) -> None:
        if self.slots[frame.SCRATCH]:
            _free(self.slots[frame.SCRATCH])


_free = ctypes.CDLL(None).free
_free.argtypes = [ctypes.c_void_p]
_free.restype = None


class Launcher:
    """A kernel bound to its buffers: calling it launches.

    Several threads may call it at once; each launch has a frame of its own. A launch that is
    interrupted loses its frame and nothing else.
    """

    def __init__(self, compiled: Compiled, buffers: Mapping[MemoryKey, np.ndarray]) -> None:
        self.compiled = compiled
        memories = compiled.kernel.memories
        self.buffers = [_fitting(m, buffers[m.key], compiled) for m in memories]
        self._addresses = {
            m.key: a.__array_interface__["data"][0] for m, a in zip(memories, self.buffers, strict=True)
        }
        _apart(compiled, self.buffers, list(self._addresses.values()))
        bounds = compiled.bounds
        self._holds = bounds.holds if bounds is not None and bounds.conditions else None
        self._checked: _Launches | None = None
        self._fast: _Launches | None = None

    def __call__(self, *args: object) -> tuple[Any, ...]:
        """Launches with these arguments; what the kernel returns, as Python numbers.

        Raises
        ------
        Fault
            What went wrong first; everything else in the launch was done.
        """
        if self._holds is None or self._holds(args):
            launches = self._fast
            if launches is None:
                launches = self._fast = self._launches(checked=False)
        else:
            launches = self._checked
            if launches is None:
                launches = self._checked = self._launches(checked=True)
        return launches(args)

    def _launches(self, *, checked: bool) -> _Launches:
        return _Launches(self.compiled.variant(checked=checked), self._addresses)


class _Launches:
    """Launches of one variant on one set of buffers."""

    def __init__(self, variant: Variant, addresses: Mapping[MemoryKey, int]) -> None:
        self.variant = variant
        self.addresses = addresses
        self._call = variant.call
        self._pack = variant.params.pack_into
        self._params = len(variant.kernel.params)
        self._params_at = variant.params_at
        self._yields = variant.kernel.body.yields
        self._idle: list[Frame] = []

    def __call__(self, args: tuple[object, ...]) -> tuple[Any, ...]:
        try:
            frame = self._idle.pop()
        except IndexError:
            frame = Frame(self.variant, self.addresses)
        if args or self._params:
            try:
                self._pack(frame.slots, self._params_at, *args)
            except (struct.error, OverflowError, TypeError) as e:
                self._pack(frame.slots, self._params_at, *_converted(self.variant.kernel, args, e))
        status = self._call(frame.address)
        if status or self.variant.owner >= 0:
            self._report(status, frame)
        results = self._read(frame) if self._yields else ()
        self._idle.append(frame)
        return results

    def _report(self, status: int, frame: Frame) -> None:
        """Raises what went wrong in a launch, or in its prints."""
        interrupted = runtime().interrupted
        if interrupted:
            raise interrupted.pop()
        if status:
            raise self.variant.fault(frame.slots)

    def _read(self, frame: Frame) -> tuple[Any, ...]:
        values = self.variant.results.unpack_from(frame.slots, self.variant.results_at)
        return tuple(
            a.value if isinstance(a, Const) else v for a, v in zip(self._yields, values, strict=True)
        )


def _converted(kernel: Kernel, args: tuple[object, ...], error: Exception) -> list[object]:
    """Arguments of the parameters' types, wrapped and rounded as a cast would."""
    if len(args) != len(kernel.params):
        raise TypeError(f"{kernel.name} takes {len(kernel.params)} arguments, got {len(args)}") from error
    return [_as(p.type, a) for p, a in zip(kernel.params, args, strict=True)]


def _as(t: ScalarType, value: Any) -> object:
    if t.is_integer and not isinstance(value, float | np.floating):
        wrapped = int(value) & (1 << t.bits) - 1
        return wrapped - (1 << t.bits) if t.kind == "int" and wrapped >> (t.bits - 1) else wrapped
    if t.is_integer:
        raise TypeError(f"an argument of type {t} cannot be {value!r}")
    with np.errstate(over="ignore"):
        return t.numpy.type(value).item()


def _fitting(m: Memory, array: np.ndarray, compiled: Compiled) -> np.ndarray:
    """The array, if it is what the code expects of this memory."""
    if array.dtype != m.type.numpy or array.shape != m.shape:
        wanted = f"{m.type.numpy} {m.shape}"
        raise ValueError(f"memory {m.name} is {wanted}, the buffer is {array.dtype} {array.shape}")
    strides = compiled.strides.get(m.key)
    if strides is None:
        if not array.flags.c_contiguous:
            raise ValueError(f"the buffer of memory {m.name} is not contiguous")
    elif any(
        s != d * array.itemsize for s, d, n in zip(array.strides, strides, array.shape, strict=True) if n > 1
    ):
        raise ValueError(f"the buffer of memory {m.name} has strides {array.strides}")
    if m.key in compiled.written and not array.flags.writeable:
        raise ValueError(f"the buffer of memory {m.name} is read-only")
    return array


def _apart(compiled: Compiled, arrays: list[np.ndarray], addresses: list[int]) -> None:
    """Raises ValueError when arrays overlap of which one is written."""
    memories = compiled.kernel.memories
    spans = sorted(
        (start, start + _extent(a), m.key in compiled.written, m.name)
        for start, a, m in zip(addresses, arrays, memories, strict=True)
        if a.size
    )
    for (_, end, written, name), (start, _, also, other) in itertools.pairwise(spans):
        if start < end and (written or also):
            raise ValueError(f"the buffers of memories {name} and {other} overlap")


def _extent(a: np.ndarray) -> int:
    return a.itemsize + sum((n - 1) * s for n, s in zip(a.shape, a.strides, strict=True))
