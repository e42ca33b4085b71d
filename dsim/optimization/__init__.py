"""`optimize`: parameters of a run that minimise its loss, with progress, pauses, and a file to go on from."""

from dsim.optimization.optimization import Optimization
from dsim.optimization.optimize import optimize

__all__ = ["Optimization", "optimize"]
