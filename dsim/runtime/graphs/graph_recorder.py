"""Recording the launches of a run, and refusing what replays of them would not do again."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, LaunchError
from dsim.diagnostics.places import caller
from dsim.frontend.source.captures import changed
from dsim.frontend.source.lowered import Capture
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.contexts import Args, Context, Stopped, System
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.host_kernels import Add, Copy, Fill, HostForm, Operand, Put, Stop
from dsim.runtime.launching.host_orders import PrefixSum
from dsim.runtime.launching.shadow_arrays import Mirror
from dsim.runtime.state.stack import opened, working

_AS_RECORDED = (Add, Copy, Fill, PrefixSum, Put, Stop)  # whose effect fields and recorded numbers determine


class GraphRecorder(Context):
    """Passes launches on and records them, as long as they depend on fields and recorded numbers alone.

    Attributes
    ----------
    launches : list of (Form, tuple)
        What was launched, in order.
    captured : dict of int to (Capture, object)
        What its kernels captured, by identity, each with its value.
    graphs : list of Graph
        The graphs that the run called.
    """

    def __init__(self) -> None:
        super().__init__()
        self.launches: list[tuple[Form, Args]] = []
        self.captured: dict[int, tuple[Capture, Any]] = {}
        self.graphs: list[Any] = []
        self._known: set[Form] = set()

    def launch(self, form: Form, args: Args) -> Args:
        """Records the launch and passes it on."""
        if working() or not all(c is self or isinstance(c, Stopped) for c in opened()):
            message = f"`{form.kernel.name}` is launched by a tape or forward mode inside the run"
            advice = (
                "record only the launches, and open the tape around the graph: `with ds.ad.Tape(loss): g()`"
            )
            raise refused(message, advice)
        if form not in self._known:
            self._check(form)
        self.unchanged(form)
        result = super().launch(form, args)
        self.launches.append((form, args))
        return result

    def unchanged(self, form: Form) -> None:
        """Refuses `form` if what it captured has changed during the run."""
        for c in form.variables:
            now = c.read()
            _, before = self.captured.setdefault(id(c), (c, now))
            if changed(now, before):
                message = (
                    f"the run changes `{c.name}`, which `{form.kernel.name}` captured: replays would not"
                )
                raise refused(message, "pass it to the kernel as an argument, or keep it in a field")

    def _check(self, form: Form) -> None:
        name = f"`{form.kernel.name}`"
        if form.random:
            advice = "draw them into a field before the graph runs, by a kernel of its own"
            raise refused(f"{name} draws random numbers, and replays would draw the same", advice)
        if form.runs_python or (isinstance(form, HostForm) and not isinstance(form, _AS_RECORDED)):
            what = "an operation of Python's" if form.from_python else name
            raise refused(f"{what} computes in Python, which replays do not run", _OUTSIDE)
        arrays = [f for f in form.fields.values() if isinstance(f, Mirror)]
        if arrays:
            advice = "pass a field or an `ndarray`, and write the numbers to it before the graph runs"
            raise refused(f"{name} is given the NumPy array {arrays[0].quoted}", advice)
        derivatives = [f for f in form.touching if f.derivative]
        if derivatives:
            advice = "use the derivatives after the graph has run"
            raise refused(f"{name} works with {derivatives[0].quoted}", advice)
        if form.kernel.body.yields and not isinstance(form, HostForm):
            advice = "write the result to a field instead, or call the kernel after the graph has run"
            raise refused(f"{name} returns a number to Python, which replays do not run", advice)
        self._known.add(form)

    # -- what is not a launch

    def element_read(self, field: Field) -> None:
        """Refuses it: Python may decide by the number."""
        message = f"Python reads {field.quoted} during the run, and replays do not run Python"
        raise refused(message, "compute with it in a kernel, or read it after the graph has run")

    def given(self, field: Operand, array: np.ndarray) -> None:
        """Refuses it: replays would not see the array."""
        name = field.quoted
        message = f"Python writes an array to {name} during the run, and replays do not run Python"
        raise refused(message, "write it before the graph runs, or `copy_from` a field")

    def solved(self, system: System) -> None:
        """Refuses it: Python solves."""
        raise refused(f"`{system.name}` solves equations in Python, which replays do not run", _OUTSIDE)

    def replaced(self, name: str) -> None:
        """Refuses it: its backward pass is Python."""
        raise refused(f"`{name}` has a backward pass in Python, which replays do not run", _OUTSIDE)


_OUTSIDE = "record the launches before it and those after it as two graphs"


def refused(message: str, advice: str) -> LaunchError:
    """The error of a run that cannot be recorded, at the line that runs."""
    return LaunchError(Diagnostic("graph", message, caller(), help=advice))
