"""`optimize`: parameters of a run that minimise its loss, with progress, pauses, and a file to go on from.

It imports notebooks and all below, but no commands. Begin with `optimize.py`, then `optimization.py`;
`methods.py` has what makes the steps.
"""

from dsim.optimization.optimization import Optimization
from dsim.optimization.optimize import optimize

__all__ = ["Optimization", "optimize"]
