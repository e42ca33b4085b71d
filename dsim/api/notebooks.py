"""`%%kernel` in a notebook that has imported dsim, and not loaded its extension yet."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from dsim.backends.cpu.stop import listen_in_cells


def offer() -> None:
    """In a session of IPython's Ctrl-C stops launches, and `%%kernel` loads the extension.

    The magic is left to others who have it.
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
