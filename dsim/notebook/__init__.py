"""The notebook interface: magics, and reports of kernels and tapes in three forms.

It imports views and all below, and no commands. Begin with `magics.py`, then `kernel_report.py` and `report`.
"""

from __future__ import annotations

from typing import Any

from dsim.notebook import displays, explaining, printing
from dsim.notebook.cell import completing
from dsim.notebook.forms.showing import tape_bundle
from dsim.notebook.magics import KernelMagics
from dsim.runtime.tapes.tape import Tape


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext dsim``: `%%kernel`, `%tape`, `%adjoint` and `%check`, with their completions.

    A tape as the last line of a cell, or passed to `display`, is displayed as by `%tape`;
    fields, kernels and Jacobians as tables (`displays`). Below an error or a warning a click shows what its
    code means.
    """
    made = KernelMagics(shell)
    shell.register_magics(made)
    made.living.install()
    shell.display_formatter.mimebundle_formatter.for_type(Tape, tape_bundle)
    displays.install(shell)
    completing.install(shell)
    printing.install(shell)
    explaining.install(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext dsim``: removes the magics."""
    shell.display_formatter.mimebundle_formatter.pop(Tape, None)
    displays.remove(shell)
    completing.remove(shell)
    printing.remove(shell)
    explaining.remove(shell)
    made = shell.magics_manager.registry.pop(KernelMagics.__name__, None)
    if made is not None:
        made.living.remove()
    for kind, names in (("cell", ("kernel",)), ("line", ("tape", "adjoint", "check", "%kernel"))):
        for name in names:
            shell.magics_manager.magics[kind].pop(name, None)
