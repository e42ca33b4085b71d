"""Evaluations that change fields and put them back: one at a time in the process."""

from __future__ import annotations

import threading

# Held by an optimisation's thread while it evaluates its run, and by a report that is computed beside it.
EVALUATING = threading.RLock()
