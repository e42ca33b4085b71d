"""Imports of optional dependencies."""

from __future__ import annotations

import importlib
from types import ModuleType

from dsim.tooling.errors import ToolError


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import a module that one of dsim's extras installs.

    Parameters
    ----------
    module : str
        Full name, such as ``"nbclient"``.
    extra : str
        The extra of dsim that installs it.
    purpose : str
        The purpose, as in "… is needed to run notebooks".

    Returns
    -------
    ModuleType
        The module.

    Raises
    ------
    ToolError
        When it is not installed.

    Examples
    --------
    >>> require("json", extra="lab", purpose="to read notebooks").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.partition(".")[0] != error.name.partition(".")[0]:
            raise  # the module exists, but one that it imports does not
        name = module.partition(".")[0]
        raise ToolError(
            f"{name} is needed {purpose}, and it is not installed",
            help=f'pip install "dsim[{extra}]"',
        ) from error
