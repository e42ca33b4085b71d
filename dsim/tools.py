"""`dsim.tools`: see `dsim.api.tools`, and `dsim.gui.images` for images in files."""

from importlib import import_module as _module

from dsim.api.absent import absent
from dsim.api.tools import *  # noqa: F403
from dsim.api.tools import __all__ as __all__

# What reads and writes images takes long to import: it comes when asked for.
_LATER = ("imwrite", "imread", "imresize", "imshow", "imdisplay")


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(_module("dsim.gui.images"), name)
    raise absent("dsim.tools", name)
