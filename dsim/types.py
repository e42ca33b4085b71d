"""`dsim.types`: see `dsim.api.types`."""

from dsim.api.absent import absent
from dsim.api.types import *  # noqa: F403
from dsim.api.types import __all__ as __all__
from dsim.diagnostics.frames import outermost as _outermost


@_outermost
def __getattr__(name: str) -> object:
    raise absent("dsim.types", name, __all__)
