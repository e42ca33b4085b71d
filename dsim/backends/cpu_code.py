"""LLVM IR to machine code of this processor, through Numba's code library.

A module goes straight into the library that Numba keeps its own functions in, without a Python
function around it and without Numba's own optimisation, whose first half is for reference counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cache

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from dsim.backends.llvm_dispatch import OUTSIDE

_SPEED = 2  # optimisation level
_QUICK = 1  # of code that runs a few times only
_numbers = itertools.count()
_SHARED: dict[str, str] = {}  # functions that are compiled already and that all modules may call


class _Library(JITCodeLibrary):
    """A code library of one module, optimised once."""

    speed = _SPEED

    def add_llvm_module(self, ll_module: llvm.ModuleRef) -> None:
        """Takes the module as it is: there are no others to link it with."""
        ll_module.data_layout = self._codegen._data_layout
        self._final_module = ll_module

    def finalize(self) -> None:
        """Optimises the module and makes machine code of it."""
        options = llvm.create_pipeline_tuning_options(self.speed)
        # But not straight-line code: it costs more than it gives.
        options.loop_vectorization = options.loop_unrolling = self.speed == _SPEED
        builder = llvm.create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)
        self._codegen._add_module(self._final_module)
        self._codegen._engine.finalize_object()  # type: ignore[reportCallIssue]
        self._finalized = True


class MachineCode:
    """One compiled module. Its code stays as long as the process.

    Parameters
    ----------
    text : str
        The module.
    shared : mapping of str to str
        Functions that it calls and that many modules share, by name.
    quick : bool
        Whether it should rather be compiled soon than run fast.

    Attributes
    ----------
    entry : int
        The address of its entry.
    """

    def __init__(self, text: str, shared: Mapping[str, str], quick: bool = False) -> None:
        name = f"dsim_{next(_numbers)}"
        with global_compiler_lock:
            new = {n: t for n, t in shared.items() if n not in _SHARED}
            if new:
                _compile(f"dsim_shared_{next(_numbers)}", "\n".join([OUTSIDE, *new.values()]))
                _SHARED.update(new)
            text = text.replace("@dsim_entry(", f"@{name}(")
            self._library = _compile(name, text, _QUICK if quick else _SPEED)
            self.entry: int = self._library.get_pointer_to_function(name)

    @property
    def llvm(self) -> str:
        """The optimised module."""
        with global_compiler_lock:
            return self._library.get_llvm_str()

    @property
    def asm(self) -> str:
        """The machine code as assembly."""
        with global_compiler_lock:
            return self._library.get_asm_str()


def _compile(name: str, text: str, speed: int = _SPEED) -> _Library:
    codegen = _codegen()
    module = llvm.parse_assembly(text)
    module.name = name
    library = _Library(codegen, name)
    library.speed = speed
    library.add_llvm_module(module)
    library.finalize()
    return library


@cache
def _codegen() -> JITCPUCodegen:
    context = cpu_target.target_context
    return context.codegen()  # type: ignore[attr-defined]
