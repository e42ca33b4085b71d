"""The machine code that is kept on disk: `dsim cache`."""

from __future__ import annotations

from dsim.backends.cpu.disk_cache import VARIABLE, disk_cache
from dsim.tooling.doctor import shown_cache
from dsim.tooling.errors import ToolError


def manage_cache(*, clear: bool) -> None:
    """Print where the code is and how much, or remove it.

    Parameters
    ----------
    clear : bool
        Whether to remove it.

    Raises
    ------
    ToolError
        When it cannot be removed.
    """
    cache = disk_cache()
    if cache.folder is None:
        print(f"no machine code is kept: {VARIABLE} is empty")
    elif clear:
        try:
            print(f"removed {cache.clear() / 2**20:.1f} MiB from {cache.folder}")
        except OSError as error:
            raise ToolError(f"{cache.folder} cannot be cleared: {error.strerror}") from error
    else:
        found = cache.status()
        print(f"{found.folder} is of no use: {found.fault}" if found.fault else shown_cache(found))
