"""Records a run for transforms: what it launches, its inputs and outputs, and its adjoints, without a trace.

Afterwards all fields and arrays hold what they held before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError
from dsim.ir.nodes import Load
from dsim.runtime.checking import runs
from dsim.runtime.checking.replays import Recorder, undone
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.whole_memory import zero
from dsim.runtime.launching.contexts import Context
from dsim.runtime.launching.shadow_arrays import Mirror
from dsim.runtime.recording import cut_messages
from dsim.runtime.recording.claims import claim
from dsim.runtime.recording.unreached import RUN, Unreached
from dsim.runtime.state.notices import warn
from dsim.runtime.state.stack import opened
from dsim.runtime.transforms.input_recorder import CotangentSweep, InputRecorder, InputSweep
from dsim.runtime.transforms.run_recorder import RunRecorder
from dsim.runtime.transforms.selection import Selection

Run = Callable[[], Any]


class RunRecording:
    """A run that is being recorded: its inputs and outputs as fields, and its launches.

    Parameters
    ----------
    wrt, out : Selection
        What it is differentiated by, and what it computes.
    clears : bool, default False
        Whether the outputs are 0 when the run begins, as the loss of a tape is.

    Attributes
    ----------
    cleared : list of Field
        What was 0 when the run began.
    unreached : list of Field
        The inputs to which the last sweep found no path.
    roots : set of Field
        After the run the roots of the fields that it, and what prepared it, read or wrote, in Python too.
    """

    def __init__(self, wrt: Selection, out: Selection, clears: bool = False) -> None:
        self.wrt, self.out, self.clears = wrt, out, clears
        self.record = InputRecorder(())
        self.program = RunRecorder(self.record.mirrors)
        self.inputs: list[Field] = []
        self.outputs: list[Field] = []
        self.cleared: list[Field] = []
        self.unreached: list[Field] = []
        self.roots: set[Field] = set()

    @contextmanager
    def running(
        self, run: Run, start: Sequence[np.ndarray] | None = None, reset: Run | None = None
    ) -> Iterator[None]:
        """Calls `run`; in the block fields are as it left them, and afterwards as they were before it.

        Before that it calls `reset`, which is not recorded, clears the outputs where it shall, and gives the
        inputs the values `start`.

        Raises
        ------
        GradientError
            When a launch failed and the run continued.
        """
        with self._undone() as before, self._set_up(before, reset, start), self._arrays_restored():
            with self.record, self.program:
                self.inputs = [self.field(leaf) for leaf in self.wrt.leaves]
                self.record.differentiate_by(self.inputs)
                self.outputs = self.compute(run)
                self.cleared = [self.field(leaf) for leaf in self.out.leaves] if self.clears else []
                self.record.end_steps()
                self.program.see(f.root for f in (*self.inputs, *self.outputs))
            self.program.adopt(self.record.between)
            self.record.outputs = tuple(self.outputs)
            self.record.refuse_failed()
            yield
        self._say_what_is_cut()

    def compute(self, run: Run) -> list[Field]:
        """Runs it; gives the fields of its outputs."""
        runs.call(run)
        outputs = [self.field(leaf) for leaf in self.out.leaves]
        self.record.refuse_hidden(outputs)
        return outputs

    def field(self, leaf: Field | np.ndarray) -> Field:
        """The field that holds the numbers of an input or output: of an array, its mirror."""
        if isinstance(leaf, Field):
            return leaf
        mirrors = self.record.mirrors
        found = mirrors.of(leaf, 0, "array", "run")
        mirrors.written([found], "run")  # views of it get their derivatives from it
        return found

    @contextmanager
    def _undone(self) -> Iterator[RunRecorder]:
        """Gives a recorder, and afterwards puts back what it and the program have saved."""
        before = RunRecorder()
        with undone(before):
            try:
                yield before
            finally:
                before.adopt(self.record.between)
                before.adopt(self.program)
                read = {f.root for r in (before, self.program) for f in r.read}
                self.roots = {f for f in before.seen | read if not isinstance(f, Mirror)}

    @contextmanager
    def _set_up(
        self, before: RunRecorder, reset: Run | None, start: Sequence[np.ndarray] | None
    ) -> Iterator[None]:
        """Prepares the state in which the run begins; puts back arrays, `before` what was in fields."""
        leaves = [*self.wrt.leaves, *self.out.leaves]
        arrays = [(a, a.copy()) for a in leaves if isinstance(a, np.ndarray) and a.flags.writeable]
        try:
            if reset is not None:
                with before:
                    try:
                        runs.call(reset)
                    finally:
                        arrays += before.arrays()
            cleared = [(leaf, 0.0) for leaf in self.out.leaves] if self.clears else []
            for leaf, given in [*cleared, *zip(self.wrt.leaves, start or (), strict=False)]:
                if isinstance(leaf, Field):
                    before.keep(leaf)
                    leaf.require_memory()[...] = given
                elif not leaf.flags.writeable:
                    message = f"an array of shape {leaf.shape} in `wrt=` is read-only, and is to hold values"
                    raise GradientError(Diagnostic("argument", message, help="name a copy of it in `wrt=`"))
                else:
                    leaf[...] = given
            yield
        finally:
            for array, kept in reversed(arrays):
                array[...] = kept

    @contextmanager
    def _arrays_restored(self) -> Iterator[None]:
        """Restores the NumPy arrays that kernels wrote to: of views of one memory the first one last."""
        try:
            yield
        finally:
            for array, kept in reversed(self.program.arrays()):
                array[...] = kept

    def written(self) -> set[Field]:
        """What its launches write."""
        return {f for form, _ in self.program.launches for f in form.written}

    def unwritten(self) -> set[Field]:
        """The outputs that nothing in it sets."""
        solved = {f for _, system in self.program.systems for f in system.unknown}
        return set(self.outputs) - self.written() - solved - set(self.inputs)

    def unused(self) -> list[int]:
        """Which inputs nothing in it touches."""
        if self.program.goes_elsewhere or self.program.systems:
            return []
        touched = self.touched()
        return [n for n, f in enumerate(self.inputs) if f not in touched]

    def touched(self) -> set[Field]:
        """What its launches read or write."""
        return {f for form, _ in self.program.launches for f in form.touching}

    def _say_what_is_cut(self) -> None:
        """Warns about outputs that nothing writes, and contexts around the run of numbers that leave them."""
        for f in self.unwritten():
            advice = f"name in `{self.out.what}=` what the run computes"
            warn([Diagnostic("cut", f"{self._unwritten(f)} is 0", help=advice)])
        # Code that goes through an array without elements is no part of the launch.
        arrays = {f for f in self.inputs if isinstance(f, Mirror) and f.require_memory().size}
        arrays.difference_update(self.touched(), self.outputs)
        for f in () if self.program.goes_elsewhere else arrays:
            message = f"no call inside the run is given {f.quoted} itself: its derivative is 0"
            warn([Diagnostic("cut", message, help="pass that array, and no copy of it, to a kernel")])
        for f in () if self.program.goes_elsewhere else self._unread():
            warn([cut_messages.unread(f)])
        if opened():
            for f in {f.root for f in self.touched() if not isinstance(f, Mirror)}:
                with cut_messages.transformed():
                    opened()[-1].element_read(f)

    def _unwritten(self, output: Field) -> str:
        """That the run does not write an output, and what therefore is 0."""
        return f"the run does not write {output.quoted}: its derivative"

    def _unread(self) -> Iterator[Field]:
        """Arrays whose numbers depend on the inputs, and that no kernel reads after one that wrote them."""
        asked = (leaf for leaf in (*self.wrt.leaves, *self.out.leaves) if not isinstance(leaf, Field))
        read: set[Field | None] = {*map(self.record.mirrors.known, asked), *self.outputs, *self.record.read}
        written: set[Field] = set()
        for form, _ in self.program.launches:
            read |= {f for f in written if Load in form.touching.get(f, ())}
            written.update(f for f in form.written if isinstance(f, Mirror))
        return (f for f in written - read if self.record.varies(f))

    def explain_zeros(self, inputs: Iterable[Field]) -> None:
        """Warns of those among `inputs` to which the last sweep found no path, and why there is none."""
        if self.written().isdisjoint(self.outputs):
            return  # which is said already
        for f in set(inputs).intersection(self.unreached):
            forms = (form for form, _ in self.program.launches)
            Unreached(self.outputs[0], forms, (), RUN).gradient(f)

    def values(self) -> list[np.ndarray]:
        """The present values of the outputs."""
        return [f.require_memory().copy() for f in self.outputs]

    def sweep(self, cotangents: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The adjoints of the inputs from those of the outputs, with all fields as the run left them."""
        if self.program.goes_elsewhere:
            self.program.derivatives.keep_all()
        sweep = CotangentSweep(self.record, dict(zip(self.outputs, cotangents, strict=True)))
        bars = sweep.plan.bars
        with _claimed([f.root for f in bars]), self._functions_undone():
            _clear(bars.values())
            sweep.down()
            self.unreached = [f for f in self.inputs if f not in bars or not bars[f].touched]
            return [copied(bars.get(f), f) for f in self.inputs]

    @contextmanager
    def _functions_undone(self) -> Iterator[None]:
        """Afterwards puts back what gradient functions of a person wrote in the block."""
        if not self.program.functions:
            yield
            return
        written = Recorder()
        with undone(written, all_derivatives=True), written:
            yield


