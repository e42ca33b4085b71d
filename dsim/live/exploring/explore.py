"""`ds.explore`: a run, its loss and its gradient follow sliders, and what a person drags."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dsim.diagnostics import DsimError
from dsim.diagnostics.frames import outermost
from dsim.live import followers
from dsim.live.exploring.controls import ExploreControl, controls_of
from dsim.live.exploring.explored_run import ExploredRun
from dsim.live.exploring.initial_state import InitialState
from dsim.live.latest import Latest
from dsim.live.lifetime import outputs
from dsim.live.scene.encoding import limits_of
from dsim.live.scene.layers import Arrows, Layer, Points
from dsim.live.scene.numbers import name_by_variables, refused
from dsim.live.view import View
from dsim.live.viewing import view
from dsim.runtime.fields.fields import Field, kind_of
from dsim.runtime.fields.loss import check as check_loss
from dsim.runtime.state import turns
from dsim.runtime.tapes.tape import Tape


class Explorer:
    """A run whose controls a person moves.

    Attributes
    ----------
    view : View or None
        The picture.
    controls : list of ExploreControl
        What a person sets.
    found : ExploredRun
        What the last run gave.
    runs : int
        How often it ran.
    """

    def __init__(
        self,
        run: Callable[..., Any],
        wrt: list[Field],
        loss: Field | None,
        controls: list[ExploreControl],
        reset: Callable[[], Any] | None,
    ) -> None:
        self._run, self._loss, self._reset = run, loss, reset
        self._start = {field: field.to_numpy() for field in wrt}  # with which each run begins
        self._left: dict[Field, np.ndarray] = {}  # by the last run in the same fields
        self._state = InitialState()
        self.view: View | None = None
        self.controls = controls
        self.found = ExploredRun()
        self.runs = 0
        self._panel: Any = None
        self._lock = threading.RLock()
        self._latest = Latest(self._moved, self._stopped)
        self.update()

    def show(self, picture: View | None) -> None:
        """Takes a picture, or makes one: of the first field that a run begins with and that can be drawn."""
        if picture is None:
            picture = _picture(self._start, self._loss)
        if picture is not None:
            self.view = picture
            picture.on("drag", self._dragged)
            picture.on("paint", self._painted)
            self._show()

    @outermost
    def set(self, **values: float) -> None:
        """Sets controls by their names, and runs.

        Raises
        ------
        DsimError
            When there is no such control, or its slider cannot show the value; then none is set.
        """
        known = {c.name: c for c in self.controls}
        for name in values.keys() - known.keys():
            raise refused(f"there is no control {name!r}", f"there are {', '.join(known)}")
        for control, value in [(known[name], known[name].accept(v)) for name, v in values.items()]:
            control.put(value)
        self.update()

    def update(self) -> None:
        """Runs with the present values, and shows the results; an error is shown in their place."""
        with self._lock:
            try:
                with turns.of_everybody():  # cells read the gradients, and did not ask for them
                    self.found = self._evaluated()
            except DsimError as error:
                problem = error.diagnostics[0].message if error.diagnostics else str(error)
                self.found = replace(self.found, problem=problem)
            self.runs += 1
        self._show()

    def _moved(self) -> None:
        """Runs after a move in the page, where nobody would see an error that is raised."""
        try:
            self.update()
        except Exception as error:  # noqa: BLE001 (any of the run's)
            self.found = replace(self.found, problem=f"{type(error).__name__}: {error}")
            self._show()

    def _show(self) -> None:
        if self.view is not None:
            self.view.hold(self.found.told())
        if self._panel is not None:
            self._panel.follow(self.found)
        followers.tell(self._arguments())

    def _arguments(self) -> dict[str, float]:
        """The numbers that the run gets as arguments."""
        return {c.name: int(c.value) if c.whole else c.value for c in self.controls if c.field is None}

    def _evaluated(self) -> ExploredRun:
        for field, left in self._left.items():
            now = field.to_numpy()
            if not _same(now, left):
                self._start[field][...] = now  # a cell has written to it
        self._state.put_back()
        if self._reset is not None:
            self._reset()
        self._begin()
        try:
            return self._run_with(self._arguments())
        finally:
            self._left = {field: field.to_numpy() for field in self._start}

    def _begin(self) -> None:
        """Gives `wrt` and the controls their numbers."""
        for field, numbers in self._start.items():
            field.from_numpy(numbers)
        for control in self.controls:
            if control.field is not None:
                control.field.fill(int(control.value) if control.whole else control.value)

    def _run_with(self, named: dict[str, float]) -> ExploredRun:
        if self._loss is None:
            with self._state.watched():
                self._run(**named)
            return ExploredRun()
        with Tape(self._loss), self._state.watched():
            self._run(**named)
        gradients = {
            c.name: _number(c.field.grad) for c in self.controls if c.field is not None and c.field.needs_grad
        }
        return ExploredRun(self._loss.name, _number(self._loss), gradients)

    def _stopped(self) -> None:
        self.found = replace(self.found, problem="stopped: move a slider to continue")
        self._show()

    # -- what a person does in the picture

    def _dragged(self, message: dict[str, Any]) -> None:
        self._write(message, int(message["index"]), message["position"])

    def _painted(self, message: dict[str, Any]) -> None:
        i, j = (int(n) for n in message["cell"])
        self._write(message, (i, j), None)

    def _write(self, message: dict[str, Any], place: Any, value: Any) -> None:
        """Writes to the field of a layer, and asks for a run."""
        assert self.view is not None
        layer = self.view.scene.layers[int(message["layer"])]
        field = layer.values if layer.kind == "grid" else getattr(layer, "at", None)
        field = field.field if isinstance(field, _Beginning) else field
        numbers = self._start.get(field) if isinstance(field, Field) else None
        if numbers is None:
            return
        with self._lock:
            if value is None:  # painted: the highest number of the colour map, with Shift the lowest
                low, high = layer.limits or limits_of(numbers)
                value = low if message.get("erase") else max(high, low + 1) if high <= low else high
            rows = numbers if layer.kind == "grid" else numbers.reshape(-1, numbers.shape[-1])
            rows[place] = value
        self._latest.ask()

    # -- the page

    @property
    def widget(self) -> Any:
        """The sliders and the picture, made when they are first asked for."""
        if self._panel is None:
            from dsim.live.exploring.panel import Panel  # noqa: PLC0415 (ipywidgets takes long to import)

            picture = None if self.view is None else self.view.widget
            self._panel = Panel(self.controls, picture, self._latest.ask)
            self._panel.follow(self.found)
            outputs.own(self._panel.widget, self._unshown)
            if self.view is not None:
                self.view.contained = True
        return self._panel.widget

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        data = self.widget._repr_mimebundle_(**kwargs)
        if isinstance(data, dict):
            data["text/plain"] = repr(self)
            if self.view is not None:
                data["image/png"] = base64.b64encode(self.view.png()).decode()  # for pages without a kernel
        return data

    def __repr__(self) -> str:
        values = ", ".join(f"{c.name} = {c.value:.6g}" for c in self.controls)
        told = "; ".join(part for part in (values, self.found.told()) if part)
        return f"explorer of {getattr(self._run, '__name__', 'a run')}: {told}"

    def _unshown(self) -> None:
        """Gives up the widgets, which no output shows any more."""
        self._latest.cancel()
        if self._panel is not None:
            self._panel.close()
            self._panel = None
        if self.view is not None:
            self.view.contained = False
            if not self.view.shown:
                self.view.unshown()

    def close(self) -> None:
        """Removes it from the page."""
        self._unshown()
        if self.view is not None:
            self.view.close()


@outermost
def explore(
    run: Callable[..., Any],
    wrt: Field | list[Field] | None = None,
    loss: Field | None = None,
    controls: Any = None,
    *,
    reset: Callable[[], Any] | None = None,
    picture: View | None = None,
) -> Explorer:
    """A run with a slider for each number that it takes; the picture, the loss and its gradient follow.

    Parameters
    ----------
    run : callable
        A kernel or a function that launches kernels. Its parameters with a number as default have sliders.
    wrt : Field or list of Field, optional
        Fields whose gradient is drawn: positions with arrows along the negative gradient. A person can drag
        them. Each run begins with their numbers as they are now, and as they were dragged since.
    loss : Field, optional
        A single number; then the run is differentiated.
    controls : mapping or sequence, optional
        Ends of sliders by parameter or field of one number: ``{"gravity": (0, 20), stiffness: (0, 1e4)}``.
    reset : callable, optional
        Prepares the state before each run; `wrt` and the controls get their numbers after it. Without it,
        too, what a run has written is put back before the next one, with the random numbers that it drew.
    picture : View, optional
        What `ds.view` made; by default a view of the first field of `wrt`.

    Returns
    -------
    Explorer
        The last line of a cell shows it. ``set(name=value)`` moves a slider from Python.

    Raises
    ------
    DsimError
        When a parameter has no number, a control belongs to nothing, or the loss is in `wrt` or `controls`.

    Examples
    --------
    >>> import dsim as ds
    >>> x, y = (ds.field(ds.f64, shape=(), needs_grad=True, name=name) for name in "xy")
    >>> @ds.kernel
    ... def parabola():
    ...     y[None] = (x[None] - 1) ** 2
    >>> seen = ds.explore(parabola, loss=y, controls={x: (-2, 2)})
    >>> seen.set(x=2.0)
    >>> seen
    explorer of parabola: x = 2; y = 1
    >>> seen.found.gradients
    {'x': 2.0}
    """
    if not callable(run):
        raise refused("`run` is a kernel or a function", "pass the function itself: `run`, not `run()`")
    if controls is not None and not isinstance(controls, Mapping | list | tuple | set):
        raise refused(
            f"`controls` takes ends by parameter or field, not {kind_of(controls)}", "controls={k: (0, 1)}"
        )
    fields = list(wrt) if isinstance(wrt, list | tuple) else [] if wrt is None else [wrt]
    for field in fields:
        if not isinstance(field, Field):
            raise refused(f"`wrt` takes fields, not {kind_of(field)}", "a field, or a list of fields")
        if loss is not None and not field.needs_grad:
            raise refused(
                f"`wrt` takes fields with a gradient, and {field.quoted} has none",
                "declare it with `needs_grad=True`",
            )
    if loss is not None:
        check_loss(loss)
        _refuse_loss(loss, fields, controls or ())
    name_by_variables(run, [f for f in (*fields, loss, *(controls or ())) if isinstance(f, Field)])
    made = Explorer(run, fields, loss, controls_of(run, controls), reset)
    made.show(picture)
    return made


def _refuse_loss(loss: Field, wrt: list[Field], controls: Iterable[Any]) -> None:
    """Refuses the loss where a person names what it depends on."""
    for option, named in (("wrt", wrt), ("controls", controls)):
        if any(each is loss for each in named):
            raise refused(
                f"{loss.quoted} is the loss, with 0 in it when a run begins: it cannot be in `{option}=`",
                f"name in `{option}=` what the loss depends on",
            )


class _Beginning:
    """The numbers of a field with which runs begin, as a layer draws them."""

    def __init__(self, start: dict[Field, np.ndarray], field: Field) -> None:
        self.field = field
        self._start = start

    def __call__(self) -> np.ndarray:
        return self._start[self.field]


def _picture(start: dict[Field, np.ndarray], loss: Field | None) -> View | None:
    """A view of the first field that has positions or a grid, with its gradient.

    The gradient belongs to the numbers that runs begin with. What they end with is drawn, too, if it differs.
    """
    for field, numbers in start.items():
        shape = (*field.shape, *field.entry_shape)
        if len(shape) >= 2 and shape[-1] in (2, 3) and field.entry_shape:
            begin = _Beginning(start, field)
            layers: list[Layer] = [] if loss is None else [_downhill(begin, loss)]
            moved = not np.array_equal(field.to_numpy(), numbers)
            if moved:
                layers.append(Points(name=f"{field.name} at the end", at=field, color="gray"))
            name = f"{field.name} at the beginning" if moved else field.name
            return view(Points(name=name, at=begin, drag=True), *layers, title=field.name)
        if len(shape) == 2 and not field.entry_shape:
            made = view(field)
            made.scene.layers[0].paint = True
            return made
    return None


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return np.array_equal(a, b, a.dtype.kind == "f")


def _number(field: Field) -> float:
    return float(field.to_numpy().reshape(())[()])


def _downhill(begin: _Beginning, loss: Field) -> Arrows:
    """Arrows along the negative gradient; where the first run has failed it is 0, which needs no warning."""
    name = f"−∂{loss.name}/∂{begin.field.name}"
    return Arrows(name=name, at=begin, vectors=lambda: -begin.field.grad.require_memory())
