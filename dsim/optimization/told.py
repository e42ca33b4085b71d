"""What is told of an optimisation, as text and as markup."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from dsim.diagnostics import Diagnostic
from dsim.diagnostics.render import render
from dsim.notebook.tape.svg import BLUE, ORANGE, Series, chart, shown
from dsim.optimization.error_text import error_lines
from dsim.optimization.points import Track

_MOST_POINTS = 400  # of a curve


class Steered(Protocol):
    """What the buttons steer: an `Optimization`."""

    status: str
    message: str
    steps: int
    error: BaseException | None
    replaces: str
    changed: str
    track: Track

    @property
    def done(self) -> int:
        """How many steps are done."""
        ...

    @property
    def pending(self) -> str:
        """What it was asked for."""
        ...

    @property
    def history(self) -> np.ndarray:
        """A row for each step."""
        ...

    @property
    def heard(self) -> Any:
        """Warnings of the run."""
        ...

    @property
    def parameters(self) -> list[tuple[str, np.ndarray]]:
        """The names of the parameters, and their best values."""
        ...

    def pause(self) -> None:
        """Pauses."""

    def stop(self, wait: bool = True, why: str = "") -> None:
        """Stops."""

    def resume(self, steps: int | None = None) -> None:
        """Goes on."""


def state(steered: Steered) -> str:
    """Its status, what it was asked for, and why it has ended."""
    pending = {"stop": ", stopping", "pause": ", pausing"}.get(steered.pending, "")
    return f"{steered.status}{pending}: {steered.message}" if steered.message else steered.status + pending


def numbers(steered: Steered, history: np.ndarray) -> str:
    """How far it is, and what it has reached."""
    text = f"{steered.done:,} of {steered.steps:,} steps"
    if len(history):
        last = history[-1]
        text += f"{steered.track}, gradient {last['gradient_norm']:.3g}, {last['seconds']:.1f} s"
    return text


def curves(history: np.ndarray) -> str:
    """The loss and the norm of the gradient over the steps."""
    if len(history) < 2:
        return ""
    some = history[np.unique(np.linspace(0, len(history) - 1, _MOST_POINTS).astype(int))]
    drawn = [
        Series("loss", some["step"], some["loss"], BLUE),
        Series("gradient norm", some["step"], some["gradient_norm"], ORANGE),
    ]
    end, log = int(history["step"][-1]), bool((some["loss"] > 0).all())
    if log:
        return chart("loss and gradient norm of each step", drawn, end, True, axis="step")
    return "".join(chart(f"{s.name} of each step", [s], end, s.name != "loss", axis="step") for s in drawn)


def notes(steered: Steered) -> str:
    """What it has stopped, what has changed, warnings of the run, and the error with which it has failed."""
    error = steered.error if steered.status == "failed" else None
    texts = [each for each in (steered.replaces, steered.changed) if each]
    texts += [render([d]) for d in steered.heard.values() if isinstance(d, Diagnostic)]
    if error is not None:
        texts.append("".join(error_lines(error)))
    pre = "<pre style='margin: 4px 0; background: none; color: inherit; white-space: pre-wrap'{}>{}</pre>"
    return "".join(
        pre.format(" role='alert'" if error is not None and t is texts[-1] else "", _lines(t)) for t in texts
    )


def _lines(text: str) -> str:
    return "\n".join(shown(line) for line in text.splitlines())
