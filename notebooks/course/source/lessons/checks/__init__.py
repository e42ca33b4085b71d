"""The checks of the course's exercises.

They test properties: that a slope equals differences, that forces add up to 0, that a loss falls. An answer
that is not right is compared with typical mistakes, and the student reads a sentence about the one that was
found. This folder beside the lessons, and dsim, are all that a student needs.
"""

from .acts import attempt, train
from .backwards import backward, product, springs
from .fits import misfit, newton
from .lies import disagreement, impact
from .loops import deposit, scatter
from .places import again, rows
from .saying import NotYetError
from .slopes import carried, cubes, differences
from .times import checkpoints, swing

__all__ = [
    "NotYetError",
    "again",
    "attempt",
    "backward",
    "carried",
    "checkpoints",
    "cubes",
    "deposit",
    "differences",
    "disagreement",
    "impact",
    "misfit",
    "newton",
    "product",
    "rows",
    "scatter",
    "springs",
    "swing",
    "train",
]
