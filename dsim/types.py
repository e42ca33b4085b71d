"""`dsim.types`: see `dsim.api.types`."""

from dsim.api.types import *  # noqa: F403
from dsim.api.types import __all__ as __all__
