"""The file from which an optimisation goes on: arrays in NumPy's format, and a description as JSON.

It is written beside and then renamed, so that there is a whole file at all times. It never contains pickled
objects, and none are loaded.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.spans import Span
from dsim.files import replaced
from dsim.optimization.points import HISTORY, Iterate
from dsim.optimization.refusal import wrong

_VERSION = 1
_STATE = "state_"


@dataclass(frozen=True)
class KeptState:
    """What a file holds: where an optimisation is, the best point, and its history."""

    point: Iterate
    best: Iterate
    history: np.ndarray


class KeptFile:
    """A file for one optimisation.

    Parameters
    ----------
    path : str or Path
        Where it is.
    description : mapping
        What must agree for a file to fit; numbers, texts and lists of these.
    free : ndarray
        The places of the free numbers.
    state : mapping of str to ndarray
        The state of the method before the first step: its names and shapes.

    Raises
    ------
    GradientError
        When its folder does not exist, or it must not be written to.
    """

    def __init__(
        self, path: Any, description: Mapping[str, Any], free: np.ndarray, state: Mapping[str, np.ndarray]
    ) -> None:
        try:
            self.path = Path(path)
        except TypeError:
            raise wrong(f"`path=` is the name of a file, got {path!r}", 'such as `path="best.npz"`') from None
        self._description = json.loads(json.dumps({"version": _VERSION, **description}))
        self._free, self._state = free, state
        self.place: Span | None = None
        self._failed = False  # when it was written last
        folder = self.path.parent
        if not folder.is_dir():
            raise wrong(f"there is no folder `{folder}` for `path=`", "make it first")
        if self.path.is_dir():
            raise wrong(f"`path=` is the name of a file, and `{self.path}` is a folder", "add a file name")
        if not os.access(self.path if self.path.exists() else folder, os.W_OK):
            advice = "give another `path=`, or change its permissions"
            raise wrong(f"`{self.path}` must not be written to", advice)

    def write(self, kept: KeptState, tell: Callable[[Diagnostic], None] | None = None) -> None:
        """Replaces the file.

        Where that fails, `tell` is called with a warning, after the first of several failures.

        Raises
        ------
        GradientError
            When it fails and there is no `tell`.
        """
        try:
            self._write(kept)
            self._failed = False
        except OSError as error:
            message = f"`{self.path}` could not be written: {error.strerror or error}"
            if tell is None:
                advice = "the fields hold the best parameters: keep them elsewhere, or make room and go on"
                raise wrong(message, advice, self.place) from None
            if not self._failed:
                advice = "make room, or mend the folder: the optimisation goes on, and tries again"
                tell(Diagnostic("unwritten", message, self.place, help=advice))
            self._failed = True

    def _write(self, kept: KeptState) -> None:
        arrays: dict[str, np.ndarray] = {
            "description": np.array(json.dumps(self._description)),
            "free": self._free,
            "history": kept.history,
            **{_STATE + name: array for name, array in kept.point.state.items()},
        }
        for name, point in (("now", kept.point), ("best", kept.best)):
            arrays |= {f"{name}_x": point.x, f"{name}_gradient": point.gradient}
            arrays[f"{name}_loss"] = np.array(point.loss)
        with replaced(self.path) as beside, beside.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> KeptState | None:
        """What it holds; None when there is no file yet.

        Raises
        ------
        GradientError
            When it is damaged, or of another problem or method.
        """
        if not self.path.exists():
            return None
        try:
            with self.path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            told = json.loads(str(arrays["description"]))
        except (OSError, ValueError, KeyError, EOFError, AttributeError, TypeError, zipfile.BadZipFile):
            raise self._unfit("it is damaged, or no file of `ds.optimize`") from None
        self._compare(told if isinstance(told, dict) else {})
        if not np.array_equal(arrays.get("free", ()), self._free):
            raise self._unfit("other numbers were free")
        try:
            return self._kept(arrays)
        except (KeyError, ValueError, TypeError):
            raise self._unfit("it is damaged") from None

    def _compare(self, told: Mapping[str, Any]) -> None:
        for name, mine in self._description.items():
            found = told.get(name)
            if not _agree(found, mine):
                raise self._unfit(f"its {name} is {_listed(found)}, and here it is {_listed(mine)}")

    def _kept(self, arrays: Mapping[str, np.ndarray]) -> KeptState:
        size = self._free.shape
        history = arrays["history"]
        state = {name: arrays[_STATE + name] for name in self._state}
        alike = all(state[name].shape == array.shape for name, array in self._state.items())
        points = [
            Iterate(arrays[f"{n}_x"], float(arrays[f"{n}_loss"]), arrays[f"{n}_gradient"])
            for n in ("now", "best")
        ]
        shaped = all(a.shape == size and a.dtype == float for p in points for a in (p.x, p.gradient))
        if not alike or not shaped or history.dtype != HISTORY or history.ndim != 1 or not len(history):
            raise ValueError
        now, best = points
        return KeptState(Iterate(now.x, now.loss, now.gradient, state), best, history)

    def _unfit(self, why: str) -> GradientError:
        message = f"`{self.path}` does not fit this optimisation: {why}"
        return wrong(message, "give another `path=`, or remove the file to begin anew", self.place)

    def refuse_loss(self, was: float, now: float) -> None:
        """Refuses a file whose parameters have another loss here.

        Raises
        ------
        GradientError
            When the losses differ by more than rounding.
        """
        if not np.isclose(was, now, rtol=1e-3, atol=1e-12):
            raise self._unfit(f"the loss at its parameters was {was:.6g}, and here it is {now:.6g}")

    def refuse_outside(self, kept: KeptState, bounds: Any) -> None:
        """Refuses a file whose points are outside the bounds of here.

        Raises
        ------
        GradientError
            When one of them is.
        """
        if bounds is None:
            return
        for point in (kept.best, kept.point):
            if (point.x < bounds.lb).any() or (point.x > bounds.ub).any():
                raise self._unfit("its parameters are outside `bounds=`")


def _agree(found: Any, mine: Any) -> bool:
    """Whether they are equal; a field learns its name from its kernels, so it may have had none."""
    if isinstance(found, list) and isinstance(mine, list) and len(found) == len(mine):
        return all(map(_agree, found, mine))
    if isinstance(found, dict) and isinstance(mine, dict) and found.keys() == mine.keys():
        return all(found[k] == mine[k] or (k == "name" and None in (found[k], mine[k])) for k in mine)
    return found == mine


def _listed(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_listed, value))
    if isinstance(value, dict):
        return " ".join("a field" if k == "name" and v is None else _listed(v) for k, v in value.items())
    return "missing" if value is None else str(value)
