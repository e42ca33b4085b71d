"""The programs of the corpus, for a bundle."""

from __future__ import annotations

from tests.corpus.matrix import Trial
from tests.device.bundle import Writer
from tests.device.recording import Single, recorded

_MOST = 2  # launches of a kernel that are recorded


def record_program(writer: Writer, name: str, real: str) -> None:
    """Adds the launches of a program, of its tangents and of its gradient."""
    trial = Trial(name, real)
    with recorded(writer, Single(writer, f"{name}, {real}", _MOST)):
        trial.values(trial.start)
        trial.tangents()
        trial.gradient()
