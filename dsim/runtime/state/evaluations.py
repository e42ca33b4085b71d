"""Evaluations that change fields and put them back: one at a time in the process."""

from __future__ import annotations

from dsim.backends.locks import outer_lock

# Held by whoever puts values into fields for a time: transforms, checks of gradients, explorers, the thread
# of an optimisation, a report that is computed beside it. It is taken before all locks of compiling and
# launching.
EVALUATING = outer_lock()


def evaluates() -> bool:
    """Whether this thread does so now."""
    return EVALUATING._is_owned()  # type: ignore[attr-defined,no-any-return]


# What the thread of an optimisation is called, for errors in other threads that name its work.
OPTIMIZER = "dsim optimisation"
