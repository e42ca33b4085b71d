"""`dsim.math`: see `dsim.api.math`."""

from dsim.api.math import *  # noqa: F403
from dsim.api.math import __all__ as __all__
