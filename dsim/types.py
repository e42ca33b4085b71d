"""`dsim.types`: see `dsim.api.types`."""

from dsim.api.absent import absent
from dsim.api.types import *  # noqa: F403
from dsim.api.types import __all__ as __all__


def __getattr__(name: str) -> object:
    raise absent("dsim.types", name)
