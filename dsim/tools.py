"""`dsim.tools`: see `dsim.api.tools`."""

from dsim.api.tools import *  # noqa: F403
from dsim.api.tools import __all__ as __all__
