"""LLVM IR to machine code of this processor, which is freed with its last owner.

LLVM is that of llvmlite, and the target machine Numba's. A module is optimised, becomes an object file in
memory and is linked by LLVM's ORC, as a library of its own, which can be unloaded; Numba's engine
cannot unload code. The IR is not kept: it takes several times as much memory as the code.

An object file refers to no address of the process: what it calls, it calls by name, and all else comes with
the frame. So it is kept on disk (`disk_cache.py`), and other processes link the same file.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm
import numba
from llvmlite.binding.orcjit import LLJIT, JITLibraryBuilder, ResourceTracker, create_lljit_compiler
from numba.core.codegen import JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from dsim._version import __version__
from dsim.backends import llvm_passes
from dsim.backends.cpu.disk_cache import disk_cache
from dsim.backends.cpu.target import FLOAT_MODE
from dsim.backends.llvm.parallel.dispatch import OUTSIDE

_config: Any = numba.config  # type: ignore[attr-defined]
_MODE = FLOAT_MODE.declarations.values() if FLOAT_MODE is not None else ()
_SPEED = 2  # optimisation level
_QUICK = 1  # of code that runs a few times only
_numbers = itertools.count()
# Functions that all modules may call, by name: their addresses, and the libraries that hold them. Each is
# compiled once in the process and never freed, since any module may hold its address.
_SHARED: dict[str, int] = {}
_KEPT: list[ResourceTracker] = []


class MachineCode:
    """One compiled module. Its launchers own it; the code is freed with it.

    Parameters
    ----------
    text : str
        The module.
    shared : mapping of str to str
        Functions that it calls and that many modules share, by name.
    quick : bool
        Whether short compile time matters more than speed.

    Attributes
    ----------
    entry : int
        The address of its entry.
    """

    def __init__(self, text: str, shared: Mapping[str, str], quick: bool = False) -> None:
        name = f"dsim_{next(_numbers)}"
        self._speed = _QUICK if quick else _SPEED
        self._text = zlib.compress(text.encode(), 1)
        with global_compiler_lock:
            _compile_shared({n: t for n, t in shared.items() if n not in _SHARED})
            self._library = _linked(name, text, ("dsim_entry",), self._speed)
        self.entry: int = self._library["dsim_entry"]

    def _optimised(self) -> llvm.ModuleRef:
        return _optimised(zlib.decompress(self._text).decode(), self._speed)

    @property
    def llvm(self) -> str:
        """The optimised module, made anew."""
        with global_compiler_lock, self._optimised() as module:
            return str(module)

    @property
    def asm(self) -> str:
        """The machine code as assembly, made anew."""
        with global_compiler_lock, self._optimised() as module:
            return _target().machine.emit_assembly(module)


def _compile_shared(new: Mapping[str, str]) -> None:
    if new:
        text = "\n".join([OUTSIDE, *_MODE, *new.values()])
        library = _linked(f"dsim_shared_{next(_numbers)}", text, tuple(new), _SPEED)
        _KEPT.append(library)
        _SHARED.update((n, library[n]) for n in new)


def _linked(name: str, text: str, exported: tuple[str, ...], speed: int) -> ResourceTracker:
    """A module as code in memory, as long as what comes out is kept."""
    target, cache = _target(), disk_cache()
    key = _key(text, speed, target.described)
    image = cache.load(key)
    if image is not None:
        with contextlib.suppress(RuntimeError):  # LLVM cannot link it: it is compiled again, and replaced
            return _library(name, image, exported)
        name = f"{name}_anew"
    with _optimised(text, speed) as module:
        image = target.machine.emit_object(module)
    cache.save(key, image)
    return _library(name, image, exported)


def _library(name: str, image: bytes, exported: tuple[str, ...]) -> ResourceTracker:
    library = JITLibraryBuilder().add_object_img(image).add_current_process()
    for n in exported:
        library.export_symbol(n)
    for n, address in _SHARED.items():
        library.import_symbol(n, address)
    return library.link(_linker(), name)


def _key(text: str, speed: int, described: str) -> bytes:
    """A hash of all that the object file of a module follows from."""
    found = hashlib.blake2b(digest_size=20)
    for part in (_versions(), described, str(speed), text):
        content = part.encode()
        found.update(len(content).to_bytes(8, "little") + content)
    return found.digest()


@cache
def _versions() -> str:
    """The versions of all that makes object files of text, this file included: it chooses LLVM's passes."""
    compiler = ""
    with contextlib.suppress(OSError):  # not a file of its own, where dsim is imported from an archive
        compiler = hashlib.blake2b(Path(__file__).read_bytes()).hexdigest()
    libc = ""
    with contextlib.suppress(AttributeError, OSError, ValueError):  # LLVM folds constants by its functions
        libc = os.confstr("CS_GNU_LIBC_VERSION")
    return repr(
        (__version__, compiler, libc, llvmlite.__version__, llvm.llvm_version_info, numba.__version__)
    )


def _optimised(text: str, speed: int) -> llvm.ModuleRef:
    module = llvm.parse_assembly(text)
    module.name = "dsim"
    module.data_layout = _target().data_layout
    options = llvm.create_pipeline_tuning_options(speed)
    # But not straight-line code, where the cost exceeds the gain.
    options.loop_vectorization = options.loop_unrolling = speed == _SPEED
    builder = llvm.create_pass_builder(_target().machine, options)
    llvm_passes.run(builder.getModulePassManager(), module, builder)
    return module


@cache
def _linker() -> LLJIT:
    return create_lljit_compiler(use_jit_link=True)


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


@cache
def _target() -> CodeTarget:
    codegen = _codegen()
    return CodeTarget(codegen._tm, str(codegen._data_layout), described(target_options()))


def target_options() -> dict[str, object]:
    """The options of Numba's target machine."""
    options: dict[str, object] = {"opt": int(_config.OPT)}
    _codegen()._customize_tm_options(options)
    return options


def described(options: Mapping[str, object]) -> str:
    """A target machine of these options, in words."""
    svml = _config.USING_SVML  # then Numba has told LLVM to use its vector functions
    return repr((llvm.get_process_triple(), _codegen()._data_layout, sorted(options.items()), svml))


@cache
def _codegen() -> JITCPUCodegen:
    context = cpu_target.target_context
    return context.codegen()  # type: ignore[attr-defined]
