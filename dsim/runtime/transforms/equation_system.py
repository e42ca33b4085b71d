"""Derivatives of a solution from the equations that it solves: the implicit function theorem.

Where ``residual(u, k) = 0`` holds, ``J_u du + J_k dk = 0``: a tangent of the solution needs one linear
solve with the Jacobian ``J_u`` of the residual, an adjoint one with its transpose. How the solution was found
plays no part. The tangent and the adjoint solve linear equations with residuals of their own, so contexts
around differentiate them by the same theorem, to any order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from types import MappingProxyType
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.places import caller
from dsim.runtime.checking import runs
from dsim.runtime.checking.replays import Recorder, undone
from dsim.runtime.fields.fields import Field, zeros_like
from dsim.runtime.launching import host_kernels
from dsim.runtime.launching.contexts import Args, System, dispatch
from dsim.runtime.launching.forms import Form
from dsim.runtime.recording.write_history import Trial
from dsim.runtime.state.stack import opened, outside, set_aside
from dsim.runtime.sweeping.sweep import TapeSweep
from dsim.runtime.sweeping.sweep_plan import SweepPlan
from dsim.runtime.transforms import field_copies, residual_reads
from dsim.runtime.transforms.input_recorder import InputRecorder
from dsim.runtime.transforms.recorded_run import RecordedRun
from dsim.runtime.transforms.run_recording import Run, RunRecording
from dsim.runtime.transforms.selection import Selection

Solver = Any  # a name, or a callable (operator, right-hand side) -> solution
Fields = tuple[Field, ...]


class _ResidualRecorder(Recorder):
    """Records a residual on the mirrors of the contexts around it, which know what varies in them."""

    _keeps_mirrors = True

    def __init__(self) -> None:
        super().__init__()
        if opened():
            self._mirrors = opened()[0].mirrors


class EquationSystem:
    """Equations ``residual(unknown, wrt) = 0`` between fields; see `contexts.System`.

    Parameters
    ----------
    name : str
        What the solving function is called.
    residual : callable
        Launches kernels that compute the fields `result` from `unknown` and `wrt`.
    result, unknown, wrt : tuple of Field
        The residual's fields; those that are to make them 0, with as many numbers; what they depend on.
    solver : str or callable
        How linear equations with the Jacobian are solved.
    """

    # What a person's function wrote beside the unknowns; what it launched, after Python had read what.
    beside: frozenset[Field] = frozenset()
    launched: Mapping[Form, frozenset[Field]] = MappingProxyType({})
    adjoint = False  # whether they are the adjoint equations of others, which dsim has solved itself

    def __init__(
        self, name: str, residual: Run, result: Fields, unknown: Fields, wrt: Fields, solver: Solver
    ) -> None:
        self.name = name
        self.result, self.unknown, self.wrt = result, unknown, wrt
        self._residual, self._solver = residual, solver
        self._program: Recorder | None = None
        self._known: Any = None  # about the pattern of the Jacobian, from solutions of the same equations

    def again(self) -> EquationSystem:
        """The same equations, for another solution."""
        made = EquationSystem(self.name, self._residual, self.result, self.unknown, self.wrt, self._solver)
        made._known, made.adjoint = self._known_equations(), self.adjoint
        return made

    def _known_equations(self) -> Any:
        from dsim.runtime.transforms.linear_solves import KnownEquations  # noqa: PLC0415 (SciPy takes long)

        if self._known is None:
            self._known = KnownEquations()
        return self._known

    def compute(self) -> None:
        """Computes the residual, from 0, with the numbers that Python and arrays had at the solution."""
        self._recorded().replay()

    def launches(self) -> Sequence[tuple[Form, Args]]:
        """The launches that compute the residual, and the residuals of what is solved in it."""
        program = self._recorded()
        return [*program.launches, *(launch for _, inner in program.systems for launch in inner.launches())]

    def _recorded(self) -> Recorder:
        """The residual's launches: what Python passes to them may be another number later."""
        if self._program is None:
            program = _ResidualRecorder()
            with undone(program, all_derivatives=True), program:
                for f in self.result:
                    dispatch(host_kernels.form(host_kernels.Fill, f), (0.0,) * f.numbers)
                runs.call(self._residual)
            if program.functions:
                message = (
                    f"the residual of `{self.name}` calls `{program.functions[0]}`, which is under "
                    "`grad_replaced`: its Jacobian needs all derivatives of its kernels"
                )
                advice = "call in the residual the function without the decorator"
                raise GradientError(Diagnostic("not-differentiable", message, help=advice))
            self._program = program
        return self._program

    def lost(self, varies: Callable[[Field], bool]) -> frozenset[Field]:
        """What the function computed beside the unknowns from what varies: without a derivative."""
        found: set[Field] = set()
        before = -1
        while before < len(found):  # its launches may be iterations, in any order
            before = len(found)
            for form, looked_at in self.launched.items():
                if any(f in found or varies(f) for f in (*form.loads.fields, *looked_at)):
                    found.update(form.written)
        return self.beside.intersection(found)

    def refuse_missing(self, varies: Callable[[Field], bool]) -> None:
        """Refuses a residual that reads what varies beside `wrt`, and a function that writes to `wrt`.

        Raises
        ------
        GradientError
            When one does.
        """
        for f in self.wrt:
            if f in self.beside and varies(f):
                message = f"`{self.name}` writes to {f.quoted}, which is in `wrt=`: that has no derivative"
                advice = f"write to {f.quoted} before the call of `{self.name}`"
                raise GradientError(Diagnostic("not-differentiable", message, caller(), help=advice))
        for _, inner in self._recorded().systems:
            inner.refuse_missing(varies)
        for f in self.needed(lambda f: f not in self.wrt and varies(f)):
            message = f"the residual of `{self.name}` reads {f.quoted}, which varies and is not in `wrt=`"
            advice = f"add it: `wrt=[…, {f.name}]`, or use `ds.stop_grad` before"
            if f in self.beside:
                message += f"; `{self.name}` writes to it"
                advice = (
                    f"keep what is read in a field that `{self.name}` does not write to, and add that to "
                    f"`wrt=`; or compute all of {f.quoted} in the residual first"
                )
            raise GradientError(Diagnostic("missing-gradient", message, help=advice))

    def needed(self, matters: Callable[[Field], bool]) -> list[Field]:
        """The fields that matter of those on whose numbers before it the residual depends."""
        events = residual_reads.relevant(self._recorded().events(), self.result)
        read = residual_reads.read_first(events, self.unknown)
        found = [f for f in read if matters(f)]
        unsure = [f for f in found if read[f]]
        sure = set(found).difference(unsure)
        if unsure and not sure:
            sure.update(residual_reads.depended_on(self, unsure))
        return [f for f in found if f in sure]

    # -- tangents

    def push(self, label: str, active: Sequence[Field]) -> None:
        """Computes the tangents of the unknowns from those of `active`, some of `wrt`."""
        duals = [f.scratch((*f.derivative, label)) for f in self.unknown]
        given = [f.scratch((*f.derivative, label)) for f in active]
        with set_aside():
            by_all = RecordedRun(self._recording((*self.unknown, *active)), self.compute)
            zeros = [np.zeros(f.full_shape, f.dtype.numpy) for f in self.unknown]
            change = by_all.push([*zeros, *(f.require_memory().copy() for f in given)])
            found = self._solved([-c for c in change], transposed=False)
        field_copies.become(duals, found)
        if opened():
            moved = functools.partial(self._push_residual, label, frozenset((*self.unknown, *active)))
            results = tuple(f.scratch((*f.derivative, label)) for f in self.result)
            depends = (*self.unknown, *self.wrt, *given)
            opened()[-1].solved(
                EquationSystem(self.name, moved, results, tuple(duals), depends, self._solver)
            )

    def _push_residual(self, label: str, active: frozenset[Field]) -> None:
        """Launches the residual with tangents: their residual is that of the tangents of the unknowns."""
        vary = set(active)
        program = self._recorded()
        for f in {f for form, _ in program.launches for f in form.written if f.dtype.is_float} - vary:
            dual = f.scratch((*f.derivative, label))
            dispatch(host_kernels.form(host_kernels.Fill, dual), (0.0,) * dual.numbers)
        for event in program.events():
            if not isinstance(event, tuple):
                _push_inner(event, label, vary)
                continue
            form, args = event
            reached = form.spread(frozenset(key for key, f in form.floats if f in vary))
            vary.update(map(form.field, reached))
            for key in reached:
                f = form.field(key)
                f.scratch((*f.derivative, label))
            dispatch(form.tangent(reached, label) if reached else form, args)

    # -- adjoints

    def pull(self, label: str, bars: Mapping[Field, Field]) -> None:
        """Turns the adjoints of the unknowns into those of `wrt`.

        With ``m`` that solves ``J_u^T m + u_bar = 0``, the adjoint of ``k`` changes by ``J_k^T m``.
        """
        right = tuple(zeros_like(f, "right") for f in self.unknown)
        multipliers = tuple(zeros_like(f, "multiplier") for f in self.result)
        field_copies.copy(right, [bars[f] for f in self.unknown])
        with set_aside():
            found = self._solved([-f.require_memory() for f in right], transposed=True)
        field_copies.become(multipliers, found)
        number = int(label[3:] or 1) + 1
        results = tuple(zeros_like(f, "residual") for f in self.unknown)

        def transposed() -> None:
            pulled = self._adjoints(multipliers, number)
            field_copies.copy(results, [pulled[f] for f in self.unknown])
            field_copies.add(results, right)

        if opened():
            depends = (*self.unknown, *self.wrt, *right)
            system = EquationSystem(self.name, transposed, results, multipliers, depends, self._solver)
            system.adjoint = True
            opened()[-1].solved(system)
        self.cut(label, bars)
        pulled = self._adjoints(multipliers, number)
        targets = [f for f in self.wrt if f in bars]
        field_copies.add([bars[f] for f in targets], [pulled[f] for f in targets])

    def cut(self, label: str, derivatives: Mapping[Field, Field]) -> None:
        """Sets the derivatives of the unknowns to 0: those of what they were before, a first guess."""
        for f in self.unknown:
            dispatch(host_kernels.form(host_kernels.Fill, derivatives[f]), (0.0,) * f.numbers)

    def _adjoints(self, multipliers: Fields, number: int) -> Mapping[Field, Field]:
        """The adjoints of the unknowns and of `wrt` for these of the residual; fields are put back."""
        inner = _ResidualRecord(self.result)
        with inner.put_back({f for form, _ in self.launches() for f in form.written}):
            return self._swept(inner, multipliers, number)

    def _swept(self, inner: InputRecorder, multipliers: Fields, number: int) -> Mapping[Field, Field]:
        inner.differentiate_by((*self.unknown, *self.wrt))
        with inner:
            self.compute()
        sweep = _MultiplierSweep(inner, multipliers, (*self.unknown, *self.wrt), number)
        bars = sweep.plan.bars
        for bar in bars.values():
            if bar.touched:
                inner.set_all(bar, 0.0)
        sweep.down()
        return bars

    # -- numbers

    def _recording(self, inputs: Fields) -> RunRecording:
        return RunRecording(Selection(list(inputs), "wrt"), Selection(list(self.result), "residual"))

    def _solved(self, right: Sequence[np.ndarray], transposed: bool) -> list[np.ndarray]:
        """The solution of linear equations with the Jacobian by the unknowns, or its transpose."""
        from dsim.runtime.transforms.linear_operator import Linearization  # noqa: PLC0415 (SciPy takes long)
        from dsim.runtime.transforms.linear_solves import LinearEquations  # noqa: PLC0415
        from dsim.runtime.transforms.unsolved import warn_unless_solved  # noqa: PLC0415

        recording = self._recording(self.unknown)
        matrix = Linearization(RecordedRun(recording, self.compute), recording.wrt, recording.out)
        equations = LinearEquations(matrix, self._solver, self.name, self._known_equations())
        left = recording.out.joined([matrix.value[f] for f in self.result], np.float64)
        if not self.adjoint:
            now = recording.wrt.joined([f.require_memory() for f in self.unknown], np.float64)
            warn_unless_solved(self.name, equations, matrix, left, now)
        to, of = (recording.out, recording.wrt) if transposed else (recording.wrt, recording.out)
        return to.split(equations.solve(of.joined(right, np.float64), transposed))


