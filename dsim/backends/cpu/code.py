"""LLVM IR to machine code of this processor, which is freed with its last owner.

LLVM is that of llvmlite, and the target machine Numba's. A module is optimised, becomes an object file in
memory and is linked by LLVM's ORC, as a library of its own, which can be unloaded; Numba's engine
cannot unload code. The IR is not kept: it takes several times as much memory as the code.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Mapping
from functools import cache

import llvmlite.binding as llvm
from llvmlite.binding import ffi
from llvmlite.binding.orcjit import LLJIT, JITLibraryBuilder, ResourceTracker, create_lljit_compiler
from numba.core.codegen import JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from dsim.backends.llvm.parallel.dispatch import OUTSIDE

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
            self._library = _linked(name, text.replace("@dsim_entry(", f"@{name}("), (name,), self._speed)
        self.entry: int = self._library[name]

    def _optimised(self) -> llvm.ModuleRef:
        return _optimised("dsim", zlib.decompress(self._text).decode(), self._speed)

    @property
    def llvm(self) -> str:
        """The optimised module, made anew."""
        with global_compiler_lock, self._optimised() as module:
            return str(module)

    @property
    def asm(self) -> str:
        """The machine code as assembly, made anew."""
        with global_compiler_lock, self._optimised() as module:
            return _codegen()._tm.emit_assembly(module)


def _compile_shared(new: Mapping[str, str]) -> None:
    if new:
        text = "\n".join([OUTSIDE, *new.values()])
        library = _linked(f"dsim_shared_{next(_numbers)}", text, tuple(new), _SPEED)
        _KEPT.append(library)
        _SHARED.update((n, library[n]) for n in new)


def _linked(name: str, text: str, exported: tuple[str, ...], speed: int) -> ResourceTracker:
    """A module as code in memory, as long as what comes out is kept."""
    with _optimised(name, text, speed) as module:
        image = _codegen()._tm.emit_object(module)
    library = JITLibraryBuilder().add_object_img(image).add_current_process()
    for n in exported:
        library.export_symbol(n)
    for n, address in _SHARED.items():
        library.import_symbol(n, address)
    return library.link(_linker(), name)


def _optimised(name: str, text: str, speed: int) -> llvm.ModuleRef:
    module = llvm.parse_assembly(text)
    module.name = name
    module.data_layout = _codegen()._data_layout
    options = llvm.create_pipeline_tuning_options(speed)
    # But not straight-line code, where the cost exceeds the gain.
    options.loop_vectorization = options.loop_unrolling = speed == _SPEED
    builder = llvm.create_pass_builder(_codegen()._tm, options)
    passes = builder.getModulePassManager()
    passes.run(module, builder)
    # llvmlite 0.50 does not dispose of it (its class inherits the wrong method): 85 KiB would leak.
    ffi.lib.LLVMPY_DisposeNewModulePassManger(passes)
    passes.detach()
    return module


@cache
def _linker() -> LLJIT:
    return create_lljit_compiler(use_jit_link=True)


@cache
def _codegen() -> JITCPUCodegen:
    context = cpu_target.target_context
    return context.codegen()  # type: ignore[attr-defined]
