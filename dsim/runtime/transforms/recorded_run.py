"""A run that is recorded once, and differentiated in both modes as often as one likes.

The recorded launches keep copies of all that they touch, from the beginning and the end of the run: each
product with the Jacobian puts these in place, and afterwards what was there before. So a run stays
differentiable, at the same point, whatever happens to the fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from dsim.backends.prints import silent
from dsim.diagnostics import Diagnostic, GradientError
from dsim.runtime.checking import runs
from dsim.runtime.checking.replays import undone
from dsim.runtime.fields.fields import Field
from dsim.runtime.recording.pushforward import Pushforward
from dsim.runtime.recording.tangent_batch import TangentBatch, chunks
from dsim.runtime.state import turns
from dsim.runtime.state.notices import overheard, warn
from dsim.runtime.transforms.run_recording import Run, RunRecording, copied


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
            return [copied(forward.tangent(f), f) for f in self._recording.outputs]


def _backward_only(name: str) -> GradientError:
    message = f"`{name}`, under `grad_replaced`, has a backward function, and no forward mode"
    advice = "differentiate backwards: `ds.grad`, `ds.vjp`, `ds.jacobian`, or `rmatvec` of `ds.linearize`"
    return GradientError(Diagnostic("not-differentiable", message, help=advice))
