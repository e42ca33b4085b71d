"""`graph`: the launches of a run, recorded once, to run again without Python between them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dsim.diagnostics import Diagnostic, LaunchError, left
from dsim.diagnostics.absent import AbsentPart
from dsim.diagnostics.frames import outermost
from dsim.diagnostics.places import caller
from dsim.frontend.source.captures import changed
from dsim.runtime.checking import runs
from dsim.runtime.fields.fields import Field
from dsim.runtime.graphs.graph_recorder import GraphRecorder, refused
from dsim.runtime.launching.launch_sequence import LaunchSequence
from dsim.runtime.operations import captured
from dsim.runtime.operations.reached_values import ReachedValues
from dsim.runtime.state import settings
from dsim.runtime.state.references import uncopied
from dsim.runtime.state.stack import opened


class Graph:
    """The recorded launches of a run; calling it runs them on the present numbers of the fields.

    Made by `graph`. In a tape, a forward mode or another graph's recording it is what the run is. When a
    launch fails, or Ctrl-C stops it, the launches before that one have run, and those after it have not.

    Attributes
    ----------
    launches : int
        How many launches it has.
    kernels : tuple of str
        The names of the kernels, each once, in the order of their first launches.
    """

    def __init__(self, run: Callable[[], Any], recorder: GraphRecorder, values: ReachedValues) -> None:
        functools.update_wrapper(self, run, assigned=("__name__", "__qualname__", "__doc__"), updated=())
        self._sequence = LaunchSequence(recorder.launches)
        self._captured = list(recorder.captured.values())
        self._values, self._before = values, values.now()
        self._settings = settings.current()
        forms = self._sequence.forms
        self._fields: tuple[Field, ...] = tuple(dict.fromkeys(f for form in forms for f in form.roots))
        self._inside: list[Graph] = recorder.graphs
        self.launches = len(recorder.launches)
        self.kernels = tuple(dict.fromkeys(form.kernel.name for form in forms))

    @outermost
    def __reduce__(self) -> tuple[Any, ...]:
        uncopied("a graph", "record the run again: `ds.graph(run)`")

    def __repr__(self) -> str:
        name = getattr(self, "__name__", "a run")
        return f"<graph of {name}: {self.launches:,} launches of {', '.join(self.kernels) or 'no kernels'}>"

    @outermost
    def __call__(self) -> None:
        """Runs the launches, with the arguments that they had, on the present numbers of the fields.

        Raises
        ------
        LaunchError
            When settings, a field or a variable that the run uses have changed since the recording.
        """
        try:
            self._check()
            contexts = opened()
            if not contexts:
                self._sequence.native.run()
                return
            for c in contexts:
                if isinstance(c, GraphRecorder):
                    c.graphs.append(self)
            contexts[-1].launch_all(self._sequence)
        except KeyboardInterrupt as stop:
            raise left(stop) from None

    def _check(self) -> None:
        """Refuses to run when a plain call of the run would do something else now."""
        now = self._values.now()
        name = captured.changed(self._before, now) if now != self._before else None
        if name is None:
            name = next((c.name for c, before in self._captured if changed(c.read(), before)), None)
        if name is not None:
            raise _outdated(f"`{name}` has changed" if name else "the object of the run has changed")
        if settings.current() != self._settings:
            raise _outdated("`init` has changed the settings")
        for f in self._fields:
            if f.dropped or f.buffer is None:
                f.require()
        for g in self._inside:
            g._check()


def _outdated(what: str) -> LaunchError:
    message = f"{what} since the graph was recorded, which replays would not see"
    return LaunchError(Diagnostic("graph", message, caller(), help="record it again: `ds.graph(run)`"))


@outermost
def graph(run: Callable[[], Any]) -> Graph:
    """Runs `run` once and records its launches: they can run again without Python between them.

    Parameters
    ----------
    run : callable
        A kernel without parameters, or a function without parameters that launches kernels.

    Returns
    -------
    Graph
        Call it to run the launches again. What fields hold is what they hold then; arguments of kernels, and
        numbers that Python writes into elements or by `fill`, are those of the recording.

    Raises
    ------
    LaunchError
        When the run does what replays would not: it reads numbers of fields into Python, calls kernels that
        return numbers, draw random numbers or take NumPy arrays, assigns variables outside of it, changes
        what they hold or finds them by `globals`, `eval` or `exec`, takes items from an iterator, draws
        random numbers in Python, solves equations or runs other functions of Python under `operation` or
        `grad_replaced`, or computes derivatives itself; inside the block of a tape or forward mode.

    Notes
    -----
    Gradients are those of the run: ``with ds.ad.Tape(loss): g()``. What else Python does in `run`, as
    printing, it does once, during the recording. Threads that `run` starts are not recorded.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f64, shape=(), needs_grad=True)
    >>> y = ti.field(ti.f64, shape=(), needs_grad=True)
    >>> @ti.kernel
    ... def grow(rate: ti.f64):
    ...     x[None] += rate * x[None]
    >>> @ti.kernel
    ... def end():
    ...     y[None] = x[None] ** 2
    >>> def run():
    ...     for step in range(100):
    ...         grow(0.01)
    ...     end()
    >>> x[None] = 1.0
    >>> g = ti.graph(run)
    >>> g
    <graph of run: 101 launches of grow, end>
    >>> x[None] = 2.0
    >>> with ti.ad.Tape(y):
    ...     g()
    >>> round(y[None], 3), round(x.grad[None], 3)
    (29.264, 29.264)
    """
    runs.require(run)
    if opened():
        message = "a graph is recorded inside the block of a tape or forward mode"
        raise refused(message, "record it before the block, and call the graph inside it")
    values = ReachedValues(run)
    _refuse_progress(values)
    before = values.now()
    recorder = GraphRecorder()
    try:
        with recorder:
            runs.call(run)
            for form in dict.fromkeys(form for form, _ in recorder.launches):
                recorder.unchanged(form)
    except KeyboardInterrupt as stop:
        raise left(stop) from None
    name = captured.changed(before, values.now())
    if name is not None:
        message = f"the run changes {f'`{name}`' if name else 'its object'}, and replays do not run Python"
        raise refused(message, "keep what changes in a field, and change it in a kernel")
    return Graph(run, recorder, values)


def _refuse_progress(values: ReachedValues) -> None:
    """Refuses a run that assigns or looks up variables of others, or takes items from their iterators."""
    assigned = values.rebinds()
    if assigned is not None:
        function, name = assigned
        message = f"`{function}` assigns `{name}`, a variable outside of it, and replays do not run Python"
        raise refused(message, f"keep `{name}` in a field, or assign it outside of the run")
    found = values.finds_by_name()
    if found is not None:
        function, by = found
        who = f"`{function}`" if function else "the run"
        message = f"{who} calls `{by}`, and a graph does not see when what that finds has changed"
        raise refused(message, "name the variables in the code, or keep what changes in a field")
    name = values.consumed()
    if name is not None:
        message = f"the run uses the iterator `{name}`, and replays take no items from it"
        raise refused(message, "make the iterator in the run, or a list of its items")


# Taichi's `graph` is a module, of graphs whose kernels get symbolic arguments.
for _name in ("Arg", "ArgKind", "Graph", "GraphBuilder"):
    _why = "`ds.graph(run)` records the launches of a function of yours, with the fields that it uses"
    setattr(graph, _name, AbsentPart("graph", _name, _why))
