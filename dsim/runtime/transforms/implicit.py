"""Derivatives of a solution from the equations that it solves: the implicit function theorem.

Where ``residual(u, k) = 0`` holds, ``J_u du + J_k dk = 0``: a tangent of the solution needs one linear
solve with the Jacobian ``J_u`` of the residual, an adjoint one with its transpose. How the solution was found
plays no part. The tangent and the adjoint solve linear equations with residuals of their own, so contexts
around differentiate them by the same theorem, to any order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.frames import outermost
from dsim.diagnostics.places import caller
from dsim.runtime.checking import runs
from dsim.runtime.checking.replays import Recorder, undone
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching import host_kernels
from dsim.runtime.launching.contexts import Args, Stopped, dispatch
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.host_elements import Renew
from dsim.runtime.launching.shadow_arrays import Mirror
from dsim.runtime.recording.sweep import SweepPlan, TapeSweep
from dsim.runtime.state.notices import warn
from dsim.runtime.state.references import ByName
from dsim.runtime.state.stack import opened, set_aside
from dsim.runtime.transforms import field_copies
from dsim.runtime.transforms.recorded_run import InputRecorder, RecordedRun, Run, RunRecording
from dsim.runtime.transforms.selection import Selection

Solver = Any  # a name, or a callable (operator, right-hand side) -> solution
Fields = tuple[Field, ...]


class _Unseen(Stopped):
    """Runs a solver: what it writes is constant, and it may look at values.

    Attributes
    ----------
    written : set of Field
        What it writes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.written: set[Field] = set()

    def launch(self, form: Form, args: Args) -> Args:
        """The same launch without derivatives."""
        if isinstance(form, Renew | host_kernels.Copy) and isinstance(form.written[0], Mirror):
            # What Python changes in an array is constant, and so are the fields that tell it.
            self.written.difference_update({*form.fields.values()}.difference(form.written))
        else:
            self.written.update(form.written)
        return super().launch(form, args)

    def element_read(self, field: Field) -> None:
        """Nothing: the derivative does not pass through here."""


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

    beside: frozenset[Field] = frozenset()  # what else a person's function wrote

    def __init__(
        self, name: str, residual: Run, result: Fields, unknown: Fields, wrt: Fields, solver: Solver
    ) -> None:
        self.name = name
        self.result, self.unknown, self.wrt = result, unknown, wrt
        self._residual, self._solver = residual, solver
        self._program: Recorder | None = None

    def again(self) -> EquationSystem:
        """The same equations, for another solution."""
        return EquationSystem(self.name, self._residual, self.result, self.unknown, self.wrt, self._solver)

    def compute(self) -> None:
        """Computes the residual, from 0, with the numbers that Python and arrays had at the solution."""
        self._recorded().replay()

    def launches(self) -> Sequence[tuple[Form, Args]]:
        """The launches that compute the residual."""
        return self._recorded().launches

    def _recorded(self) -> Recorder:
        """The residual's launches: what Python passes to them may be another number later."""
        if self._program is None:
            program = _ResidualRecorder()
            with undone(program), program:
                for f in self.result:
                    dispatch(host_kernels.form(host_kernels.Fill, f), (0.0,) * f.numbers)
                runs.call(self._residual)
            self._program = program
        return self._program

    def refuse_missing(self, varies: Callable[[Field], bool]) -> None:
        """Refuses a residual that reads what varies and is not in `wrt`.

        Raises
        ------
        GradientError
            When it does.
        """
        known = {*self.unknown, *self.wrt}
        for form in self._relevant():
            for f in form.loads.fields:
                if f not in known and f.dtype.is_float and varies(f):
                    message = (
                        f"the residual of `{self.name}` reads {f.quoted}, which varies and is not in `wrt=`"
                    )
                    advice = f"add it: `wrt=[…, {f.name}]`, or use `ds.stop_grad` before"
                    raise GradientError(Diagnostic("missing-gradient", message, help=advice))
            known.update(form.written)

    def _relevant(self) -> Sequence[Form]:
        """The launches on which its result depends: not those that only put back what was in fields."""
        needed, found = set(self.result), list[Form]()
        for form, _ in reversed(self.launches()):
            if not needed.isdisjoint(form.written):
                needed.update(form.loads.fields)
                found.append(form)
        return found[::-1]

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
        for f in {f for form, _ in self.launches() for f in form.written if f.dtype.is_float} - vary:
            dual = f.scratch((*f.derivative, label))
            dispatch(host_kernels.form(host_kernels.Fill, dual), (0.0,) * dual.numbers)
        for form, args in self.launches():
            reached = form.spread(frozenset(m.key for m, f in form.floats if f in vary))
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
        right = tuple(field_copies.like(f, "right") for f in self.unknown)
        multipliers = tuple(field_copies.like(f, "multiplier") for f in self.result)
        field_copies.copy(right, [bars[f] for f in self.unknown])
        with set_aside():
            found = self._solved([-f.require_memory() for f in right], transposed=True)
        field_copies.become(multipliers, found)
        number = int(label[3:] or 1) + 1
        results = tuple(field_copies.like(f, "residual") for f in self.unknown)

        def transposed() -> None:
            pulled = self._adjoints(multipliers, number)
            field_copies.copy(results, [pulled[f] for f in self.unknown])
            field_copies.add(results, right)

        if opened():
            depends = (*self.unknown, *self.wrt, *right)
            opened()[-1].solved(
                EquationSystem(self.name, transposed, results, multipliers, depends, self._solver)
            )
        for f in self.unknown:
            dispatch(host_kernels.form(host_kernels.Fill, bars[f]), (0.0,) * f.numbers)
        pulled = self._adjoints(multipliers, number)
        targets = [f for f in self.wrt if f in bars]
        field_copies.add([bars[f] for f in targets], [pulled[f] for f in targets])

    def _adjoints(self, multipliers: Fields, number: int) -> Mapping[Field, Field]:
        """The adjoints of the unknowns and of `wrt` for these of the residual; fields are put back."""
        written = {f for form, _ in self.launches() for f in form.written}
        kept = {f: field_copies.like(f, "kept") for f in written}
        field_copies.copy(kept.values(), kept)
        inner = InputRecorder(self.result, clears=False, saves=True, budget=None)
        inner.differentiate_by((*self.unknown, *self.wrt))
        with inner:
            self.compute()
        sweep = _MultiplierSweep(inner, multipliers, (*self.unknown, *self.wrt), number)
        bars = sweep.plan.bars
        for bar in bars.values():
            if bar.touched:
                inner.set_all(bar, 0.0)
        sweep.down()
        field_copies.copy(kept, kept.values())
        return bars

    # -- numbers

    def _recording(self, inputs: Fields) -> RunRecording:
        return RunRecording(Selection(list(inputs), "wrt"), Selection(list(self.result), "residual"))

    def _solved(self, right: Sequence[np.ndarray], transposed: bool) -> list[np.ndarray]:
        """The solution of linear equations with the Jacobian by the unknowns, or its transpose."""
        from dsim.runtime.transforms.linear_operator import Linearization  # noqa: PLC0415 (SciPy takes long)
        from dsim.runtime.transforms.linear_solves import solved  # noqa: PLC0415

        recording = self._recording(self.unknown)
        matrix = Linearization(RecordedRun(recording, self.compute), recording.wrt, recording.out)
        self._check(matrix, recording)
        to, of = (recording.out, recording.wrt) if transposed else (recording.wrt, recording.out)
        found = solved(matrix, of.joined(right, np.float64), self._solver, transposed, self.name)
        return to.split(found)

    def _check(self, matrix: Any, recording: RunRecording) -> None:
        """Warns when the unknowns do not solve the equations."""
        from dsim.runtime.transforms.linear_solves import solved  # noqa: PLC0415

        left = recording.out.joined([matrix.value[f] for f in self.result], np.float64)
        now = recording.wrt.joined([f.require_memory() for f in self.unknown], np.float64)
        if not left.any():
            return
        step = float(np.linalg.norm(solved(matrix, left, self._solver, False, self.name)))
        size = float(np.linalg.norm(now))
        precision = float(np.sqrt(np.finfo(recording.wrt.dtype).eps))
        if step > 100 * precision * max(size, np.finfo(np.float32).tiny):
            unknown = ", ".join(f.quoted for f in self.unknown)
            message = (
                f"`{self.name}` stopped before its residual was 0: Newton's next step would change {unknown} "
                f"by {step / size if size else step:.1e} of its size"
            )
            advice = "iterate longer: the derivative is that of a solution"
            warn([Diagnostic("unsolved", message, help=advice)])


