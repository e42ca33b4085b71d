"""What IPython is told when dsim is imported: `%%kernel` without the extension, Ctrl-C, `%autoreload`."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from dsim.backends.cpu.stop import listen_in_cells
from dsim.runtime.kernels.kernel import Kernel


def offer() -> None:
    """In IPython, makes Ctrl-C stop launches and registers a `%%kernel` that loads the extension.

    Kernels that were imported by name follow `%autoreload`. A `%%kernel` magic that is registered already is
    kept.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None:
        return
    shell.events.register("pre_run_cell", listen_in_cells)
    shell.events.register("pre_run_cell", _follow_reloads)
    _follow_reloads()
    if "kernel" in shell.magics_manager.magics["cell"]:
        return

    @import_module("IPython.core.magic").no_var_expand
    def kernel(line: str, cell: str) -> Any:
        """Load dsim's extension, whose `%%kernel` runs the cell: after `%load_ext dsim` its help is here."""
        shell.extension_manager.load_extension("dsim")
        return shell.run_cell_magic("kernel", line, cell)

    shell.register_magic_function(kernel, "cell", "kernel")


def _follow_reloads(_: object = None) -> None:
    """Has `%autoreload`, if it is loaded, update kernels in place, as it does functions."""
    rules = getattr(sys.modules.get("IPython.extensions.autoreload"), "UPDATE_RULES", None)
    if rules is not None and _RULE not in rules:
        rules.append(_RULE)


def _of_modules(old: object, new: object) -> bool:
    """Whether both are kernels, and not methods: a class gets its new methods from IPython."""
    return all(isinstance(k, Kernel) and k.function.__name__ == k.function.__qualname__ for k in (old, new))


_RULE = (_of_modules, Kernel.redefine)
