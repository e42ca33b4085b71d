"""A picture of fields below a cell, which follows them; `viewing.py` makes one."""

from __future__ import annotations

import base64
import math
import threading
from collections.abc import Callable
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from dsim.diagnostics import DsimError
from dsim.diagnostics.frames import outermost
from dsim.live import followers
from dsim.live.files.drawn import still
from dsim.live.files.embedding import embedded
from dsim.live.files.saving import PageParts, save
from dsim.live.files.standalone import player, unplayed
from dsim.live.flow import Flow
from dsim.live.lifetime import outputs
from dsim.live.moments import Moments
from dsim.live.recording import FrameRecording
from dsim.live.scene.layers import Layer
from dsim.live.scene.numbers import refused
from dsim.live.scene.scene import Scene, ViewFrame
from dsim.live.shown import PLAYER, MimeBundle, ShownView, page_budget
from dsim.live.widget import ViewWidget

_ACTS = ("drag", "paint", "pick")


class View:
    """A picture of fields, which a notebook shows where it is the last line of a cell.

    Attributes
    ----------
    scene : Scene
        What it draws.
    recording : FrameRecording
        The frames that its player plays.
    contained : bool
        Whether another widget contains that of the view, and closes it.
    """

    def __init__(self, scene: Scene, budget: int, thinning: bool = False) -> None:
        self.scene = scene
        self.recording = FrameRecording(budget, thinning)
        self.contained = False
        self._numbers = 0
        self._widget: ViewWidget | None = None
        self._flow = Flow(self._send)
        self._moments = Moments(self._frame, self._flow)
        self._lock = threading.RLock()
        self._last: tuple[int | None, str] = None, ""  # what the newest picture is called
        self._closed = False
        self._holding = False  # its newest frame, whatever the fields become
        self._shown: ShownView | None = None  # where it embeds its frames
        self._hearing: dict[str, Callable[[dict[str, Any]], None]] = {
            "drawn": self._drawn,
            "visible": self._seen,
            "want": self._wanted,
        }

    @outermost
    def update(self, step: int | None = None, text: str = "") -> None:
        """Shows the present numbers; costs next to nothing where no page shows them, or none is ready.

        Parameters
        ----------
        step : int, optional
            The number of the step, written below the picture.
        text : str, default ""
            Any other text to be written there.

        Raises
        ------
        DsimError
            When the step is no finite number, or the text no text.
        """
        self._last = _told(step, text)
        self._holding = False
        self._moments.update()
        self._embed()
        followers.tell()

    @outermost
    def record(self, step: int | None = None, text: str = "") -> None:
        """Shows the present numbers, and keeps them for the player.

        Parameters
        ----------
        step : int, optional
            The number of the step; by default the number of the frame.
        text : str, default ""
            Any other text to be written below the picture.

        Raises
        ------
        DsimError
            When the frames need more than the view's `budget`, the view was closed, the step is no finite
            number, or the text no text.
        """
        self._refuse_closed()
        self._last = _told(self.recording.added if step is None else step, text)
        with self._lock:
            frame = self._frame()
            self.recording.add(frame)
            self._holding = True
        self._moments.offer(frame)
        self._embed()
        followers.tell()

    @outermost
    def hold(self, text: str = "") -> None:
        """Shows the present numbers until the next call, whatever the fields hold then.

        Parameters
        ----------
        text : str, default ""
            Any text to be written below the picture.
        """
        self._last = _told(None, text)
        self._holding = True
        self._moments.offer(self._frame())

    def say(self, text: str) -> None:
        """Writes another text below the picture that it holds, whatever the fields hold by now."""
        with self._lock:
            newest = self._moments.newest
            if newest is None:
                return
            self._last = None, text
            self._numbers += 1
            frame = ViewFrame({**newest.header, "number": self._numbers, "text": text}, newest.data)
        self._moments.offer(frame)

    def on(
        self, event: str, function: Callable[[dict[str, Any]], None]
    ) -> Callable[[dict[str, Any]], None] | None:
        """Calls `function` with each message of the page about `event`: ``drag``, ``paint`` or ``pick``.

        Gives the function that was called until now.
        """
        if event not in _ACTS:
            raise refused(f"a view hears of {', '.join(_ACTS)}, not of {event!r}", "name one of these")
        before = self._hearing.get(event)
        self._hearing[event] = function
        return before

    def _frame(self) -> ViewFrame:
        with self._lock:
            self._numbers += 1
            bounds = self.scene.bounds
            frame = self.scene.frame(self._numbers, *self._last)
            if self._widget is not None and self.scene.bounds is not bounds:
                self._widget.scene = self.scene.json()
            return frame

    def _send(self, frame: ViewFrame) -> None:
        if self._widget is not None:
            self._say(frame, recorded=len(self.recording))

    def _say(self, sent: ViewFrame, **more: int | str) -> None:
        assert self._widget is not None
        notes = sent.header.get("note", ""), self.recording.note
        header = {**sent.header, **more, "note": " · ".join(note for note in notes if note)}
        self._widget.send({"type": "frame", "header": header}, [sent.data])

    # -- the page

    def _heard(self, message: dict[str, Any]) -> None:
        hear = self._hearing.get(str(message.get("type")))
        if hear is not None:
            if "index" in message:
                message = {
                    **message,
                    "index": self.scene.index_of(int(message["layer"]), int(message["index"])),
                }
            hear(message)

    def _seen(self, message: dict[str, Any]) -> None:
        visible = bool(message.get("visible"))
        news = self._flow.seen(visible, _page(message), message.get("number"))
        if news and visible and self._widget is not None:
            self._widget.send({"type": "recorded", "count": len(self.recording)})
            self._moments.appeared(present=not self._holding)

    def _drawn(self, message: dict[str, Any]) -> None:
        self._moments.drawn(int(message["number"]), _page(message))

    def _wanted(self, message: dict[str, Any]) -> None:
        frame = self.recording.at(int(message["frame"]))
        if frame is not None and self._widget is not None:
            self._say(frame, frame=int(message["frame"]), page=_page(message))

    @property
    def widget(self) -> ViewWidget:
        """The widget, made when it is first asked for, and again when no output shows the one before."""
        with self._lock:
            if self._widget is None:
                self._widget = self._new_widget()
                self._widget.heard = self._heard
                outputs.own(self._widget, self.unshown)
            return self._widget

    def _new_widget(self) -> ViewWidget:
        return ViewWidget(self.scene.json(), repr(self))

    @property
    def shown(self) -> bool:
        """Whether an output has it, be it in sight or not."""
        return self._widget is not None and (self._widget._view_count or 0) > 0

    def unshown(self) -> None:
        """Gives up the widget, which no output shows any more."""
        with self._lock:
            if self._widget is not None and not self.contained:
                self._flow.closed()
                self._widget.close()
                self._widget = None

    @outermost
    def save(self, path: str | Path, rate: float = 30.0, budget: int = 20_000_000) -> None:
        """Writes a picture of the present numbers, a video of the recording, or a page that plays it.

        Parameters
        ----------
        path : str or Path
            Ends with ``.png``, ``.gif``, ``.mp4`` (which needs ffmpeg) or ``.html``. The page is one file,
            needs no kernel and no network, and shows the present numbers where there is no recording.
        rate : float, default 30
            Frames of the video per second.
        budget : int, default 20 million
            How many bytes of frames a page has. Where the recording is larger, the page has every second
            frame, or fewer; it says so, and a warning does.

        Raises
        ------
        DsimError
            When the name ends with something else, its folder is not there, the rate is no number above 0,
            there is no recording for a video, or the view was closed.
        """
        self._refuse_closed()
        scene, parts = self.scene.json(), self._page_parts
        save(path, scene, self.recording, self._frame, parts, rate=rate, budget=budget)

    def _page_parts(self, budget: int) -> PageParts:
        """What a page without a kernel has, of which frames may take at most `budget` bytes."""
        return self.scene.json(), [*self.recording], budget

    def bundle(self, picture: bytes | None, **kwargs: Any) -> MimeBundle:
        """What a notebook keeps of it.

        Parameters
        ----------
        picture : bytes or None
            A PNG, for pages and viewers without a kernel; None while it may change.
        **kwargs
            As of ``_repr_mimebundle_``.
        """
        kept = {} if picture is None else {"image/png": base64.b64encode(picture).decode()}
        plain, budget = {"text/plain": self._name}, page_budget()
        if budget is None:
            made = self.widget._repr_mimebundle_(**kwargs)
            data, metadata = made if isinstance(made, tuple) else (made, {})
            return {**data, **plain, **kept}, metadata
        if picture is None:
            return plain, {}
        return {**plain, "text/html": self._player(budget, kept["image/png"]), **kept}, PLAYER

    def _player(self, budget: int, picture: str) -> str:
        scene, frames, left = self._page_parts(budget)
        try:
            found = embedded(frames or [self._now()], left, self.recording.added, self.recording.stride)
        except DsimError as error:
            return unplayed(self.scene.title, picture, error.diagnostics[0].message)
        return player(scene, found)

    def png(self) -> bytes:
        """A PNG of what it shows."""
        frame = self._now()
        if not self._holding:
            self._moments.captured(frame)
        return still(self.scene.json(), frame)

    def _now(self) -> ViewFrame:
        """What it shows: a frame that is held, or the present numbers."""
        newest = self._moments.newest
        return newest if self._holding and newest is not None else self._frame()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.bundle(self.png(), **kwargs)

    def _ipython_display_(self) -> None:
        if page_budget() is None:
            raise NotImplementedError  # IPython then asks for the bundle
        self._shown = ShownView(lambda: self.bundle(None))
        self._embed()

    def _embed(self) -> None:
        if self._shown is not None:
            self._shown.renew(lambda: self.bundle(self.png()))

    @property
    def _name(self) -> str:
        names = ", ".join(map(_called, self.scene.layers))
        return f"view of {names or self.scene.title}"

    def __repr__(self) -> str:
        count = len(self.recording)
        kept = f", {count:,} frame{'s' * (count > 1)}" if count else ""
        return f"{self._name}{kept}"

    def close(self) -> None:
        """Removes the picture from the page, and forgets the recording."""
        self._closed = True
        self.recording.clear()
        self._holding = self.contained = False
        self.unshown()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise refused(
                "this view was closed: its recording is gone",
                "`ds.view(…)` makes another one; `save` a recording before `close()`",
            )


def _called(layer: Layer) -> str:
    """A layer, in words; without a name of the person's it is called after its kind."""
    return layer.kind if layer.name == layer.kind else f"{layer.kind} of {layer.name}"


def _page(message: dict[str, Any]) -> str:
    """Which page says so: one notebook may be open in two."""
    return str(message.get("page", ""))


def _told(step: Any, text: Any) -> tuple[Any, str]:
    """What a picture is called, as pages and files can write it."""
    if not isinstance(text, str):
        raise refused(f"`text` is a text, not {text!r}", f"text={str(text)!r}")
    if step is None or type(step) is int:
        return step, text
    if isinstance(step, Integral):
        return int(step), text
    if not isinstance(step, Real) or not math.isfinite(step):
        raise refused(f"`step` is a number, not {step!r}", "step=1; `text=` takes anything else")
    return float(step), text