class _MultiplierSweep(TapeSweep):
    """A backward sweep from adjoints that stand in fields, with labels from a number on."""

    def __init__(self, record: InputRecorder, multipliers: Fields, inputs: Fields, number: int) -> None:
        super().__init__(record)
        self._multipliers, self._inputs, self._number = multipliers, inputs, number

    def _found(self) -> SweepPlan:
        return SweepPlan(self._record.outputs, self._adjoints, self._inputs, self._number)

    def seed(self) -> None:
        """Copies the adjoints of the outputs."""
        field_copies.copy([self.plan.bars[f] for f in self._record.outputs], self._multipliers)


class Implicit(ByName):
    """A function that solves equations, under `implicit`."""

    def __init__(self, function: Callable[..., Any], system: EquationSystem) -> None:
        functools.update_wrapper(self, function)
        self.function, self._system = function, system
        system.name = self.__name__

    @outermost
    def __call__(self, *args: Any, **named: Any) -> Any:
        """Calls the function; in a tape or forward mode its derivative follows from the residual."""
        if not opened():
            return self.function(*args, **named)
        unseen = _Unseen()
        with opened()[0].mirrors.undifferentiated(unseen.paused), unseen:
            result = runs.call(self.function, *args, **named)
        system = self._system.again()
        system.launches()  # while Python and arrays have the numbers of this solution
        system.beside = frozenset(unseen.written.difference(system.unknown))
        opened()[-1].solved(system)
        if isinstance(result, float | np.floating | np.ndarray):
            message = f"`{self.__name__}` returns a number: it is a constant of the tape or forward mode"
            advice = "compute it from the unknowns in a kernel, after the function"
            warn([Diagnostic("cut", message, caller(), "called here", help=advice)])
        return result


