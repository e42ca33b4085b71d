"""What a notebook sees of dsim: magics, and reports of kernels and tapes in three forms."""

from __future__ import annotations

from typing import Any

from dsim.notebook import printing
from dsim.notebook.cell import completing
from dsim.notebook.forms.showing import tape_bundle
from dsim.notebook.magics import KernelMagics
from dsim.runtime.tapes.tape import Tape


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext dsim``: `%%kernel`, `%tape`, `%adjoint` and `%check`, with their completions.

    A tape that is the last line of a cell, or given to `display`, shows itself like by `%tape`.
    """
    made = KernelMagics(shell)
    shell.register_magics(made)
    made.living.install()
    shell.display_formatter.mimebundle_formatter.for_type(Tape, tape_bundle)
    completing.install(shell)
    printing.install(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext dsim``: the magics go."""
    shell.display_formatter.mimebundle_formatter.pop(Tape, None)
    completing.remove(shell)
    printing.remove(shell)
    made = shell.magics_manager.registry.pop(KernelMagics.__name__, None)
    if made is not None:
        made.living.remove()
    for kind, names in (("cell", ("kernel",)), ("line", ("tape", "adjoint", "check", "%kernel"))):
        for name in names:
            shell.magics_manager.magics[kind].pop(name, None)
