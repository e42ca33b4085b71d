"""`objective` and `residuals`: runs as functions of a vector. See `objective.py` for what they make.

SciPy, whose import takes long, is imported when one is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.frames import outermost
from dsim.runtime.fields.fields import Field
from dsim.runtime.transforms.run_recording import Run
from dsim.runtime.transforms.selection import Selection, one_number

if TYPE_CHECKING:
    from dsim.runtime.transforms.objective import Objective, Residuals


@outermost
def objective(
    run: Run, wrt: Any, loss: Any, *, reset: Run | None = None, bounds: Any = None, free: Any = None
) -> Objective:
    """A run as an objective of SciPy's optimisers: one vector in, the value and its gradient out.

    Parameters
    ----------
    run : callable
        A kernel without parameters, or a function without parameters that launches kernels.
    wrt : Field, ndarray, or list of them
        What is optimised.
    loss : Field
        A single number that the run computes. It is 0 when a run begins, as on a tape.
    reset : callable, optional
        Called before each run to prepare the state; `wrt` gets its values after it. Without it, each run
        begins with what fields hold when it is asked for.
    bounds : pair or dictionary, optional
        For a single field the lower and the upper bound, for a list a dictionary of such pairs by field; each
        a number, an array, or None.
    free : array or dictionary, optional
        Which numbers are optimised: booleans in the same structure. The others keep their values.

    Returns
    -------
    Objective
        ``f(x)`` gives the value and the gradient at a vector of 64-bit floats. ``f.x0`` are the present
        values, ``f.put(x)`` writes others; ``f.hessp(x, p)`` and ``f.hessian(x)`` have second derivatives,
        `f.bounds` the bounds. Fields change by `put` only.

    Raises
    ------
    GradientError
        When `loss` has several numbers, `wrt` names it, too, or bounds do not go with their field.

    Examples
    --------
    >>> import dsim as ti
    >>> from scipy.optimize import minimize
    >>> x = ti.field(ti.f64, shape=2)
    >>> y = ti.field(ti.f64, shape=())
    >>> @ti.kernel
    ... def rosenbrock():
    ...     y[None] = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    >>> f = ti.objective(rosenbrock, wrt=x, loss=y)
    >>> found = minimize(f, f.x0, jac=True, hessp=f.hessp, method="trust-krylov")
    >>> f.put(found.x)
    >>> x.to_numpy().round(5)
    array([1., 1.])
    """
    from dsim.runtime.transforms.numbers_of_inputs import InputVector  # noqa: PLC0415
    from dsim.runtime.transforms.objective import Objective  # noqa: PLC0415

    inputs, least = Selection(wrt, "wrt"), one_number(loss, "loss")
    named = least.leaves[0]
    if isinstance(named, Field) and any(leaf is named for leaf in inputs.leaves):
        message = f"{named.quoted} is the loss, with 0 in it when a run begins: it cannot be in `wrt=`"
        raise GradientError(Diagnostic("argument", message, help="name in `wrt=` what the loss depends on"))
    return Objective(run, inputs, least, reset, InputVector(inputs, free, bounds))


@outermost
def residuals(
    run: Run, wrt: Any, out: Any, *, reset: Run | None = None, bounds: Any = None, free: Any = None
) -> Residuals:
    """A run as a function of a vector with several results, for SciPy's solvers and least squares.

    Parameters
    ----------
    run, wrt, reset, bounds, free
        As in `objective`.
    out : Field, ndarray, or list of them
        What the run computes.

    Returns
    -------
    Residuals
        ``f(x)`` gives one vector of 64-bit floats, ``f.jac(x)`` the Jacobian as a linear operator; `x0`,
        `put` and `bounds` as of an `objective`.

    Examples
    --------
    >>> import dsim as ti
    >>> from scipy.optimize import least_squares
    >>> x = ti.field(ti.f64, shape=2)
    >>> r = ti.field(ti.f64, shape=3)
    >>> @ti.kernel
    ... def misfit():
    ...     for i in r:
    ...         r[i] = x[0] + x[1] * i - (3.0 + 2.0 * i)
    >>> f = ti.residuals(misfit, wrt=x, out=r)
    >>> least_squares(f, f.x0, jac=f.jac, tr_solver="lsmr").x.round(5)
    array([3., 2.])
    """
    from dsim.runtime.transforms.numbers_of_inputs import InputVector  # noqa: PLC0415
    from dsim.runtime.transforms.objective import Residuals  # noqa: PLC0415

    inputs = Selection(wrt, "wrt")
    return Residuals(run, inputs, Selection(out, "out"), reset, InputVector(inputs, free, bounds))