def _push_inner(system: System, label: str, vary: set[Field]) -> None:
    """Solves for the tangents of the unknowns of equations that a residual solves."""
    if opened():
        opened()[-1].solved(system)
    given = [f for f in system.wrt if f in vary]
    if given:
        system.push(label, given)
        vary.update(system.unknown)
    else:
        system.cut(label, {f: f.scratch((*f.derivative, label)) for f in system.unknown})


class _ResidualRecord(InputRecorder):
    """A record in the backward pass of another one, whose adjoints may read what the residual overwrites."""

    def __init__(self, outputs: Fields) -> None:
        super().__init__(outputs)
        self._kept: dict[Field, Field] = {}
        self._changed: dict[Field, int] = {}

    @contextmanager
    def put_back(self, written: Iterable[Field]) -> Iterator[None]:
        """Copies these fields, and copies them back: tapes that have ended see no change."""
        trial = Trial()
        try:
            self.keep_between(written)
            yield
            field_copies.copy(self._kept, self._kept.values())
        except BaseException:
            trial.close()
            raise
        trial.undo(self._changed, lambda: None)

    def keep_between(self, fields: Iterable[Field]) -> None:
        """Copies fields, as launches that the contexts around see."""
        for f in set(fields).difference(self._kept):
            self._changed[f] = f.changed
            kept = self._kept[f] = zeros_like(f, "kept")
            with outside(self) if self.is_open else nullcontext():
                field_copies.copy([kept], [f])


class _MultiplierSweep(TapeSweep):
    """A backward sweep from adjoints that stand in fields, with labels from a number on."""

    def __init__(self, record: InputRecorder, multipliers: Fields, inputs: Fields, number: int) -> None:
        super().__init__(record)
        self._multipliers, self._inputs, self._number = multipliers, inputs, number

    def _found(self) -> SweepPlan:
        others = (*self._inputs, *self._in_solutions())
        return SweepPlan(self._record.outputs, self._adjoints, others, self._number)

    def seed(self, plan: SweepPlan) -> None:
        """Copies the adjoints of the outputs."""
        field_copies.copy([plan.bars[f] for f in self._record.outputs], self._multipliers)
