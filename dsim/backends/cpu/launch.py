"""Launches: a frame filled with the arguments, one call of machine code, the results read back."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dsim.analysis.bounds import Bounds
from dsim.backends.cpu.compiled import CompiledKernel
from dsim.backends.cpu.stop import LAUNCH
from dsim.backends.cpu.variant import LaunchFrame, Variant
from dsim.ir.nodes import KernelIR, Memory, MemoryKey
from dsim.ir.types import ScalarType

Launch = Callable[..., tuple[Any, ...]]


class Launcher:
    """A kernel bound to its buffers.

    Several threads may launch it at once; each launch has a frame of its own. A launch that is
    interrupted loses its frame and nothing else.

    Parameters
    ----------
    moving : tuple of MemoryKey
        Memories without a buffer here: their addresses come first among the arguments of each launch.

    Attributes
    ----------
    launch : callable
        Launches with the arguments that it is given, and returns what the kernel returns, as Python numbers.
        It raises the first `Fault`; everything else in the launch was executed. It keeps the buffers alive.
    addresses : dict of MemoryKey to int
        Where the buffers are.
    """

    def __init__(
        self,
        compiled: CompiledKernel,
        buffers: Mapping[MemoryKey, np.ndarray],
        moving: tuple[MemoryKey, ...] = (),
    ) -> None:
        self.compiled = compiled
        self._moving = moving
        memories = [m for m in compiled.kernel.memories if m.key not in moving]
        self.buffers = [_fitting(m, buffers[m.key], compiled) for m in memories]
        starts = [a.__array_interface__["data"][0] for a in self.buffers]
        _apart(compiled, memories, self.buffers, starts)
        self.addresses = {m.key: start for m, start in zip(memories, starts, strict=True)}
        self._careful: Launch | None = None
        self.launch = self._fast()

    def _fast(self) -> Launch:
        bounds = self.compiled.bounds
        return self._plain(checked=False, bounds=bounds if bounds and bounds.conditions else None)

    def _checked(self, *args: object) -> tuple[Any, ...]:
        """A launch whose arguments break the conditions of the fast variant."""
        if self._careful is None:
            self._careful = self._plain(checked=True)
        return self._careful(*args)

    def variant(self, args: tuple[object, ...]) -> Variant:
        """The variant for launches with these arguments; there are no `moving` memories."""
        bounds = self.compiled.bounds
        fast = bounds is None or not bounds.conditions or bounds.holds(args)
        return self.compiled.variant(checked=not fast)

    def frame(self, variant: Variant) -> LaunchFrame:
        """A frame for launches of a variant on these buffers."""
        return variant.frame(self.addresses, self.buffers)

    def _plain(self, checked: bool, bounds: Bounds | None = None) -> Launch:
        variant = self.compiled.variant(checked=checked)
        return _launch(variant, self.addresses, self.buffers, self._moving, bounds, self._checked)


def roaming(
    compiled: CompiledKernel, buffers: Mapping[MemoryKey, np.ndarray], moving: tuple[MemoryKey, ...]
) -> Launch:
    """The function that launches on these buffers, and for `moving` on its first arguments."""
    launch, count = Launcher(compiled, buffers, moving).launch, len(moving)

    def launch_on(*args: Any) -> tuple[Any, ...]:
        return launch(*[_address(a) for a in args[:count]], *args[count:])

    return launch_on


_NOTHING = np.zeros(8)  # an index that was clamped into an empty array loads from here
_start, _location = ctypes.c_char.from_buffer, ctypes.addressof


def _address(a: np.ndarray) -> int:
    try:
        return _location(_start(a))  # type: ignore[arg-type]  # several times as fast as asking NumPy
    except (TypeError, ValueError):  # read-only, or empty
        return a.ctypes.data if a.size else _NOTHING.ctypes.data


def _launch(
    variant: Variant,
    addresses: Mapping[MemoryKey, int],
    buffers: Sequence[np.ndarray],
    moving: tuple[MemoryKey, ...],
    bounds: Bounds | None,
    otherwise: Launch,
) -> Launch:
    """The function that launches one variant on one set of buffers.

    It calls `otherwise` when the arguments break the conditions of `bounds`.
    """
    at, kernel = variant.emitted.layout.memories, variant.kernel
    starts, args = _names("m", moving), _names("a", kernel.params)
    used = {start: at[key] for start, key in zip(starts, moving, strict=True) if key in at}  # others are dead
    unfit = f"not ({bounds.test(args)})" if bounds else ""
    make = _maker(*map(", ".join, (starts, used, args)), unfit, yields=bool(kernel.body.yields))
    idle: list[LaunchFrame] = []
    launch = make(
        variant, variant.call, partial(variant.frame, addresses, buffers), idle.pop, idle.append,
        list(used.values()),
        variant.params.pack_into, variant.params_at, partial(_converted, kernel), otherwise,
    )  # fmt: skip
    launch.__qualname__ = kernel.name  # Python's messages about the number of arguments begin with it
    return launch


def _names(letter: str, of: Sequence[object]) -> list[str]:
    return [f"{letter}{n}" for n in range(len(of))]


_REFUSED = (struct.error, OverflowError, TypeError)  # by `pack`: not the numbers that it takes

# Parameters of its own make a function a third faster than tuples of any length, and so does the test in it.
_MAKER = """
def make(variant, call, new, take, give, moving_at, pack, params_at, converted, otherwise):
    def launch({parameters}):
        {test}
        try:
            held = take()
        except IndexError:
            held = new()
        {move}
        try:
            {pack}
        except REFUSED:
            pack(held.slots, params_at, *converted(({args})))
        try:
            status = call(held.address)
        except KeyboardInterrupt as stop:  # as soon as machine code was back; `held` is not used again
            raise variant.interrupted(held, stop) from None
        if status:
            variant.report(status, held)
        results = {results}
        give(held)
        return results
    return launch
