"""LLVM IR to machine code of this processor, which is freed with its last owner.

A module becomes an object file in memory (`images.py`) and is linked by LLVM's ORC, as a library of its own,
which can be unloaded; Numba's engine cannot unload code. The IR is not kept: it takes several times as much
memory as the code.
"""

from __future__ import annotations

import contextlib
import itertools
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from functools import cache
from typing import Any

from llvmlite.binding.orcjit import LLJIT, JITLibraryBuilder, ResourceTracker, create_lljit_compiler

from dsim.backends.cpu import images
from dsim.backends.cpu.disk_cache import disk_cache
from dsim.backends.cpu.target import FLOAT_MODE
from dsim.backends.llvm.parallel.dispatch import OUTSIDE
from dsim.backends.llvm.text import PLAIN
from dsim.backends.locks import NUMBAS_LOCK
from dsim.backends.uninterrupted import uninterrupted

_MODE = FLOAT_MODE.declarations.values() if FLOAT_MODE is not None else ()
_numbers = itertools.count()
_LONG = 4096  # characters: less is not worth the 256 KiB of memory that zlib works in
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
    level : int
        The optimisation level.
    image : Future of bytes or None
        Its object file, which another thread makes.

    Attributes
    ----------
    entry : int
        The address of its entry.
    """

    def __init__(
        self,
        text: str,
        shared: Mapping[str, str],
        level: int = images.SPEED,
        image: Future[bytes] | None = None,
    ) -> None:
        name = f"dsim_{next(_numbers)}"
        self._level = level
        self._text = text if len(text) < _LONG else zlib.compress(text.encode(), 1)
        with uninterrupted(), NUMBAS_LOCK:
            _compile_shared({n: t for n, t in shared.items() if n not in _SHARED})
            self._library = _linked(name, text, ("dsim_entry",), level, image)
        self.entry: int = self._library["dsim_entry"]

    def function(self, prototype: Callable[[int], Any]) -> Any:
        """Its entry as a function of `ctypes`; the code lives as long as that does."""
        made = prototype(self.entry)
        made.code = self
        return made

    @property
    def llvm(self) -> str:
        """The optimised module, made anew."""
        with uninterrupted(), images.optimised(self._ir(), self._level) as module:
            return str(module)

    @property
    def asm(self) -> str:
        """The machine code as assembly, made anew."""
        with uninterrupted():
            return images.assembly(self._ir(), self._level)

    def _ir(self) -> str:
        return self._text if isinstance(self._text, str) else zlib.decompress(self._text).decode()


def _compile_shared(new: Mapping[str, str]) -> None:
    """Compiles functions; those that are not optimised at a level that does not try to."""
    plain = {n: t for n, t in new.items() if PLAIN in t}
    others = {n: t for n, t in new.items() if n not in plain}
    for functions, level in ((plain, images.AS_IT_STANDS), (others, images.SPEED)):
        if functions:
            text = "\n".join([OUTSIDE, *_MODE, *functions.values()])
            library = _linked(f"dsim_shared_{next(_numbers)}", text, tuple(functions), level)
            _KEPT.append(library)
            _SHARED.update((n, library[n]) for n in functions)


def _linked(
    name: str, text: str, exported: tuple[str, ...], level: int, begun: Future[bytes] | None = None
) -> ResourceTracker:
    """A module as code in memory, as long as what comes out is kept."""
    cache = disk_cache()
    image = images.loaded(text, level, cache) if begun is None else _awaited(begun)
    if image is not None:
        with contextlib.suppress(RuntimeError):  # LLVM cannot link it: it is compiled again, and replaced
            return _library(name, image, exported)
        name = f"{name}_anew"
    return _library(name, images.made(text, level, cache), exported)


def _awaited(begun: Future[bytes]) -> bytes | None:
    """What another thread makes; None where it has not begun, so that this one need not wait."""
    if begun.cancel():
        return None
    with contextlib.suppress(CancelledError):  # by who began it and needs it no longer
        return begun.result()
    return None


def _library(name: str, image: bytes, exported: tuple[str, ...]) -> ResourceTracker:
    library = JITLibraryBuilder().add_object_img(image).add_current_process()
    for n in exported:
        library.export_symbol(n)
    for n, address in _SHARED.items():
        library.import_symbol(n, address)
    return library.link(_linker(), name)


@cache
def _linker() -> LLJIT:
    return create_lljit_compiler(use_jit_link=True)
