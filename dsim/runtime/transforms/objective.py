"""Runs as functions of a vector: what SciPy's optimisers and solvers of equations take."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.frames import outermost
from dsim.runtime.checking import runs
from dsim.runtime.fields.fields import Field
from dsim.runtime.operations.captured import CapturedValues, Snapshot
from dsim.runtime.operations.reached_values import ReachedValues
from dsim.runtime.state import randomness
from dsim.runtime.state.evaluations import EVALUATING
from dsim.runtime.state.references import uncopied
from dsim.runtime.transforms.given_numbers import numbers
from dsim.runtime.transforms.linear_operator import Linearization
from dsim.runtime.transforms.numbers_of_inputs import InputVector
from dsim.runtime.transforms.recorded_run import RecordedRun
from dsim.runtime.transforms.run_recording import GradientRecording, Run, RunRecording
from dsim.runtime.transforms.selection import Selection


class _Known(NamedTuple):
    """A recorded run, and what the run read from outside.

    Attributes
    ----------
    at : bytes
        The free numbers.
    random : tuple of int
        Where the sequence of random numbers stood.
    evaluations : int
        How often the value had been asked for.
    captured : Snapshot
        Its variables, with what objects and dictionaries hold.
    before, after : Snapshot
        All that is reached from them, before and after the run. What it changes itself, as a list of what
        it did, says nothing.
    run : RecordedRun
        The run.
    """

    at: bytes
    random: tuple[int, int]
    evaluations: int
    captured: Snapshot
    before: Snapshot
    after: Snapshot
    run: RecordedRun

    def same(self, captured: Snapshot, reached: Snapshot) -> bool:
        """Whether these are what the run read."""
        if captured != self.captured or len(reached) != len(self.after):
            return False
        told = zip(self.before, self.after, reached, strict=True)
        return all(now == after or before != after for before, after, now in told)


class Residuals:
    """What a run computes, as a function of a vector; made by `residuals`.

    Parameters
    ----------
    run : callable
        A kernel without parameters, or a function without parameters that launches kernels.
    wrt, out : Selection
        Its inputs and its outputs.
    reset : callable or None
        What prepares the state before each run.
    vector : InputVector
        The free numbers of the inputs.
    """

    _clears = False  # whether the outputs are 0 when a run begins

    def __init__(
        self, run: Run, wrt: Selection, out: Selection, reset: Run | None, vector: InputVector
    ) -> None:
        for function in (run,) if reset is None else (run, reset):
            runs.require(function)
        self.wrt, self.out = wrt, out
        self._run, self._reset, self._vector = run, reset, vector
        self._captured = CapturedValues((run,), members=True)
        self._reached = ReachedValues(run)
        self._known: dict[type, _Known] = {}
        self._evaluations = 0  # of the value

    @outermost
    def __reduce__(self) -> tuple[Any, ...]:
        uncopied("an objective, or residuals,", "make another one of the run: a copy would have other fields")

    def __repr__(self) -> str:
        run = getattr(self._run, "__name__", "a run")
        return f"<{type(self).__name__.lower()} of {run}: {len(self.free):,} numbers of {self.wrt}>"

    @property
    def x0(self) -> np.ndarray:
        """The present values of the free numbers, 64-bit floats."""
        with EVALUATING:
            return self._vector.present()

    @property
    def bounds(self) -> Any:
        """Their bounds, as `scipy.optimize.Bounds`; None without."""
        return self._vector.bounds

    @property
    def free(self) -> np.ndarray:
        """The places of the free numbers among all."""
        return self._vector.free

    @outermost
    def parameters(self, x: Any) -> Any:
        """What `put` would write: an array for a single field, arrays by field for a list."""
        with EVALUATING:
            return self._vector.parameters(x)

    @outermost
    def put(self, x: Any) -> None:
        """Writes the numbers of a vector, such as an optimiser's result, to the fields."""
        with EVALUATING:
            self._vector.put(x)

    @outermost
    def __call__(self, x: Any) -> Any:
        """What the run computes from these numbers, as one vector."""
        with EVALUATING:
            self._evaluations += 1  # a value is that of a new run
            return self.out.joined(self._recorded(RunRecording, x).values, np.float64)

    @outermost
    def jac(self, x: Any, sparse: Any = False) -> LinearOperator | csr_array:
        """The Jacobian there, by the free numbers, as a linear operator or a sparse array.

        Parameters
        ----------
        x : array
            The free numbers.
        sparse : bool, "auto" or sparse array
            As of `jacobian`.
        """
        matrix = Linearization(self._recorded(RunRecording, x), self.wrt, self.out)
        if sparse is not False:
            return matrix.sparse("auto" if sparse is True else sparse)[:, self._vector.free]
        return self._vector.columns(matrix)

    def _recorded(self, kind: type[RunRecording], x: Any) -> RecordedRun:
        """The run there. A solver asks for several products at one point: the last one is kept.

        That is while all else holds what it held; what `reset` would do now is not known without it.
        """
        with EVALUATING:
            arrays = self._vector.arrays(x)
            key = b"".join(a.tobytes() for a in arrays)
            known = self._known.get(kind)
            if self._reset is None and known is not None:
                same = known.same(self._captured.now(), self._reached.now())
                now = key, randomness.place(), self._evaluations
                begins = (known.at, known.random, known.evaluations) == now
                if begins and same and known.run.begins_here():
                    return known.run
                if not same:  # functions that are reached now may read others
                    self._reached = ReachedValues(self._run)
            before, random = self._reached.now(), randomness.place()
            made = RecordedRun(kind(self.wrt, self.out, self._clears), self._run, arrays, self._reset)
            captured, after = self._captured.now(), self._reached.now()
            self._known[kind] = _Known(key, random, self._evaluations, captured, before, after, made)
            return made


