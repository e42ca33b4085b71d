"""The demo's notebooks and their folder."""

from __future__ import annotations

import sysconfig
from collections.abc import Sequence
from pathlib import Path

from dsim.tooling.errors import ToolError

# In this order; a name is that of a file in the folder `notebooks`.
DEMO = (
    "gravity",
    "mpm_lagrangian",
    "fem_neo_hookean",
    "wave",
    "jacobians",
    "newton",
    "custom_gradients",
    "implicit_fem",
    "mpm_checkpoints",
    "mass_spring",
    "billiards",
    "rigid_body",
    "smoke",
    "electric",
    "volume_rendering",
    "build_the_compiler",
    "wrong_gradients",
)


def demo_folder() -> Path:
    """The folder of the notebooks: that of the checkout, or the copy installed by the wheel.

    Raises
    ------
    ToolError
        When neither exists.
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
    """The demo's notebooks: those in `names`, or all.

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
