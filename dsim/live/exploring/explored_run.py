"""What one run of `ds.explore` gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class ExploredRun:
    """The loss and its derivatives, or why there are none: of a run that failed nothing is kept.

    Attributes
    ----------
    name : str
        What the loss is called.
    loss : float or None
        Its value; None without a loss.
    gradients : dict of str to float
        Its derivative by each control that has one.
    problem : str
        Why the run failed; empty when it did not.
    note : str
        Why a run after that did not take place; empty without.
    warnings : sequence of str
        What it warned of, where no cell shows it.
    """

    name: str = ""
    loss: float | None = None
    gradients: dict[str, float] = field(default_factory=dict)
    problem: str = ""
    note: str = ""
    warnings: Sequence[str] = ()

    def told(self) -> str:
        """The problem, or else the loss, as text, and the note."""
        loss = "" if self.loss is None else f"{self.name} = {self.loss:.6g}"
        return "; ".join(part for part in (self.problem or loss, self.note) if part)

    def told_with_warnings(self) -> str:
        """The same, and the warnings."""
        return "; ".join(filter(None, [self.told(), *(f"warning: {text}" for text in self.warnings)]))