class Objective(Residuals):
    """A single number that a run computes, as a function of a vector; made by `objective`.

    Attributes
    ----------
    explains_zeros : bool
        Whether the next evaluation warns of inputs that the number does not depend on.
    roots : frozenset of Field
        The roots of the fields that the last evaluation read or wrote.
    writes : bool
        Whether it set the number.
    unused : frozenset of int
        Which inputs nothing in it touched.
    """

    explains_zeros = False
    writes = True
    unused: frozenset[int] = frozenset()
    roots: frozenset[Field] = frozenset()
    _clears = True

    @outermost
    def __call__(self, x: Any) -> tuple[float, np.ndarray]:
        """The value and the gradient: pass ``jac=True`` to `scipy.optimize.minimize`."""
        recording = RunRecording(self.wrt, self.out, self._clears)
        with EVALUATING, recording.running(self._run, self._vector.arrays(x), self._reset):
            self._evaluations += 1  # products after this are of a new run, too
            (value,) = recording.values()
            gradient = recording.sweep([np.ones_like(value)])
        self.roots, self.writes = frozenset(recording.roots), not recording.unwritten()
        self.unused = frozenset(recording.unused())
        if self.explains_zeros:
            recording.explain_zeros(recording.inputs[n] for n in self._vector.chosen())
            self.explains_zeros = False
        return float(value.item()), self._vector.of(gradient)

    @outermost
    def value(self, x: Any) -> float:
        """The value alone."""
        return self(x)[0]

    @outermost
    def gradient(self, x: Any) -> np.ndarray:
        """The gradient alone."""
        return self(x)[1]

    @outermost
    def hessp(self, x: Any, p: Any) -> np.ndarray:
        """The product of the Hessian there with a vector."""
        along, wanted = numbers(p, "the direction"), self._vector.free.shape
        if along.shape not in (wanted, (*wanted, 1)):
            message = f"the direction must be of shape {wanted}, got {along.shape}"
            raise GradientError(Diagnostic("argument", message, help="give it the shape of `x0`"))
        return cast("LinearOperator", self.hessian(x)).matvec(along)

    @outermost
    def hessian(self, x: Any, sparse: Any = False) -> LinearOperator | csr_array:
        """The Hessian there, by the free numbers, as a linear operator or a sparse array.

        Parameters
        ----------
        x : array
            The free numbers.
        sparse : bool, "auto" or sparse array
            As of `hessian`.
        """
        matrix = Linearization(self._recorded(GradientRecording, x), self.wrt, self.wrt)
        if sparse is not False:
            found = matrix.sparse("auto" if sparse is True else sparse, symmetric=True)
            return found[self._vector.free][:, self._vector.free]
        columns = self._vector.columns(matrix)
        return columns if columns is matrix else cast("LinearOperator", self._vector.spread().H @ columns)
