"""What a view of a trajectory draws: the state of a step, and its adjoint as arrows or as heat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsim.live.scene.encoding import Packer, limits_of
from dsim.live.scene.layers import Arrows, Bounds, GridLayer, Layer, Lines, Mesh, Points
from dsim.live.scene.numbers import refused
from dsim.live.scene.scene import Scene
from dsim.runtime.inspection.adjoint_trajectory import AdjointTrajectory

_SIGNED = "RdBu_r"
FOLLOWED = "followed"
_MARK = "#d64545"
_HALO, _SPOT = 16.0, 8.0  # pixels of the mark behind a point, and in a cell
_GAP = 0.06  # of the width of a grid, between state and adjoint
_GRAPH = 0.5  # the height of a graph over its width


@dataclass(kw_only=True)
class PartGrid(GridLayer):
    """A grid in a part of the picture.

    Attributes
    ----------
    box : list of [float, float]
        The part.
    """

    box: Bounds

    def scene(self) -> dict[str, Any]:
        """What never changes of it, as JSON."""
        return {**super().scene(), "box": self.box, "shows": self.name}

    def bounds(self) -> Bounds | None:
        """The part."""
        return self.box


class ChartedScene(Scene):
    """A scene with a chart below: which layers belong to the way back, and which are not clicked at.

    Parameters
    ----------
    layers, title, bounds
        As of `Scene`.
    chart : dict
        The curve, as JSON.
    """

    def __init__(self, layers: Sequence[Layer], title: str, bounds: Any, chart: dict[str, Any]) -> None:
        super().__init__(layers, title, bounds)
        self._chart = chart

    def json(self) -> dict[str, Any]:
        """What the page is told once."""
        made = super().json()
        for layer, told in zip(self.layers, made["layers"], strict=True):
            told["backward"] = isinstance(layer, Arrows | Heat)
            told["unpicked"] = layer.name == FOLLOWED
        return {**made, "chart": self._chart}


class AdjointScene:
    """The picture of one step of a trajectory, which `at` selects.

    Parameters
    ----------
    trajectory : AdjointTrajectory
        What is drawn.
    indices : array, optional
        Pairs or triples of positions, joined by lines or triangles.
    colormap : str
        Of the states of a grid.
    bounds : sequence of (float, float), optional
        What the picture shows; by default what the states of all steps need.
    title : str, optional
        Its name for people.

    Attributes
    ----------
    at : int
        The place of the step in the trajectory.
    element : int or None
        The element that is followed, in the order of the field.
    scene : Scene
        What is drawn.
    shown : str
        The adjoint in words: ``"arrows"``, along the negative gradient, or ``"heat"``.
    """

    def __init__(
        self,
        trajectory: AdjointTrajectory,
        indices: Any,
        colormap: str,
        bounds: Sequence[Sequence[float]] | None,
        title: str | None,
    ) -> None:
        self.at = 0
        self.element: int | None = None
        self._of = trajectory
        self._name, self._loss = trajectory.name.strip("`"), trajectory.loss.strip("`")
        entry, axes = trajectory.entry_shape, len(trajectory.shape)
        self._graph = not entry and axes < 2
        self.shown = "heat" if not entry and axes == 2 else "arrows"
        if entry in ((2,), (3,)):
            layers, found = self._points(indices), _box(trajectory.states)
        elif self._graph:
            layers, found = self._graph_layers(), [[0.0, 1.0], [0.0, _GRAPH]]
        elif self.shown == "heat":
            layers, found = self._grids(colormap), None
        else:
            raise refused(
                f"states of {trajectory.name} of shape {trajectory.states.shape[1:]} have no picture",
                "`plot()` draws the norms of any; `states` and `adjoints` are the numbers",
            )
        if indices is not None and entry not in ((2,), (3,)):
            raise refused(
                "`indices` join positions, and these are no vectors of 2 or 3 numbers", "leave `indices=` out"
            )
        title = title or f"{self._name} and its adjoint"
        self.scene = ChartedScene(layers, title, bounds or found, self._chart())
        self.scene.json()
        self.scene.frame(0)  # what cannot be drawn is refused here

    @property
    def gradient(self) -> str:
        """What the adjoint is called."""
        return f"∂{self._loss}/∂{self._name}"

    def _state(self) -> np.ndarray:
        return self._of.states[self.at]

    def _adjoint(self) -> np.ndarray:
        return self._of.adjoints[self.at]

    def _chart(self) -> dict[str, Any]:
        of = self._of
        name, norms = f"‖{self.gradient}‖", self.as_json(of.norms)
        summary = "; ".join([f"{name} over {len(of.steps):,} {of.unit}s", *of.summary])
        told = " · ".join([*of.summary, *([of.note] if of.note else [])])
        return {
            "name": name, "unit": of.unit, "steps": of.steps.tolist(), "norms": norms,
            "summary": summary, "told": told,
        }  # fmt: skip

    @staticmethod
    def as_json(norms: np.ndarray) -> list[float | None]:
        """Norms as JSON; None for those that are not finite."""
        return [float(n) if np.isfinite(n) else None for n in norms]

    # -- positions

    def _positions(self) -> np.ndarray:
        return self._state().reshape(-1, self._of.entry_shape[0])

    def _points(self, indices: Any) -> list[Layer]:
        layers: list[Layer] = []
        if indices is not None:
            joined = Lines if np.asarray(indices).shape[-1] == 2 else Mesh
            layers.append(joined(name=f"{self._name} joined", at=self._positions, indices=indices))
        layers.append(self._followed(self._positions))
        layers.append(Points(name=self._name, at=self._positions))
        downhill = lambda: -self._adjoint().reshape(-1, self._of.entry_shape[0])  # noqa: E731
        layers.append(Arrows(name=f"−{self.gradient}", at=self._positions, vectors=downhill))
        return layers

    def _followed(self, positions: Any, size: float = _HALO) -> Layer:
        def at() -> np.ndarray:
            every = positions()
            if self.element is None:
                return np.full((1, every.shape[1]), np.nan)
            return every[self.element :: max(1, self._count())]  # in each of two grids

        return Points(name=FOLLOWED, at=at, color=_MARK, size=size, gaps=True)

    def _count(self) -> int:
        return int(np.prod(self._of.shape, dtype=np.int64))

    # -- graphs: numbers without an axis over the steps, numbers with one over its index

    def _graph_layers(self) -> list[Layer]:
        states = self._of.states
        low, high = limits_of(states)
        margin = 0.1 * (high - low) or 1.0
        self._low, self._high = low - margin, high + margin
        layers: list[Layer] = []
        if not self._of.shape:
            history = self._placed(np.arange(len(states)), states, len(states))
            layers.append(Lines(name=f"{self._name} over the {self._of.unit}s", at=history, gaps=True))
        layers.append(self._followed(self._graph_points))
        layers.append(Points(name=self._name, at=self._graph_points, size=9 if not self._of.shape else None))
        layers.append(Arrows(name=f"−{self.gradient}", at=self._graph_points, vectors=self._upwards))
        return layers

    def _graph_points(self) -> np.ndarray:
        state = self._state()
        if not self._of.shape:
            return self._placed(np.array([self.at]), state.reshape(1), len(self._of.states))
        return self._placed(np.arange(len(state)), state, len(state))

    def _placed(self, index: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
        across = (index + 0.5) / count
        up = (values.astype(np.float64) - self._low) / (self._high - self._low) * _GRAPH
        return np.stack([across, up], axis=-1)

    def _upwards(self) -> np.ndarray:
        adjoint = self._adjoint().reshape(-1)
        return np.stack([np.zeros_like(adjoint), -adjoint], axis=-1)

    # -- grids

    def _grids(self, colormap: str) -> list[Layer]:
        width, height = self._of.shape
        begin = width * (1 + _GAP)
        left, right = ([[0.0, width], [0.0, height]], [[begin, begin + width], [0.0, height]])
        limits = limits_of(self._of.states)
        fixed = limits if limits[0] < limits[1] else None

        def centres() -> np.ndarray:
            i, j = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5, indexing="ij")
            one = np.stack([i, j], axis=-1).reshape(-1, 2)
            return np.concatenate([one, one + np.array([begin, 0.0])])

        return [
            PartGrid(name=self._name, values=self._state, colormap=colormap, limits=fixed, box=left),
            Heat(name=self.gradient, values=self._adjoint, colormap=_SIGNED, box=right),
            self._followed(centres, _SPOT),
        ]

    # -- words

    def text(self) -> str:
        """The numbers of the step."""
        adjoint, norm = self._adjoint(), self._of.norms[self.at]
        bad = adjoint.size - np.count_nonzero(np.isfinite(adjoint))
        words = [f"{self._of.unit} {self._of.steps[self.at]:,}"]
        words.append(f"‖{self.gradient}‖ = {norm:.3g}" if not bad else f"{bad:,} adjoints are not finite")
        if self.element is not None:
            words.append(f"{self.named(self.element)}: {self._element_text(adjoint)}")
        return " · ".join(words)

    def _element_text(self, adjoint: np.ndarray) -> str:
        assert self.element is not None
        values = adjoint.reshape(self._count(), -1)[self.element]
        numbers = ", ".join(f"{value:.3g}" for value in values)
        return f"{self.gradient} = {numbers if len(values) == 1 else f'({numbers})'}"

    def names(self) -> dict[str, str]:
        """What the field and its adjoint are called."""
        return {"name": self._name, "gradient": self.gradient}

    def index(self, element: int) -> tuple[int, ...]:
        """The index of an element in the field."""
        return tuple(int(i) for i in np.unravel_index(element, self._of.shape))

    def named(self, element: int) -> str:
        """An element, as a user writes it."""
        return f"{self._name}[{', '.join(map(str, self.index(element))) or 'None'}]"

    def picked(self, layer: int, index: int) -> int | None:
        """The element that a person has clicked at, if it is one."""
        kind = self.scene.layers[layer].kind if 0 <= layer < len(self.scene.layers) else ""
        if self.scene.layers[layer].name == FOLLOWED or kind not in ("points", "arrows", "grid"):
            return self.element
        return index if 0 <= index < self._count() else None


@dataclass(kw_only=True)
class Heat(PartGrid):
    """An adjoint: white where it is 0, with colours that are the same above and below."""

    def _coloured(self, packer: Packer, values: np.ndarray) -> dict[str, Any]:
        low, high = limits_of(values)
        most = max(abs(low), abs(high)) or 1.0
        return {"values": packer.quantised(values, -most, most, 8)}


def _box(states: np.ndarray) -> Bounds:
    """What all states need, with a margin."""
    rows = states.reshape(-1, states.shape[-1])
    box = [list(limits_of(column)) for column in rows.T]
    widest = max(high - low for low, high in box) or 1.0
    return [[low - 0.12 * widest, high + 0.12 * widest] for low, high in box]
