"""NVIDIA's driver by ctypes: memory of a device, modules of PTX, launches, and times between them.

It imports nothing of dsim, so that `replay.py` runs where that is not installed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

_Pointer = ctypes.c_uint64
_ERROR_LOG, _ERROR_LOG_BYTES = 5, 6  # options of the compiler from PTX to machine code
_LOG_BYTES = 8192
_CLOSE = 0  # flags of an event that has a time


class DriverError(Exception):
    """What the driver refused, and why."""


class Driver:
    """The first device of this machine, for this process."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")
        self._do("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._do("cuDeviceGet", ctypes.byref(device), 0)
        name = ctypes.create_string_buffer(128)
        self._do("cuDeviceGetName", name, 128, device)
        self.name = name.value.decode()
        self._do("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._do("cuCtxSetCurrent", context)
        self.multiprocessors = self._attribute(16, device)

    def _attribute(self, which: int, device: ctypes.c_int) -> int:
        value = ctypes.c_int()
        self._do("cuDeviceGetAttribute", ctypes.byref(value), which, device)
        return value.value

    def _do(self, function: str, *args: Any) -> None:
        number = getattr(self._library, function)(*args)
        if number:
            name = ctypes.c_char_p()
            self._library.cuGetErrorName(number, ctypes.byref(name))
            raise DriverError(f"{function}: {(name.value or b'?').decode()}")

    # memory ---------------------------------------------------------------------------------------

    def allocate(self, size: int) -> int:
        """The address of new memory on the device."""
        found = _Pointer()
        self._do("cuMemAlloc_v2", ctypes.byref(found), ctypes.c_size_t(max(size, 8)))
        return found.value

    def free(self, address: int) -> None:
        """Gives memory back."""
        self._do("cuMemFree_v2", _Pointer(address))

    def fill(self, address: int, byte: int, size: int) -> None:
        """Sets all bytes of a memory."""
        self._do("cuMemsetD8_v2", _Pointer(address), ctypes.c_ubyte(byte), ctypes.c_size_t(size))

    def upload(self, address: int, array: np.ndarray) -> None:
        """Copies a contiguous array to the device."""
        if array.nbytes:
            size = ctypes.c_size_t(array.nbytes)
            self._do("cuMemcpyHtoD_v2", _Pointer(address), ctypes.c_void_p(array.ctypes.data), size)

    def download(self, array: np.ndarray, address: int) -> None:
        """Copies from the device into a contiguous array, when all launches are over."""
        if array.nbytes:
            size = ctypes.c_size_t(array.nbytes)
            self._do("cuMemcpyDtoH_v2", ctypes.c_void_p(array.ctypes.data), _Pointer(address), size)

    # modules and launches -------------------------------------------------------------------------

    def load(self, ptx: str, entries: list[str]) -> list[int]:
        """Makes machine code of PTX; the handles of its entries."""
        log = ctypes.create_string_buffer(_LOG_BYTES)
        options = (ctypes.c_int * 2)(_ERROR_LOG, _ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        module = ctypes.c_void_p()
        try:
            self._do("cuModuleLoadDataEx", ctypes.byref(module), ptx.encode(), 2, options, values)
        except DriverError as error:
            raise DriverError(f"{error}\n{log.value.decode(errors='replace')}") from None
        found = []
        for entry in entries:
            function = ctypes.c_void_p()
            self._do("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
            found.append(int(function.value or 0))
        return found

    def launch(self, function: int, blocks: int, threads: int, shared: int, frame: int) -> None:
        """Runs an entry, after everything that was launched before."""
        pointer = _Pointer(frame)
        params = (ctypes.c_void_p * 1)(ctypes.addressof(pointer))
        handle = ctypes.c_void_p(function)
        self._do("cuLaunchKernel", handle, blocks, 1, 1, threads, 1, 1, shared, None, params, None)

    def seconds(self, run: Callable[[], None]) -> float:
        """How long the device takes for what `run` launches."""
        begin, end, found = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
        for event in (begin, end):
            self._do("cuEventCreate", ctypes.byref(event), _CLOSE)
        self._do("cuEventRecord", begin, None)
        run()
        self._do("cuEventRecord", end, None)
        self._do("cuEventSynchronize", end)
        self._do(
            "cuEventElapsedTime_v2" if self._has("cuEventElapsedTime_v2") else "cuEventElapsedTime",
            ctypes.byref(found),
            begin,
            end,
        )
        for event in (begin, end):
            self._do("cuEventDestroy_v2", event)
        return found.value / 1e3

    def _has(self, function: str) -> bool:
        return hasattr(self._library, function)
