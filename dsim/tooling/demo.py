"""The demo: which notebooks it has, and where they are."""

from __future__ import annotations

import sysconfig
from collections.abc import Sequence
from pathlib import Path

from dsim.tooling.errors import ToolError

# In this order; a name is a file of the folder `notebooks`.
DEMO = ("gravity", "mpm_lagrangian", "fem_neo_hookean", "wave")


def demo_folder() -> Path:
    """The folder of the notebooks: the checkout's, or the copy that the wheel installed.

    Raises
    ------
    ToolError
        When there is neither.
    """
    checkout = Path(__file__).parents[2]
    if (checkout / "pyproject.toml").is_file():
        return checkout / "notebooks"
    installed = Path(sysconfig.get_path("data")) / "share" / "dsim" / "notebooks"
    if not installed.is_dir():
        raise ToolError(
            "this installation of dsim has no demo notebooks",
            help="install it again, or name a notebook: dsim run NOTEBOOK",
        )
    return installed


def demo_notebooks(names: Sequence[str]) -> list[Path]:
    """The demo's notebooks, all of them or those that are named.

    Raises
    ------
    ToolError
        When a name is not one of the demo's.
    """
    unknown = [name for name in names if name not in DEMO]
    if unknown:
        raise ToolError(
            f"the demo has no notebook {unknown[0]!r}",
            help=f"it has {', '.join(DEMO)}; another notebook runs with `dsim run NOTEBOOK`",
        )
    return [demo_folder() / f"{name}.ipynb" for name in names or DEMO]
