"""Replays of a program from the same state: of its recorded launches, or of the function that launched them.

A recorder saves the values that are about to be overwritten.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from dsim.diagnostics import Diagnostic, GradientError
from dsim.runtime.checking import runs
from dsim.runtime.checking.kept_derivatives import KeptDerivatives
from dsim.runtime.checking.overwritten import OverwrittenValues
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.storage import COMPANIONS
from dsim.runtime.launching.contexts import Args, System, dispatch
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.shadow_arrays import Mirror
from dsim.runtime.recording.write_history import Trial
from dsim.runtime.state import interruption, randomness
from dsim.runtime.state.evaluations import EVALUATING
from dsim.runtime.state.stack import explain, explanation, opened, set_aside


class Recorder(OverwrittenValues):
    """Passes launches on, and stores them, and the values that they overwrite.

    Attributes
    ----------
    launches : list of (Form, tuple)
        What was launched, in order.
    systems : list of (int, System)
        The equations that were solved, each with how many launches were before.
    seen : set of Field
        The roots of all that was launched on.
    derivatives : KeptDerivatives
        Their gradients and tangents before that.
    functions : list of str
        The functions under `grad_replaced` that were called. Replays launch what they launched, and
        differentiate that.
    """

    def __init__(self) -> None:
        super().__init__()
        self.launches: list[tuple[Form, Args]] = []
        self.systems: list[tuple[int, System]] = []
        self.seen: set[Field] = set()
        self.derivatives = KeptDerivatives()
        self.functions: list[str] = []

    def launch(self, form: Form, args: Args) -> Args:
        """Notes the launch and passes it on."""
        if get_ident() == self._thread:
            self.see(f.root for f in form.fields.values())
            self.launches.append((form, args))
        return super().launch(form, args)

    def solved(self, system: System) -> None:
        """Notes the solution and passes it on."""
        self.see(f.root for f in (*system.unknown, *system.wrt))
        self.systems.append((len(self.launches), system))
        super().solved(system)

    def replaced(self, name: str) -> None:
        """Notes the function and passes it on."""
        self.functions.append(name)
        super().replaced(name)

    @property
    def goes_elsewhere(self) -> bool:
        """Whether functions or equations give its derivatives: they may use fields that it has not seen."""
        return bool(self.functions or self.systems)

    @property
    def launches_again(self) -> bool:
        """Yes: replays do."""
        return True

    def keep(self, field: Field) -> None:
        """Saves the values of `field`, which is about to change, if they are not saved already."""
        self.see((field.root,))
        super().keep(field)

    def see(self, roots: Iterable[Field]) -> None:
        """Notes fields that are about to be launched on, and keeps their gradients and tangents."""
        new = set(roots) - self.seen
        self.seen |= new
        self.derivatives.keep(new)

    def adopt(self, later: Recorder) -> None:
        """Takes over what another recorder saved, of what this one has not saved."""
        for field, array in later.entry.items():
            self.entry.setdefault(field, array)
            self.changed.setdefault(field, later.changed[field])
        self.seen |= later.seen
        later.derivatives.move_to(self.derivatives)

    def restore(self) -> None:
        """Restores everything that was written."""
        for field, array in self.entry.items():
            field.require_memory()[...] = array
            field.written_by_python()

    def replay(self) -> None:
        """Launches everything again."""
        for event in self.events():
            interruption.poll()
            if isinstance(event, tuple):
                dispatch(*event)
            elif opened():
                opened()[-1].solved(event)

    def events(self) -> Iterator[tuple[Form, Args] | System]:
        """The launches and the solutions, in order."""
        systems = deque(self.systems)
        for number, launch in enumerate([*self.launches, None]):
            while systems and systems[0][0] == number:
                yield systems.popleft()[1]
            if launch is not None:
                yield launch


class ReplayableRun(Recorder):
    """A function that launches kernels, to be run often from the same state."""

    def __init__(self, run: Callable[[], Any]) -> None:
        super().__init__()
        runs.require(run)
        self._run = run
        self._random = randomness.place()

    def replay(self) -> None:
        """Runs it in the contexts that are open, drawing the same random numbers each time.

        Raises
        ------
        GradientError
            When it writes to NumPy arrays, which cannot be restored.
        """
        self.launches.clear()
        self.systems.clear()
        randomness.return_to(self._random)
        with self:
            runs.call(self._run)
        if any(isinstance(f.root, Mirror) for f in self.entry):
            message = "the program writes to NumPy arrays, which cannot be restored"
            raise GradientError(Diagnostic("argument", message, help="use an `ndarray` in the array's place"))


@contextmanager
def undone(recorder: Recorder, all_derivatives: bool = False) -> Iterator[None]:
    """On exit restores all fields, their gradients and tangents, and the random numbers.

    It restores what the recorder has seen by then. Open tapes and forward modes do not record the run. Other
    threads that do so wait: their fields may be the same.

    Parameters
    ----------
    recorder : Recorder
        What sees the launches.
    all_derivatives : bool
        Whether to restore the gradients and tangents of all fields: where some are used that the recorder has
        not seen.
    """
    with EVALUATING, interruption.held(), _put_back(recorder, all_derivatives):
        yield


@contextmanager
def _put_back(recorder: Recorder, all_derivatives: bool) -> Iterator[None]:
    final = {field: field.require_memory().copy() for field in recorder.entry}
    outside, recorder.derivatives = recorder.derivatives, KeptDerivatives()
    recorder.derivatives.keep(recorder.seen)
    if all_derivatives:
        recorder.derivatives.keep_all()
    # Noted now: a tape makes the gradient of its loss a user's, and launches later.
    wanted = {f: f.wanted for f in COMPANIONS}
    changed = {f: f.changed for f in final}
    explained = {last: explanation(last) for last in ("bar", "dot")}

    def put_back() -> None:
        for field, before in recorder.entry.items():
            field.require_memory()[...] = final.get(field, before)
        if all_derivatives:
            recorder.derivatives.keep_new(wanted)
        recorder.derivatives.put_back(wanted)
        for last, who in explained.items():
            explain(last, who)

    trial = Trial()
    try:
        with set_aside(), randomness.apart():
            yield
    finally:
        trial.undo({**recorder.changed, **recorder.derivatives.changed(), **changed}, put_back)
        recorder.derivatives = outside