class GradientRecording(RunRecording):
    """A recorded run whose outputs are the gradient of a number with respect to its inputs."""

    def compute(self, run: Run) -> list[Field]:
        """Runs it, and its backward sweep; gives the fields of the gradient."""
        (loss,) = (self.field(leaf) for leaf in self.out.leaves)
        inner = InputRecorder((loss,))
        inner.differentiate_by(self.inputs)
        with inner:
            runs.call(run)
        inner.refuse_failed()
        inner.refuse_hidden([loss])
        sweep = InputSweep(inner)
        bars = {**{f: f.scratch((*f.derivative, "bar")) for f in self.inputs}, **sweep.plan.bars}
        for bar in bars.values():
            if bar.touched:
                inner.set_all(bar, 0.0)
        sweep.down()
        return [bars[f] for f in self.inputs]

    def _unwritten(self, output: Field) -> str:
        by = self.inputs[self.outputs.index(output)]
        return f"the result of the run does not depend on {by.quoted}: its second derivative"


def copied(derivative: Field | None, of: Field) -> np.ndarray:
    """The numbers of a gradient or tangent of `of`; zeros where there is none."""
    if derivative is None or derivative.buffer is None or not derivative.touched:
        return np.zeros(of.full_shape, of.dtype.numpy)
    return derivative.buffer.copy()


def _clear(bars: Iterable[Field]) -> None:
    for bar in bars:
        if bar.touched:
            zero(bar.require_memory())
            bar.touched = 0


@contextmanager
def _claimed(roots: Sequence[Field]) -> Iterator[None]:
    """In the block the gradients of these fields are this thread's."""
    owner = Context()
    with owner:
        claim(owner, roots, "bar")
        yield
