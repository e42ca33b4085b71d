"""What an optimisation is to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsim.optimization.kept_file import KeptFile
from dsim.optimization.methods import AnyMethod
from dsim.optimization.refusal import wrong
from dsim.runtime.transforms.objective import Objective


@dataclass(frozen=True)
class OptimizationPlan:
    """What an optimisation is to do.

    Attributes
    ----------
    objective : Objective
        What is minimised.
    method : AnyMethod
        How.
    steps : int
        How many steps it makes at most.
    tolerance : float or None
        When it has converged.
    callback : callable or None
        Called with the optimisation after each step.
    view : object or None
        Its ``update()`` is called when there is something new to see.
    file : KeptFile or None
        From which it goes on.
    replaces : str
        A line about the optimisation that was stopped for it.
    """

    objective: Objective
    method: AnyMethod
    steps: int
    tolerance: float | None = None
    callback: Callable[[Any], Any] | None = None
    view: Any = None
    file: KeptFile | None = None
    replaces: str = ""


def count(value: Any, what: str) -> int:
    """`value`, a number of steps.

    Raises
    ------
    GradientError
        When it is no whole number above 0.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise wrong(f"`{what}=` is a whole number above 0, got {value!r}", f"`{what}=100`")
    return int(value)
