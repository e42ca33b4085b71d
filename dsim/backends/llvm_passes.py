"""Runs LLVM's passes over a module."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi


def run(
    manager: llvm.ModulePassManager, module: llvm.ModuleRef, builder: llvm.PassBuilder, library: Any = ffi.lib
) -> None:
    """Runs a pass manager over `module` by a function of `library`, and frees it."""
    library.LLVMPY_RunNewModulePassManager(manager, module, builder)
    # llvmlite 0.50 does not dispose of it (its class inherits the wrong method): 85 KiB would leak.
    ffi.lib.LLVMPY_DisposeNewModulePassManger(manager)
    manager.detach()
