"""LLVM IR to object files of this processor, in memory.

LLVM is that of llvmlite, and the target machine is made as Numba's. An object file refers to no address of
the process: what it calls, it calls by name, and all else comes with the frame. So it is kept on disk
(`disk_cache.py`), and other processes link the same file.

Each module is compiled in a context of its own with a target machine of its own thread, so several threads
may compile at once. llvmlite allows one call at a time; the two that take long are made without its lock.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm
import numba
from llvmlite.binding import ffi
from numba import _helperlib
from numba.core.codegen import JITCPUCodegen, initialize_llvm
from numba.core.intrinsics import INTR_MATH

from dsim._version import __version__
from dsim.backends import llvm_passes
from dsim.backends.cpu.disk_cache import DiskCache
from dsim.backends.uninterrupted import uninterrupted

_config: Any = numba.config  # type: ignore[attr-defined]
_functions_of_c: dict[str, int] = _helperlib.c_helpers  # type: ignore[attr-defined]
SPEED = 2  # optimisation level
QUICK = 1  # of code that runs a few times only
AS_IT_STANDS = 0  # of code of which there is little


def loaded(text: str, level: int, cache: DiskCache) -> bytes | None:
    """The object file of a module, if it is in `cache`."""
    return cache.load(_key(text, level))


def made(text: str, level: int, cache: DiskCache) -> bytes:
    """The object file of a module, compiled now and kept in `cache`."""
    with optimised(text, level) as module:
        image = _emitted(_target(level).machine, module)
    cache.save(_key(text, level), image)
    return image


def found(text: str, level: int, cache: DiskCache) -> bytes:
    """The object file of a module, out of `cache` or compiled."""
    return loaded(text, level, cache) or made(text, level, cache)


def prepare() -> None:
    """Makes what all threads share, before there are several: each would make its own."""
    with uninterrupted():
        _described(SPEED)
        _versions()
        _unlocked()


def assembly(text: str, level: int) -> str:
    """The machine code of a module, as assembly."""
    with optimised(text, level) as module:
        return _target(level).machine.emit_assembly(module)


@contextmanager
def optimised(text: str, level: int) -> Iterator[llvm.ModuleRef]:
    """A module after LLVM's passes; it is freed at the end of the block."""
    target, context = _target(level), llvm.create_context()
    try:
        with llvm.parse_assembly(text, context) as module:
            module.name = "dsim"
            module.data_layout = target.data_layout
            options = llvm.create_pipeline_tuning_options(level)
            # But not straight-line code, where the cost exceeds the gain.
            options.loop_vectorization = options.loop_unrolling = level == SPEED
            with llvm.create_pass_builder(target.machine, options) as builder:
                llvm_passes.run(builder.getModulePassManager(), module, builder, _unlocked())
            yield module
    finally:
        context.close()


# -- the two calls of LLVM that take long


@cache
def _unlocked() -> Any:
    """The library of llvmlite, whose functions take no lock when they are called through this.

    One that does not give its name is used with the lock: slower, where several threads compile.
    """
    if not hasattr(ffi.lib, "_name"):
        return ffi.lib
    library = ctypes.CDLL(ffi.lib._name)
    for name in ("LLVMPY_RunNewModulePassManager", "LLVMPY_TargetMachineEmitToMemory"):
        function, locked = getattr(library, name), getattr(ffi.lib, name)
        function.argtypes, function.restype = locked.argtypes, locked.restype
    return library


def _emitted(machine: llvm.TargetMachine, module: llvm.ModuleRef) -> bytes:
    with ffi.OutputString() as error:
        buffer = _unlocked().LLVMPY_TargetMachineEmitToMemory(machine, module, 1, error)
        if not buffer:
            raise RuntimeError(str(error))
    try:
        start, size = ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer)
        return ctypes.string_at(start, size)
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


# -- the processor


class CodeTarget(NamedTuple):
    """The processor that code is for, and how it is generated.

    Attributes
    ----------
    machine : TargetMachine
        LLVM's own.
    data_layout : str
        How it lays out data.
    described : str
        All that it was made from.
    """

    machine: llvm.TargetMachine
    data_layout: str
    described: str


class _Targets(threading.local):
    """Those of a thread, which no other one may use, by what they were made from."""

    def __init__(self) -> None:
        self.made: dict[str, CodeTarget] = {}


_TARGETS = _Targets()


def forget_targets() -> None:
    """Frees those of this thread: a thread that ends would free them while another one forks."""
    _TARGETS.made.clear()


def _target(level: int) -> CodeTarget:
    described = _described(level)
    target = _TARGETS.made.get(described)
    if target is None:
        options = target_options(level)
        machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(**options)
        target = _TARGETS.made[described] = CodeTarget(machine, str(machine.target_data), described)
    return target


def target_options(level: int) -> Mapping[str, Any]:
    """The options of a target machine for code of an optimisation level: Numba's, but for level 0."""
    return _numbas_options() if level else {**_numbas_options(), "opt": 0}


@cache
def _numbas_options() -> Mapping[str, Any]:
    options: dict[str, Any] = {"opt": int(_config.OPT)}
    _Processor()._customize_tm_options(options)
    return options


class _Processor(JITCPUCodegen):
    """What Numba knows of the processor, without the execution engine that its constructor makes first."""

    def __init__(self) -> None:
        initialize_llvm()
        self._tm_features = self._customize_tm_features()
        for name in INTR_MATH:  # machine code calls the functions of Python's own C library
            llvm.add_symbol(name, _functions_of_c[name])


def _described(level: int) -> str:
    """The target machine for code of an optimisation level, in words."""
    return _in_words(level, _config.USING_SVML)  # then Numba has told LLVM to use its vector functions


@cache
def _in_words(level: int, svml: bool) -> str:
    return repr((llvm.get_process_triple(), sorted(target_options(level).items()), svml))


# -- what object files follow from


def _key(text: str, level: int) -> bytes:
    """A hash of all that the object file of a module follows from."""
    found = hashlib.blake2b(digest_size=20)
    for part in (_versions(), _described(level), str(level), text):
        content = part.encode()
        found.update(len(content).to_bytes(8, "little") + content)
    return found.digest()


@cache
def _versions() -> str:
    """The versions of all that makes object files of text, with what chooses and runs the passes."""
    compiler = ""
    with suppress(OSError):  # not a file of its own, where dsim is imported from an archive
        content = b"".join(Path(file).read_bytes() for file in (__file__, llvm_passes.__file__))
        compiler = hashlib.blake2b(content).hexdigest()
    libc = ""
    with suppress(AttributeError, OSError, ValueError):  # LLVM folds constants by its functions
        libc = os.confstr("CS_GNU_LIBC_VERSION")
    return repr(
        (__version__, compiler, libc, llvmlite.__version__, llvm.llvm_version_info, numba.__version__)
    )