@outermost
def implicit(
    *, residual: tuple[Run, Any], unknown: Any, wrt: Any, solver: Solver = "auto"
) -> Callable[[Callable[..., Any]], Implicit]:
    """Decorator: the derivative of what this function solves follows from a residual, not from iterations.

    The function is any iteration that ends with the residual at 0: Newton's method, a fixed point, an
    optimisation whose gradient is the residual. Nothing of it is recorded, so memory does not grow with the
    number of iterations.

    Parameters
    ----------
    residual : (callable, Field or list of Field)
        A kernel without parameters, or a function that launches kernels, and the fields into which it writes
        the residual. They are set to 0 before each call.
    unknown : Field or list of Field
        What the function computes, with as many numbers as the residual.
    wrt : Field or list of Field
        All that the residual depends on and that may vary.
    solver : {"auto", "direct", "sparse", "gmres", "cg", "bicgstab"} or callable
        How linear equations with the Jacobian of the residual are solved: ``"direct"`` factorises its dense
        matrix, ``"sparse"`` its sparse one, ``"cg"`` is for symmetric positive definite ones; ``"auto"`` is
        direct up to 400 unknowns, then GMRES. A callable gets a linear operator of SciPy and the right-hand
        side, and returns the solution.

    Raises
    ------
    GradientError
        When the residual depends on a field that varies and that `wrt` does not name; when the linear
        equations have no solution, or the solver did not find it.

    Notes
    -----
    A function that stops before the residual is 0 gives a warning with the size of Newton's next step. The
    first guess has no derivative. Other fields that the function writes are constants of tapes.

    Examples
    --------
    >>> import dsim as ti
    >>> k, u, r = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(3))
    >>> @ti.kernel
    ... def equation():
    ...     r[None] = u[None] ** 3 - k[None]
    >>> @ti.implicit(residual=(equation, r), unknown=u, wrt=k)
    ... def cube_root():
    ...     u[None] = k[None] ** (1 / 3)
    >>> k[None] = 8.0
    >>> ti.grad(cube_root, wrt=k, out=u)().round(9)  # 1 / (3 · 2²)
    np.float64(0.083333333)
    """
    run, result = residual
    runs.require(run)
    outputs, inputs, others = (
        Selection(given, what) for given, what in ((result, "residual"), (unknown, "unknown"), (wrt, "wrt"))
    )
    for selection in (outputs, inputs, others):
        selection.refuse_arrays()
    if outputs.size != inputs.size:
        message = f"the residual has {outputs.size} numbers, and the unknowns have {inputs.size}"
        raise GradientError(Diagnostic("argument", message, help="give one equation for each unknown"))
    _refuse_overlap(outputs, inputs, others)
    system = EquationSystem("", run, outputs.fields, inputs.fields, others.fields, solver)
    return lambda function: Implicit(function, system)


def _refuse_overlap(*selections: Selection) -> None:
    """Refuses a field that stands for two of the residual, the unknowns and what they depend on."""
    for n, one in enumerate(selections):
        for other in selections[:n]:
            for f in set(one.fields).intersection(other.fields):
                message = f"{f.quoted} is both in `{other.what}=` and in `{one.what}=`"
                advice = "the unknowns, their residual and `wrt=` are fields of their own"
                raise GradientError(Diagnostic("argument", message, help=advice))