"""


@lru_cache(maxsize=512)
def _maker(starts: str, used: str, args: str, unfit: str, *, yields: bool) -> Callable[..., Launch]:
    """Makes launch functions that take addresses and arguments of these names. They share their code."""
    starts, used, args = (f"{names}," if names else "" for names in (starts, used, args))
    text = _MAKER.format(
        parameters=f"{starts} {args}",
        args=args,
        test=f"if {unfit}: return otherwise({starts} {args})" if unfit else "pass",
        move=f"for at, m in zip(moving_at, ({used})): held.slots[at] = m" if used else "pass",
        pack=f"pack(held.slots, params_at, {args})" if args else "pass",
        results="variant.read(held)" if yields else "()",
    )
    scope: dict[str, Any] = {"REFUSED": _REFUSED}
    exec(compile(text, LAUNCH, "exec"), scope)
    return scope["make"]


def packed(variant: Variant, args: tuple[object, ...]) -> bytes:
    """The arguments of a launch, as they lie in its frame."""
    try:
        return variant.params.pack(*args)
    except _REFUSED:
        return variant.params.pack(*_converted(variant.kernel, args))


def _converted(kernel: KernelIR, args: tuple[object, ...]) -> list[object]:
    """Arguments of the parameters' types, wrapped and rounded as a cast would."""
    return [_as(p.type, a) for p, a in zip(kernel.params, args, strict=True)]


def _as(t: ScalarType, value: Any) -> object:
    if t.is_integer and not isinstance(value, float | np.floating):
        wrapped = int(value) & (1 << t.bits) - 1
        return wrapped - (1 << t.bits) if t.kind == "int" and wrapped >> (t.bits - 1) else wrapped
    if t.is_integer:
        raise TypeError(f"an argument of type {t} cannot be {value!r}")
    with np.errstate(over="ignore"):
        return t.numpy.type(value).item()


def _fitting(m: Memory, array: np.ndarray, compiled: CompiledKernel) -> np.ndarray:
    """The array, if it has the type and layout that the code expects."""
    if array.dtype != compiled.dtypes[m.key] or array.shape != m.shape:
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


def _apart(
    compiled: CompiledKernel, memories: list[Memory], arrays: list[np.ndarray], addresses: list[int]
) -> None:
    """Raises ValueError when arrays overlap of which one is written."""
    if len(arrays) < 2 or not compiled.written:
        return
    spans = sorted(
        (start, start + _extent(a), m.key in compiled.written, m.name)
        for start, a, m in zip(addresses, arrays, memories, strict=True)
        if a.size
    )
    ends = {False: (0, ""), True: (0, "")}  # how far those before go, of which none is written or each
    for start, end, written, name in spans:
        for also, (behind, other) in ends.items():
            if start < behind and (written or also):
                raise ValueError(f"the buffers of memories {other} and {name} overlap")
        ends[written] = max(ends[written], (end, name))


def _extent(a: np.ndarray) -> int:
    return a.itemsize + sum((n - 1) * s for n, s in zip(a.shape, a.strides, strict=True))
