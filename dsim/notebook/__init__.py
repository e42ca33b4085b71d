"""What a notebook sees of dsim: magics, and reports of kernels and tapes in three forms."""

from __future__ import annotations

from typing import Any

from dsim.notebook.magics import KernelMagics, completions


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext dsim``: `%%kernel`, `%tape`, `%adjoint` and `%check`, with their completions."""
    shell.register_magics(KernelMagics)
    for word in ("%%kernel", "%tape", "%adjoint", "%check"):
        shell.set_hook("complete_command", completions, str_key=word)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext dsim``: the magics go."""
    for kind, names in (("cell", ("kernel",)), ("line", ("tape", "adjoint", "check"))):
        for name in names:
            shell.magics_manager.magics[kind].pop(name, None)
