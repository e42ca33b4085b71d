"""The values of a field at many steps of a tape, and the adjoint of each: both are arrays over the steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.render import printable
from dsim.runtime.inspection import adjoint_growth
from dsim.runtime.inspection.profiling import norm


class AdjointTrajectory:
    """The states of a field while a tape recorded, and the gradient of the loss with respect to each.

    Before the tape's block has ended there are no gradients, and the arrays raise an error.

    Attributes
    ----------
    name, loss : str
        The field and the loss, as messages name them.
    unit : str
        What `steps` counts: ``"call"``, or ``"step"`` where loops have checkpoints.
    entry_shape : tuple of int
        The shape of one element of the field: ``()`` for a number, ``(2,)`` for a vector of two.
    note : str
        What a reader has to know of steps that are not there.
    problem : str
        Why there are no arrays; empty once there are.
    """

    def __init__(self, name: str, loss: str, entry_shape: tuple[int, ...]) -> None:
        self.name = name
        self.loss = loss
        self.unit = "call"
        self.entry_shape = entry_shape
        self.note = ""
        self.problem = f"the block of the tape has not ended, so {name} has no adjoints yet"
        self._arrays: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self._norms = self._bad = np.zeros(0)

    def fill(self, steps: np.ndarray, states: np.ndarray, adjoints: np.ndarray) -> None:
        """Sets the arrays, when the backward pass is over."""
        self.problem = ""
        self._arrays = steps, states, adjoints
        self._norms = np.array([norm(a) for a in adjoints], np.float64)
        flat = adjoints.reshape(len(adjoints), -1)
        self._bad = np.array([a.size - np.count_nonzero(np.isfinite(a)) for a in flat], np.int64)
        self._norms[self._bad > 0] = np.nan

    def _filled(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self._arrays is None:
            advice = "use it after the `with` block, once that has ended without an error"
            raise GradientError(Diagnostic("argument", self.problem, help=advice))
        return self._arrays

    @property
    def steps(self) -> np.ndarray:
        """How many calls the tape had recorded before each state, counted as in `tape.calls`.

        Of a loop with checkpoints, each step counts as one.
        """
        return self._filled()[0]

    @property
    def states(self) -> np.ndarray:
        """The values of the field at each of `steps`, along the first axis."""
        return self._filled()[1]

    @property
    def adjoints(self) -> np.ndarray:
        """The gradient of the loss with respect to each of `states`."""
        return self._filled()[2]

    @property
    def norms(self) -> np.ndarray:
        """The Euclidean norm of each of `adjoints`; NaN where one of its numbers is not finite."""
        self._filled()
        return self._norms

    def norms_of(self, index: int | tuple[int, ...]) -> np.ndarray:
        """The norm of the adjoint of one element of the field at each step.

        Parameters
        ----------
        index : int or tuple of int
            The element, as in ``x[index]``; ``()`` for a field without axes.

        Raises
        ------
        GradientError
            When there is no such element.
        """
        at = index if isinstance(index, tuple) else (index,)
        shape = self.shape
        inside = len(at) == len(shape) and all(-n <= i < n for i, n in zip(at, shape, strict=True))
        if not inside:
            message = f"{self.name} has no element {index!r}: its shape is {shape}"
            raise GradientError(Diagnostic("argument", message, help="one index for each axis of the field"))
        found = np.array([norm(a[at]) for a in self.adjoints], np.float64)
        found[~np.isfinite(self.adjoints[(slice(None), *at)]).reshape(len(found), -1).all(1)] = np.nan
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the field, without that of its elements."""
        states = self.states
        return states.shape[1 : states.ndim - len(self.entry_shape)]

    @property
    def summary(self) -> list[str]:
        """What the norms say, each sentence from measured numbers: growth, zeros, numbers not finite."""
        return list(adjoint_growth.sentences(self.steps, self.norms, self._bad, self.unit))

    def __repr__(self) -> str:
        if self._arrays is None:
            return f"<trajectory of {printable(self.name)}: {printable(self.problem)}>"
        steps, states, _ = self._arrays
        count = f"{len(steps):,} {self.unit}s, {steps[0]:,} to {steps[-1]:,}"
        first, last = (f"{n:.4g}" if np.isfinite(n) else "not finite" for n in self._norms[[0, -1]])
        lines = [
            f"adjoint of {self.name} over {count}: {states.dtype}{list(states.shape)}",
            f"norm {last} at {self.unit} {steps[-1]:,}, {first} at {self.unit} {steps[0]:,}",
            *self.summary,
            *([self.note] if self.note else []),
        ]
        return "\n  ".join(map(printable, lines))

    def plot(self, ax: Any = None) -> Any:
        """Draws the norm at each step with matplotlib, on a logarithmic axis; gives the axes.

        Norms that are 0 are triangles at the lower edge, those that are not finite crosses at the upper one.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; new ones without it.
        """
        steps, norms = self.steps, self.norms
        if ax is None:
            import matplotlib.pyplot as plt  # noqa: PLC0415 (takes long)

            ax = plt.subplots(layout="constrained")[1]
        good = np.isfinite(norms) & (norms > 0)
        line = ax.plot(steps, np.where(good, norms, np.nan), ".-", ms=3, linewidth=1)[0]
        if good.any():
            ax.set_yscale("log")
        edges = ax.get_xaxis_transform()  # the height as a part of the axes
        for here, marker, height, label in (
            (norms == 0, "v", 0.02, "0"),
            (~np.isfinite(norms), "x", 0.98, "not finite"),
        ):
            if here.any():
                at = np.full(np.count_nonzero(here), height)
                color = line.get_color() if marker == "v" else "tab:red"
                ax.plot(steps[here], at, marker, color=color, transform=edges, label=label, linestyle="")
        if not good.all():
            ax.legend()
        ax.set(xlabel=self.unit)
        ax.set_ylabel("norm of the adjoint", parse_math=False)
        ax.set_title(printable(f"adjoint of {self.name.strip('`')}"), parse_math=False)
        return ax
