"""`dsim.algorithms`: see `dsim.api.algorithms`."""

from dsim.api.algorithms import *  # noqa: F403
from dsim.api.algorithms import __all__ as __all__
