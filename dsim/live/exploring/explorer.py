"""An explorer: runs again where a control has moved, and shows what that gave."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from dsim.diagnostics import Diagnostic, DsimError
from dsim.diagnostics.frames import outermost
from dsim.live import followers
from dsim.live.exploring.controls import ExploreControl
from dsim.live.exploring.explored_run import ExploredRun
from dsim.live.exploring.initial_state import InitialState
from dsim.live.exploring.inputs import ExplorerInputs, in_use
from dsim.live.exploring.marks import still_explorer
from dsim.live.exploring.meanings import MeaningsOfNames, compare_after_cells, compare_others
from dsim.live.exploring.picture import Beginning, picture_of
from dsim.live.latest import Latest
from dsim.live.lifetime import outputs
from dsim.live.scene.encoding import limits_of
from dsim.live.scene.layers import Points
from dsim.live.scene.numbers import refused
from dsim.live.shown import PLAYER, MimeBundle, ShownView, page_budget
from dsim.live.view import View
from dsim.runtime.checking import runs
from dsim.runtime.fields.fields import Field
from dsim.runtime.recording import zeros
from dsim.runtime.state import turns
from dsim.runtime.state.evaluations import EVALUATING
from dsim.runtime.state.notices import overheard
from dsim.runtime.state.stack import opened
from dsim.runtime.tapes.tape import Tape

_MOST = 200  # losses in the curve
_LONG = 0.3  # seconds of a run, from which on a person is told to wait for the next one
_STOPPED = "stopped: move a slider to continue"
_ADVICE = "pause or stop it first"


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
    losses : list of float
        Those of the newest runs that had one.
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
        self._wrt = tuple(wrt)
        self._state = InitialState([*wrt, *(c.field for c in controls if c.field is not None)])
        self.view: View | None = None
        self.controls = controls
        self._inputs = ExplorerInputs(wrt, controls, self._state)
        self.found = ExploredRun()
        self._names = MeaningsOfNames([f for f in (run, reset) if f is not None], self._fields())
        self._outdated = self._written = ""
        self.runs = 0
        self._takes = 0.0  # seconds
        self.losses: list[float] = []
        self._panel: Any = None
        self._shown: ShownView | None = None  # where a page without a kernel has it
        self._lock = threading.RLock()
        self._latest = Latest(self._moved, self._stopped)
        self.update()
        compare_after_cells(self)

    def show(self, picture: View | None) -> None:
        """Takes a picture, or makes one: of the first field that a run begins with and that can be drawn.

        Points of a picture that are numbers that runs begin with can be dragged.
        """
        if picture is None:
            picture = picture_of(self._wrt, self._loss, self._state, lambda: bool(self.found.problem))
        else:
            for layer in picture.scene.layers:
                layer.drag |= isinstance(layer, Points) and any(layer.at is field for field in self._wrt)
        if picture is not None:
            self.view = picture
            before = getattr(picture.on("drag", self._dragged), "__self__", None)
            picture.on("paint", self._painted)
            self._show()
            if isinstance(before, Explorer):
                before.loses_its_picture()

    def loses_its_picture(self) -> None:
        """Is out of date, since another explorer shows its picture and hears what is dragged there."""
        self.view = None
        self._names.give_up("another explorer has its picture")
        self.compare()

    @outermost
    def set(self, **values: float) -> None:
        """Sets controls by their names, and runs.

        Raises
        ------
        DsimError
            When there is no such control, its slider cannot show the value, the person's program has
            another run by now, or an optimisation that runs uses the control's field; then none is set.
        """
        self._refuse()
        known = {c.name: c for c in self.controls}
        for name in values.keys() - known.keys():
            advice = (
                f"there are {', '.join(known)}" if known else "name a field, or a parameter, in `controls=`"
            )
            raise refused(f"there is no control {name!r}", advice)
        for control, value in [(known[name], known[name].accept(v)) for name, v in values.items()]:
            control.put(value)
            self._inputs.moved(control.name)
        self.update()

    def update(self) -> None:
        """Runs with the present values, and shows the results; an error is shown in their place.

        An error that is not dsim's own is raised, too.

        Raises
        ------
        DsimError
            When the person's program has another run by now, or other fields, an optimisation that runs uses
            a field that a person has moved, or inside a tape or forward mode: it does not run then.
        """
        self._update([])

    def _update(self, heard: Sequence[Diagnostic]) -> None:
        """Runs, and shows the results with the warnings that were `heard` by then."""
        self._refuse()
        used = ""
        try:
            # Cells read the gradients, and did not ask for them.
            with self._lock, EVALUATING, turns.of_everybody():
                self._inputs.follow()
                used = self._inputs.used()
                if not used:
                    self.runs += 1
                    self._inputs.ran()
                    began = time.monotonic()
                    self.found = replace(self._evaluated(), warnings=_messages(heard))
                    self._takes = time.monotonic() - began
                    if self.found.loss is not None:
                        self.losses = [*self.losses, self.found.loss][-_MOST:]
        except BaseException as error:
            self.found = ExploredRun(problem=_problem(error))
            if not isinstance(error, DsimError):
                raise
        finally:
            if used:
                self.found = replace(self.found, note=f"{used}: {_ADVICE}")
            else:
                self._names.ran()
                self._outdated = self._written = ""
            self._show()
        if used:
            raise refused(used, _ADVICE)

    def _refuse(self) -> None:
        """Refuses to run another program than at first, and in a block that would record the run."""
        if opened():
            message = "an explorer cannot run inside a tape, a forward mode or `no_grad`"
            raise refused(message, "call it outside the block")
        self.compare()
        if replaced := self._names.replaced:
            advice = "execute the cell with `ds.explore(…)` again"
            raise refused(f"this explorer is out of date: {replaced}", advice)

    def compare(self) -> None:
        """Shows whether it is out of date; sliders stop where the run is another one, or fields are."""
        told = self._names.told() or self._written_since()
        if told == self._outdated:
            return
        self._outdated = told
        if self.view is not None:
            self.view.say(self._told().told())
        if self._panel is not None:
            self._panel.follow(self._told(), self.losses, stopped=bool(self._names.replaced))
        if told != self._written:  # a page without a kernel keeps what the run gave when its cell ended
            self._embed()

    def _written_since(self) -> str:
        """Why it is out of date where others have written to its fields: as found when none evaluates."""
        if EVALUATING.acquire(blocking=False):
            try:
                self._inputs.follow()
                self._written = self._inputs.told()
            finally:
                EVALUATING.release()
        return self._written

    def _told(self) -> ExploredRun:
        """What is shown: nothing of a run that is out of date."""
        return ExploredRun(problem=self._outdated, note=self.found.note) if self._outdated else self.found

    def _fields(self) -> list[Field]:
        """Those that it was given."""
        controlled = [c.field for c in self.controls]
        return [f for f in (*self._wrt, self._loss, *controlled) if f is not None]

    def _moved(self) -> None:
        """Runs after a move in the page, where nobody would see an error that is raised, or a warning."""
        if self._panel is not None and self._takes > _LONG:
            self._panel.wait()
        with suppress(Exception), overheard() as heard:  # of the run: `_update` shows them
            self._update(heard)

    def _show(self) -> None:
        if self.view is not None:
            self.view.hold(self._told().told())
        if self._panel is not None:
            self._panel.follow(self._told(), self.losses)
        self._embed()
        compare_others(self)
        followers.tell(self._arguments())

    def _arguments(self) -> dict[str, float]:
        """The numbers that the run gets as arguments."""
        return {c.name: int(c.value) if c.whole else c.value for c in self.controls if c.field is None}

    def _evaluated(self) -> ExploredRun:
        with self._state.again():
            if self._reset is not None:
                runs.call(self._reset)
            self._begin()
            return self._run_with(self._arguments())

    def _begin(self) -> None:
        """Gives `wrt` and the controls their numbers."""
        for field in self._wrt:
            field.from_numpy(self._state.start(field))
        for control in self.controls:
            if control.field is not None:
                control.field.fill(int(control.value) if control.whole else control.value)

    def _run_with(self, named: dict[str, float]) -> ExploredRun:
        if self._loss is None:
            with self._state.watched():
                runs.call(self._run, **named)
            return ExploredRun()
        with zeros.inside("the run of the explorer"), Tape(self._loss), self._state.watched():
            runs.call(self._run, **named)
        gradients = {
            c.name: _number(c.field.grad) for c in self.controls if c.field is not None and c.field.needs_grad
        }
        return ExploredRun(self._loss.name, _number(self._loss), gradients)

    def _stopped(self) -> None:
        self.found = ExploredRun(problem=_STOPPED)
        self._show()

    # -- the picture, and what a person does in it

    def _dragged(self, message: dict[str, Any]) -> None:
        self._write(message, int(message["index"]), message["position"])

    def _painted(self, message: dict[str, Any]) -> None:
        i, j = (int(n) for n in message["cell"])
        self._write(message, (i, j), None)

    def _write(self, message: dict[str, Any], place: Any, value: Any) -> None:
        """Writes to the field of a layer, and asks for a run; not where an optimisation uses the field."""
        assert self.view is not None
        layer = self.view.scene.layers[int(message["layer"])]
        field = layer.values if layer.kind == "grid" else getattr(layer, "at", None)
        field = field.field if isinstance(field, Beginning) else field
        if not isinstance(field, Field) or field not in self._wrt:
            return
        if used := in_use(field):
            self.found = replace(self.found, note=f"{used}: {_ADVICE}")
            self._show()
            return
        with self._lock:
            self._state.follow(field)
            numbers = self._state.start(field)
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
            self._panel.follow(self._told(), self.losses, stopped=bool(self._names.replaced))
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

    def _ipython_display_(self) -> None:
        if page_budget() is None:
            raise NotImplementedError  # IPython then asks for the bundle
        self._shown = ShownView(lambda: ({"text/plain": repr(self)}, {}))
        self._embed()

    def _embed(self) -> None:
        if self._shown is not None:
            self._shown.renew(self._still)

    def _still(self) -> MimeBundle:
        """What a page without a kernel has, after the last run of the cell."""
        kept = {} if self.view is None else self.view.bundle(self.view.png())[0]
        page = still_explorer(kept.get("text/html", ""), self.controls, self._told(), self.losses)
        return {**kept, "text/plain": repr(self), "text/html": page}, PLAYER

    def __repr__(self) -> str:
        values = ", ".join(f"{c.name} = {c.value:.6g}" for c in self.controls)
        told = "; ".join(part for part in (values, self._told().told()) if part)
        name = f"explorer of {getattr(self._run, '__name__', 'a run')}"
        return f"{name}: {told}" if told else name

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


def _problem(error: BaseException) -> str:
    """What is shown of an error of a run."""
    if isinstance(error, KeyboardInterrupt):
        return _STOPPED
    if isinstance(error, DsimError) and error.diagnostics:
        return error.diagnostics[0].message
    return f"{type(error).__name__}: {error}"


def _messages(heard: Sequence[Diagnostic]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(d.message for d in heard))


def _number(field: Field) -> float:
    return float(field.to_numpy().reshape(())[()])
