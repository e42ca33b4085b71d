"""A run that is recorded once, and differentiated in both modes as often as one likes.

The recorded launches keep copies of all that they touch, from the beginning and the end of the run: each
product with the Jacobian puts these in place, and afterwards what was there before. So a run stays
differentiable, at the same point, whatever happens to the fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dsim.backends.prints import silent
from dsim.diagnostics import Diagnostic, GradientError
from dsim.ir.nodes import Load
from dsim.runtime.checking import runs
from dsim.runtime.checking.replays import Recorder, undone
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.zeroing import zero
from dsim.runtime.launching.contexts import Context
from dsim.runtime.launching.shadow_arrays import Mirror, Mirrors
from dsim.runtime.recording import cut_messages
from dsim.runtime.recording.claims import claim
from dsim.runtime.recording.pushforward import Pushforward
from dsim.runtime.recording.tangent_batch import TangentBatch, chunks
from dsim.runtime.recording.unreached import RUN, Unreached
from dsim.runtime.state import turns
from dsim.runtime.state.notices import overheard, warn
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
        self.program = RunRecorder()
        self.record = InputRecorder(())
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
    def _undone(self) -> Iterator[Recorder]:
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
        self, before: Recorder, reset: Run | None, start: Sequence[np.ndarray] | None
    ) -> Iterator[None]:
        """Prepares the state in which the run begins; puts back arrays, `before` what was in fields."""
        arrays: list[tuple[np.ndarray, np.ndarray]] = []
        try:
            if reset is not None:
                with before:
                    try:
                        runs.call(reset)
                    finally:
                        arrays += _written_arrays(before.mirrors, before)
            cleared = [(leaf, 0.0) for leaf in self.out.leaves] if self.clears else []
            for leaf, given in [*cleared, *zip(self.wrt.leaves, start or (), strict=False)]:
                if isinstance(leaf, Field):
                    before.keep(leaf)
                    leaf.require_memory()[...] = given
                elif not leaf.flags.writeable:
                    message = f"an array of shape {leaf.shape} in `wrt=` is read-only, and is to hold values"
                    raise GradientError(Diagnostic("argument", message, help="name a copy of it in `wrt=`"))
                else:
                    arrays.append((leaf, leaf.copy()))
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
            for array, kept in reversed(_written_arrays(self.record.mirrors, self.program)):
                array[...] = kept

    def written(self) -> set[Field]:
        """What its launches write."""
        return {f for form, _ in self.program.launches for f in form.written}

    def touched(self) -> set[Field]:
        """What they read or write."""
        return {f for form, _ in self.program.launches for f in form.touching}

    def _say_what_is_cut(self) -> None:
        """Warns about outputs that nothing writes, and contexts around the run of numbers that leave them."""
        solved = {f for _, system in self.program.systems for f in system.unknown}
        for f in set(self.outputs) - self.written() - solved - set(self.inputs):
            advice = "name in `out=` what the run computes"
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
            return [_copied(bars.get(f), f) for f in self.inputs]

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


class RecordedRun:
    """The derivative of a run, at the state in which it was recorded.

    Parameters
    ----------
    recording : RunRecording
        What will record it.
    run : callable
        A kernel, or a function that launches kernels. It is called once, without arguments.
    start, reset
        See `RunRecording.running`.

    Attributes
    ----------
    values : list of ndarray
        What it computed.
    """

    def __init__(
        self,
        recording: RunRecording,
        run: Run,
        start: Sequence[np.ndarray] | None = None,
        reset: Run | None = None,
    ) -> None:
        runs.require(run)
        self._recording, self._program = recording, recording.program
        with recording.running(run, start, reset):
            for f in (*recording.touched(), *recording.inputs, *recording.outputs):
                self._program.keep(f)
            changed = recording.written().union(recording.record.between.entry)
            self._final = {
                f: f.require_memory().copy() if f in changed else before
                for f, before in self._program.entry.items()
            }
            self.values = recording.values()
        self._batches: dict[int, TangentBatch] = {}
        self._said: set[str] = set()

    @property
    def carries_tangents(self) -> bool:
        """Whether there are products from the left: not through functions under `grad_replaced`."""
        return not self._program.functions

    def begins_here(self) -> bool:
        """Whether another run would begin with the numbers of this one, beside those of the inputs."""
        own = {*self._recording.inputs, *self._recording.cleared, *self._recording.record.between.entry}
        return self._program.begins_here(own, dict(self._recording.record.mirrors.arrays()))

    @contextmanager
    def _at(self, state: Mapping[Field, np.ndarray]) -> Iterator[None]:
        """In the block the fields have these values, and no context is open; then all is as before."""
        everything = self._program.goes_elsewhere
        with undone(self._program, all_derivatives=everything), silent(), overheard() as heard:
            for f, values in state.items():
                f.require_memory()[...] = values
                if f.derivative:
                    f.touched = turns.current()
            yield
        # Equations are solved here for the first time; all else was said when the run was recorded.
        unsolved = {d.message: d for d in heard if d.code == "unsolved" and d.message not in self._said}
        self._said.update(unsolved)
        warn(unsolved.values())

    def pull(self, cotangents: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The product of the transposed Jacobian with one array for each output: one for each input."""
        with self._at(self._final):
            return self._recording.sweep(cotangents)

    def push(self, tangents: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The product of the Jacobian with one array for each input: one for each output."""
        return [found[0] for found in self.push_all([t[None] for t in tangents])]

    def push_all(self, tangents: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The products with several directions, which are the first axis of all arrays."""
        if self._program.functions:
            raise _backward_only(self._program.functions[0])
        count = len(tangents[0])
        if self._program.systems:
            found = [self._push_through_systems([t[n] for t in tangents]) for n in range(count)]
            return [np.stack(of_one) for of_one in zip(*found, strict=True)]
        parts: list[list[np.ndarray]] = []
        for part, width in chunks(count, self._program.launches):
            batch = self._batches.get(width)
            if batch is None:
                batch = self._batches[width] = TangentBatch(self._recording.inputs, width)
            with self._at(self._program.entry):
                with batch.along([t[part] for t in tangents]):
                    self._program.replay()
                parts.append([batch.tangents(f) for f in self._recording.outputs])
        return [np.concatenate(of_one) for of_one in zip(*parts, strict=True)]

    def _push_through_systems(self, tangents: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The product along one direction, where equations are solved: a batch has no rule for them."""
        with self._at(self._program.entry):
            directions = list(zip(self._recording.inputs, tangents, strict=True))
            with Pushforward(directions, self._program.entry) as forward:
                self._program.replay()
            return [_copied(forward.tangent(f), f) for f in self._recording.outputs]


def _backward_only(name: str) -> GradientError:
    message = f"`{name}`, under `grad_replaced`, has a backward function, and no forward mode"
    advice = "differentiate backwards: `ds.grad`, `ds.vjp`, `ds.jacobian`, or `rmatvec` of `ds.linearize`"
    return GradientError(Diagnostic("not-differentiable", message, help=advice))


def _written_arrays(mirrors: Mirrors, recorder: Recorder) -> list[tuple[np.ndarray, np.ndarray]]:
    """The NumPy arrays that recorded kernels wrote, with their numbers before; of views the first first."""
    pairs = [(mirror, array) for mirror, array in mirrors.arrays() if array.flags.writeable]
    return [(array, recorder.entry[mirror]) for mirror, array in pairs if mirror in recorder.entry]


def _copied(derivative: Field | None, of: Field) -> np.ndarray:
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
