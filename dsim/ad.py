"""`dsim.ad`: see `dsim.api.ad`."""

from dsim.api.ad import *  # noqa: F403
from dsim.api.ad import __all__ as __all__
