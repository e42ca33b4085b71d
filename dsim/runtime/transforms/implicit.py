"""`implicit`: a function that solves equations is differentiated by its residual, not by its iterations."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.frames import outermost
from dsim.diagnostics.places import caller
from dsim.runtime.checking import runs
from dsim.runtime.fields.fields import Field, kind_of
from dsim.runtime.launching import host_kernels
from dsim.runtime.launching.contexts import Args, Stopped
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.host_elements import Renew
from dsim.runtime.launching.shadow_arrays import Mirror
from dsim.runtime.state.notices import warn
from dsim.runtime.state.references import ByName
from dsim.runtime.state.stack import opened
from dsim.runtime.transforms.equation_system import EquationSystem, Solver
from dsim.runtime.transforms.run_recording import Run
from dsim.runtime.transforms.selection import Selection


class _Unseen(Stopped):
    """Runs a solver: what it writes is constant, and it may look at values.

    Attributes
    ----------
    written : set of Field
        What it writes.
    launched : dict of Form to frozenset of Field
        What it launches, and the fields that Python has read until then: its numbers may be made of theirs.
    """

    def __init__(self) -> None:
        super().__init__()
        self.written: set[Field] = set()
        self.launched: dict[Form, frozenset[Field]] = {}
        self._looked_at = frozenset[Field]()

    def launch(self, form: Form, args: Args) -> Args:
        """The same launch without derivatives."""
        if isinstance(form, Renew | host_kernels.Copy) and isinstance(form.written[0], Mirror):
            # What Python changes in an array is constant, and so are the fields that tell it.
            self.written.difference_update({*form.fields.values()}.difference(form.written))
        else:
            self.written.update(form.written)
            self.launched[form] = self._looked_at
        return super().launch(form, args)

    def element_read(self, field: Field) -> None:
        """Notes the field: the derivative does not pass through here."""
        if field not in self._looked_at:
            self._looked_at |= {field}


class Implicit(ByName):
    """A function that solves equations, under `implicit`."""

    def __init__(self, function: Callable[..., Any], system: EquationSystem) -> None:
        functools.update_wrapper(self, function)
        self.function, self._system = function, system
        system.name = self.__name__

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        """A method of `owner`, when it stands in a class."""
        return self if owner is None else functools.update_wrapper(functools.partial(self, owner), self)

    @outermost
    def __call__(self, *args: Any, **named: Any) -> Any:
        """Calls the function; in a tape or forward mode its derivative follows from the residual."""
        if not opened():
            return self.function(*args, **named)
        unseen = _Unseen()
        try:
            with opened()[0].mirrors.undifferentiated(unseen.paused), unseen:
                result = runs.call(self.function, *args, **named)
            system = self._system.again()
            system.launches()  # while Python and arrays have the numbers of this solution
            system.beside = frozenset(unseen.written.difference(system.unknown))
            system.launched = unseen.launched
            opened()[-1].solved(system)
        except BaseException:
            for context in opened():
                context.failed(self.__name__, unseen.written)
            raise
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
        direct up to 400 unknowns; with more it is GMRES, or sparse where that has not converged after ten
        restarts. A callable gets a linear operator of SciPy and the right-hand side, and returns the
        solution.

    Raises
    ------
    GradientError
        When the residual depends on a field that varies and that `wrt` does not name; when the function
        writes to one that `wrt` names; when the linear equations have no solution, or the solver did not
        find it.

    Notes
    -----
    A function that stops before the residual is 0 gives a warning with the size of Newton's next step. The
    first guess has no derivative. Other fields that the function writes have none that is known: kernels that
    read them afterwards, and transforms and tapes of them, are errors.

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
    if not isinstance(residual, tuple | list) or len(residual) != 2:
        got = f"{len(residual)} of them" if isinstance(residual, tuple | list) else kind_of(residual)
        message = f"`residual=` is a function and the fields that it writes, got {got}"
        raise GradientError(Diagnostic("argument", message, help="pass the pair: `residual=(equations, r)`"))
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
