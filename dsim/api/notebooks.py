"""`%%kernel` in a notebook that has imported dsim but not loaded its extension."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from dsim.backends.cpu.stop import listen_in_cells


def offer() -> None:
    """In IPython, makes Ctrl-C stop launches and registers a `%%kernel` that loads the extension.

    A `%%kernel` magic that is registered already is kept.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None:
        return
    shell.events.register("pre_run_cell", listen_in_cells)
    if "kernel" in shell.magics_manager.magics["cell"]:
        return

    @import_module("IPython.core.magic").no_var_expand
    def kernel(line: str, cell: str) -> Any:
        """Load dsim's extension, whose `%%kernel` runs the cell: after `%load_ext dsim` its help is here."""
        shell.extension_manager.load_extension("dsim")
        return shell.run_cell_magic("kernel", line, cell)

    shell.register_magic_function(kernel, "cell", "kernel")
