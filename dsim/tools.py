"""`dsim.tools`: see `dsim.api.tools`; the functions for image and PLY files are in `dsim.gui`."""

from importlib import import_module as _module

from dsim.api.absent import absent
from dsim.api.tools import *  # noqa: F403
from dsim.api.tools import __all__ as __all__
from dsim.diagnostics.frames import outermost as _outermost

# `dsim.gui` takes long to import: its functions are imported lazily.
_LATER = {
    **dict.fromkeys(("imwrite", "imread", "imresize", "imshow", "imdisplay"), "dsim.gui.images"),
    "VideoManager": "dsim.gui.video",
    "PLYWriter": "dsim.gui.ply",
}


@_outermost
def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(_module(_LATER[name]), name)
    raise absent("dsim.tools", name, [*__all__, *_LATER])
