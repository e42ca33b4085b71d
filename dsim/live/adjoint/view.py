"""`ds.adjoint_view`: the states of a field forwards, and the adjoint of each flowing back."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets

from dsim.diagnostics.frames import outermost
from dsim.live.adjoint.element_norms import element_norms
from dsim.live.adjoint.picture import AdjointScene
from dsim.live.adjoint.still import still
from dsim.live.files.saving import PageParts
from dsim.live.scene.numbers import refused
from dsim.live.scene.scene import ViewFrame
from dsim.live.scene.thinning import MOST
from dsim.live.steps import StepFrames
from dsim.live.view import View
from dsim.live.widget import ViewWidget
from dsim.runtime.fields.fields import kind_of
from dsim.runtime.inspection.adjoint_trajectory import AdjointTrajectory

_SHARE = 0.25  # of a page's budget, for the norms of elements


class AdjointWidget(ViewWidget):
    """A view of a trajectory in the page.

    Attributes
    ----------
    followed : dict
        The name and the norms of the element that is followed; empty without one.
    """

    followed = traitlets.Dict().tag(sync=True)


class AdjointView(View):
    """The states of a trajectory and their adjoints, step by step, and the norm at each step.

    Attributes
    ----------
    trajectory : AdjointTrajectory
        What is shown.
    """

    def __init__(self, trajectory: AdjointTrajectory, picture: AdjointScene) -> None:
        super().__init__(picture.scene, 0)
        self.trajectory = trajectory
        self.recording = StepFrames(self._made, len(trajectory.steps))
        self._drawn_steps = picture
        self.on("pick", self._picked)

    def follow(self, index: int | tuple[int, ...] | None) -> None:
        """Follows one element: it is marked, and its norm is a second curve.

        Parameters
        ----------
        index : int or tuple of int or None
            The element, as in ``x[index]``; None follows none.

        Raises
        ------
        GradientError
            When there is no such element.
        """
        element = None
        if index is not None:
            self.trajectory.norms_of(index)
            element = int(np.ravel_multi_index(self._positive(index), self.trajectory.shape or (1,)))
        self._follow(element)

    def _positive(self, index: int | tuple[int, ...]) -> tuple[int, ...]:
        given = index if isinstance(index, tuple) else (operator.index(index),)
        shape = self.trajectory.shape
        return tuple(i % n for i, n in zip(given, shape, strict=True)) if shape else (0,)

    def _picked(self, message: dict[str, Any]) -> None:
        found = self._drawn_steps.picked(int(message["layer"]), int(message["index"]))
        self._follow(found if found != self._drawn_steps.element else None)

    def _follow(self, element: int | None) -> None:
        with self._lock:
            self._drawn_steps.element = element
            if self._widget is not None:
                self._tell_followed(self._widget)

    def _tell_followed(self, widget: Any) -> None:
        picture = self._drawn_steps
        if picture.element is None:
            widget.followed = {}
            return
        norms = self.trajectory.norms_of(picture.index(picture.element))
        widget.followed = {"name": picture.named(picture.element), "norms": picture.as_json(norms)}

    def _new_widget(self) -> ViewWidget:
        made = AdjointWidget(self.scene.json(), repr(self))
        self._tell_followed(made)
        return made

    def _frame(self) -> ViewFrame:
        with self._lock:
            self._numbers += 1
            found = self._made(0)
            return ViewFrame({**found.header, "number": self._numbers}, found.data)

    def _made(self, number: int) -> ViewFrame:
        with self._lock:  # a page may ask for another in a thread of its own
            self._drawn_steps.at = number
            return self.scene.frame(number, None, self._drawn_steps.text())

    def record(self, step: int | None = None, text: str = "") -> None:
        """Refused: the frames are those of the trajectory."""
        raise refused("a view of a trajectory has its frames", "`ds.view(x)` records others")

    def png(self) -> bytes:
        """A PNG of some steps and the norms."""
        return still(self.trajectory, self.scene.json(), self.recording)

    def _page_parts(self, budget: int) -> PageParts:
        """The page follows elements itself: frames have no mark, and the norms of all elements come along."""
        picture = self._drawn_steps
        with self._lock:
            followed, picture.element = picture.element, None
            try:
                frames = [*self.recording]
            finally:
                picture.element = followed
        scene, count = self.scene.json(), math.prod(self.trajectory.shape)
        told = element_norms(self.trajectory) if count <= MOST else None
        if told is None or len(told["data"]) > budget * _SHARE:
            size = "very many" if told is None else f"{len(told['data']):,} bytes of"
            chart = scene["chart"]
            left_out = f"{chart['told']} · elements cannot be followed here: there are {size} norms"
            return {**scene, "chart": {**chart, "told": left_out}}, frames, budget
        elements = {**told, **picture.names(), "followed": followed}
        return {**scene, "elements": elements}, frames, budget - len(told["data"])

    @property
    def _name(self) -> str:
        return f"view of the {self.trajectory!r}"

    def __repr__(self) -> str:
        return self._name


@outermost
def adjoint_view(
    trajectory: AdjointTrajectory,
    *,
    indices: Any = None,
    colormap: str = "viridis",
    bounds: Sequence[Sequence[float]] | None = None,
    title: str | None = None,
) -> AdjointView:
    """The states of a trajectory forwards, and their adjoints flowing back, with a slider over the steps.

    Vectors of 2 or 3 numbers are points, with arrows along the negative gradient; numbers with two axes
    are two grids, state and adjoint; other numbers are points over their index, or over the steps. A click
    at a point or cell follows it.

    Parameters
    ----------
    trajectory : AdjointTrajectory
        What `Tape.trajectory` gave, after the tape's block.
    indices : field or array, optional
        Pairs or triples of positions, joined by lines or triangles.
    colormap : str, default "viridis"
        The colour map of the states of a grid.
    bounds : sequence of (float, float), optional
        What the picture shows, for each dimension; by default what the states of all steps need.
    title : str, optional
        Its name for people, and for screen readers.

    Returns
    -------
    AdjointView
        The last line of a cell shows it. ``save("x.html")`` writes a page, ``save("x.gif")`` a video.

    Raises
    ------
    DsimError
        When there is no picture of such states, or the block of the tape has not ended.

    Examples
    --------
    >>> import dsim as ds
    >>> x = ds.field(ds.f64, shape=3, needs_grad=True, name="x")
    >>> y = ds.field(ds.f64, shape=(), needs_grad=True, name="y")
    >>> @ds.kernel
    ... def half():
    ...     for i in x:
    ...         x[i] *= 0.5
    >>> @ds.kernel
    ... def total():
    ...     for i in x:
    ...         y[None] += x[i]
    >>> with ds.Tape(y) as tape:
    ...     found = tape.trajectory(x)
    ...     for _ in range(20):
    ...         half()
    ...     total()
    >>> print(ds.adjoint_view(found))
    view of the adjoint of `x` over 22 calls, 0 to 21: float64[22, 3]
      norm 0 at call 21, 1.652e-06 at call 0
      shrinks 1e+06-fold from call 20 back to call 0: vanishing
      0 from call 21 on: what comes then reads it no more
    """
    if not isinstance(trajectory, AdjointTrajectory):
        message = f"`adjoint_view` takes a trajectory, not {kind_of(trajectory)}"
        raise refused(message, "`found = tape.trajectory(x)` inside the block, then `ds.adjoint_view(found)`")
    return AdjointView(trajectory, AdjointScene(trajectory, indices, colormap, bounds, title))
