"""`%%kernel` in a notebook that has imported dsim, and not loaded its extension yet."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def offer() -> None:
    """Lets `%%kernel` load the extension, in a session of IPython's in which nobody else has that magic."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or "kernel" in shell.magics_manager.magics["cell"]:
        return

    @import_module("IPython.core.magic").no_var_expand
    def kernel(line: str, cell: str) -> Any:
        """Load dsim's extension, whose `%%kernel` runs the cell: after `%load_ext dsim` its help is here."""
        shell.extension_manager.load_extension("dsim")
        return shell.run_cell_magic("kernel", line, cell)

    shell.register_magic_function(kernel, "cell", "kernel")
