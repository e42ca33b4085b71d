"""What there is of CUDA on this machine: libdevice, ptxas, nvdisasm, and the driver with its devices.

PTX needs libdevice alone, and only for mathematical functions. ptxas and nvdisasm make and show machine code
of a device, without one. Each is looked for where NVIDIA's wheels put it, then below `CUDA_HOME`, then beside
what is on the `PATH`, then where installers put CUDA. dsim ships none of them: their licence is NVIDIA's.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

LIBDEVICE_HELP = 'pip install "dsim[cuda]", or set CUDA_HOME to an installed CUDA'
PTXAS_HELP = "pip install nvidia-cuda-nvcc"
NVDISASM_HELP = "pip install nvidia-cuda-nvdisasm"
OLDEST_PTXAS = (12, 8)  # the first for all architectures of `architectures.py`

_LIBDEVICE = Path("nvvm", "libdevice", "libdevice.10.bc")
_PLACES = ("/usr/local/cuda", "/usr/lib/cuda", "/opt/cuda")
_VERSION = re.compile(r"release (\d+)\.(\d+)")
_NAME, _MAJOR, _MINOR = 128, 75, 76  # the bytes of a name; attributes: the compute capability


class Tool(NamedTuple):
    """A program of CUDA's; its version is (0, 0) where it does not say which it is."""

    path: Path
    version: tuple[int, int]


class Device(NamedTuple):
    """A GPU, with its compute capability."""

    name: str
    capability: tuple[int, int]


class Driver(NamedTuple):
    """NVIDIA's driver.

    Attributes
    ----------
    version : tuple of int
        The newest CUDA that it runs.
    devices : tuple of Device
        What it drives.
    error : str
        Why there are none.
    """

    version: tuple[int, int]
    devices: tuple[Device, ...]
    error: str = ""


def libdevice() -> Path | None:
    """The library of mathematical functions for devices, as LLVM's bitcode."""
    return next((p for root in _roots() if (p := root / _LIBDEVICE).is_file()), None)


def ptxas() -> Tool | None:
    """The assembler of PTX."""
    return _tool("ptxas")


def nvdisasm() -> Tool | None:
    """The disassembler of its output."""
    return _tool("nvdisasm")


def _tool(name: str) -> Tool | None:
    for root in _roots():
        found = shutil.which(name, path=str(root / "bin"))
        if found is not None:
            return Tool(Path(found), _version(found))
    found = shutil.which(name)
    return None if found is None else Tool(Path(found), _version(found))


def _version(program: str) -> tuple[int, int]:
    try:
        told = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return 0, 0
    found = _VERSION.search(told.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _sites() -> list[str]:
    """The folders of installed packages, in the order of imports."""
    return list(dict.fromkeys(path for path in (*sys.path, sysconfig.get_path("platlib")) if path))


def _roots() -> Iterator[Path]:
    """The folders that may hold a CUDA, or a part of one, the wheels' first."""
    for site in _sites():
        wheels = Path(site, "nvidia")
        yield from sorted(wheels.glob("cu[0-9]*"), reverse=True)
        yield wheels / "cuda_nvcc"  # of CUDA 12
    for variable in ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    for program in ("nvcc", "ptxas"):
        found = shutil.which(program)
        if found is not None:
            yield Path(found).resolve().parent.parent
    yield from map(Path, _PLACES)


# the driver --------------------------------------------------------------------------------------


def has_driver() -> bool:
    """Whether the driver's library can be loaded. Unlike `driver`, this does not initialise it."""
    return _library() is not None


def driver() -> Driver | None:
    """The driver and its devices.

    It initialises the driver, and processes that are forked later cannot use it: for a process of its own.
    """
    library = _library()
    if library is None:
        return None
    number = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(number))
    version = number.value // 1000, number.value % 1000 // 10
    failed = library.cuInit(0)
    if failed:
        return Driver(version, (), _error(library, failed))
    failed = library.cuDeviceGetCount(ctypes.byref(number))
    if failed or number.value == 0:
        return Driver(version, (), _error(library, failed) if failed else "it drives no device")
    return Driver(version, tuple(_device(library, n) for n in range(number.value)))


def _library() -> Any:
    try:
        return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None


def _device(library: Any, ordinal: int) -> Device:
    handle, name = ctypes.c_int(), ctypes.create_string_buffer(_NAME)
    library.cuDeviceGet(ctypes.byref(handle), ordinal)
    library.cuDeviceGetName(name, _NAME, handle)
    capability = []
    for attribute in (_MAJOR, _MINOR):
        number = ctypes.c_int()
        library.cuDeviceGetAttribute(ctypes.byref(number), attribute, handle)
        capability.append(number.value)
    return Device(name.value.decode(errors="replace"), (capability[0], capability[1]))


def _error(library: Any, number: int) -> str:
    name = ctypes.c_char_p()
    library.cuGetErrorName(number, ctypes.byref(name))
    return name.value.decode(errors="replace") if name.value else f"error {number}"
