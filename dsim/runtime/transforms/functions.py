"""Transforms of a kernel, or of a function that launches kernels, all with the signature `(run, wrt=, out=)`.

All are functions of the present state: they read fields, leave every field, gradient, tangent and random
number as it was, and return arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.frames import outermost
from dsim.runtime.checking import runs
from dsim.runtime.transforms.recorded_run import RecordedRun
from dsim.runtime.transforms.run_recording import GradientRecording, Run, RunRecording
from dsim.runtime.transforms.selection import Selection, one_number

if TYPE_CHECKING:
    from dsim.runtime.transforms.linear_operator import Linearization


@outermost
def linearize(run: Run, wrt: Any, out: Any) -> Linearization:
    """The Jacobian of a run as a linear operator of SciPy: `run` is called once, products are many.

    Parameters
    ----------
    run : callable
        A kernel without parameters, or a function without parameters that launches kernels.
    wrt : Field, ndarray, or list of them
        What to differentiate by: its values at the beginning of the run.
    out : Field, ndarray, or list of them
        What is differentiated: its values at the end of the run.

    Returns
    -------
    Linearization
        A `scipy.sparse.linalg.LinearOperator` of shape ``(out.size, wrt.size)`` with `matvec`, `rmatvec`,
        `matmat` and `rmatmat`. It stays the Jacobian at this state, whatever is written to fields later.

    Raises
    ------
    GradientError
        When `wrt` or `out` are no float fields or arrays, and where a tape or a forward mode would raise it.

    Notes
    -----
    All fields, gradients, tangents and random numbers are as before afterwards. The operator keeps copies
    of what the launches touch, from the beginning and the end of the run.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f64, shape=3)
    >>> y = ti.field(ti.f64, shape=2)
    >>> @ti.kernel
    ... def run():
    ...     y[0] = x[0] * x[1]
    ...     y[1] = x[2] ** 2
    >>> x.from_numpy([2.0, 3.0, 4.0])
    >>> J = ti.linearize(run, wrt=x, out=y)
    >>> J.value, J.matvec([1.0, 0.0, 0.0]), J.rmatvec([0.0, 1.0])
    (array([ 6., 16.]), array([3., 0.]), array([0., 0., 8.]))
    """
    from dsim.runtime.transforms.linear_operator import Linearization  # noqa: PLC0415 (SciPy takes long)

    return Linearization(*_recorded(run, wrt, out))


@outermost
def vjp(run: Run, wrt: Any, out: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The values of `out`, and the function that maps cotangents of `out` to cotangents of `wrt`.

    Parameters
    ----------
    run, wrt, out
        As in `linearize`.

    Returns
    -------
    value : ndarray or mapping
        Of one field an array, of a list a mapping by field.
    pull : callable
        ``pull(cotangents)``, the product of the transposed Jacobian with an array for each of `out`, often.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f64, shape=3)
    >>> y = ti.field(ti.f64, shape=3)
    >>> @ti.kernel
    ... def squares():
    ...     for i in x:
    ...         y[i] = x[i] ** 2
    >>> x.from_numpy([1.0, 2.0, 3.0])
    >>> value, pull = ti.vjp(squares, wrt=x, out=y)
    >>> pull([1.0, 0.0, 10.0])
    array([ 2.,  0., 60.])
    """
    recorded, inputs, outputs = _recorded(run, wrt, out)

    @outermost
    def pull(cotangents: Any) -> Any:
        return inputs.result(recorded.pull(outputs.given(cotangents, "the cotangent")))

    return outputs.result(recorded.values), pull


@outermost
def jvp(run: Run, wrt: Any, out: Any, tangents: Any) -> tuple[Any, Any]:
    """The values of `out`, and their derivative along a direction.

    Parameters
    ----------
    run, wrt, out
        As in `linearize`.
    tangents : array, or sequence or mapping of arrays
        The direction: an array for each of `wrt`.

    Returns
    -------
    value, tangent : ndarray or mapping
        Of one field an array, of a list a mapping by field.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f64, shape=())
    >>> y = ti.field(ti.f64, shape=())
    >>> @ti.kernel
    ... def cube():
    ...     y[None] = x[None] ** 3
    >>> x[None] = 2.0
    >>> value, tangent = ti.jvp(cube, wrt=x, out=y, tangents=1.0)
    >>> float(value), float(tangent)
    (8.0, 12.0)
    """
    recorded, inputs, outputs = _recorded(run, wrt, out)
    pushed = recorded.push(inputs.given(tangents, "the tangent"))
    return outputs.result(recorded.values), outputs.result(pushed)


@outermost
def value_and_grad(run: Run, wrt: Any, out: Any) -> Callable[..., tuple[Any, Any]]:
    """A function that gives the value of `out`, a single number, and its gradient with respect to `wrt`.

    Parameters
    ----------
    run, wrt, out
        As in `linearize`; `out` holds one number.

    Returns
    -------
    callable
        ``f()`` differentiates at the present state, ``f(values, …)`` with these values in place of those of
        `wrt`, one for each, or in a list or a dictionary by field. Both give a float and the gradient: of
        one field an array, of a list a mapping by field.

    Raises
    ------
    GradientError
        When `out` has several numbers.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f64, shape=3)
    >>> y = ti.field(ti.f64, shape=())
    >>> @ti.kernel
    ... def energy():
    ...     for i in x:
    ...         y[None] += x[i] ** 2
    >>> x.fill(1.0)
    >>> f = ti.value_and_grad(energy, wrt=x, out=y)
    >>> f()
    (3.0, array([2., 2., 2.]))
    >>> f([1.0, 2.0, 3.0])
    (14.0, array([2., 4., 6.]))
    """
    runs.require(run)
    inputs, outputs = Selection(wrt, "wrt"), one_number(out, "out")

    @outermost
    def differentiated(*values: Any) -> tuple[Any, Any]:
        start = inputs.given(_of_call(values, inputs), "the value") if values else None
        recording = RunRecording(inputs, outputs)
        with recording.running(run, start):
            (value,) = recording.values()
            gradient = recording.sweep([np.ones_like(value)])
        return value.item(), inputs.result(gradient)

    return differentiated


def _of_call(values: tuple[Any, ...], inputs: Selection) -> Any:
    """What ``f(a, b)``, ``f([a, b])`` or ``f({x: a, y: b})`` gives for the inputs."""
    if inputs.single and values[1:] and any(np.ndim(v) for v in values):
        message = f"`wrt=` names one field or array, and the call has {len(values)} values"
        raise GradientError(
            Diagnostic("argument", message, help="pass one array, or name the others in `wrt=`")
        )
    whole = inputs.single or len(inputs.leaves) > 1 or isinstance(values[0], Mapping)
    return values[0] if whole and len(values) == 1 else values


@outermost
def gradient_of(run: Run, wrt: Any, out: Any) -> Callable[..., Any]:
    """As `value_and_grad`, without the value: ``ds.grad(run, wrt=, out=)``."""
    found = value_and_grad(run, wrt, out)

    @outermost
    def gradient(*values: Any) -> Any:
        return found(*values)[1]

    return gradient


@outermost
def jacobian(run: Run, wrt: Any, out: Any, *, sparse: Any = False) -> Any:
    """The Jacobian of a run as an array.

    Parameters
    ----------
    run, wrt, out
        As in `linearize`.
    sparse : bool, "auto" or sparse array
        Whether to make a sparse array; its pattern is found, or given as in `Linearization.sparse`.

    Returns
    -------
    ndarray, mapping or csr_array
        Of shape ``out.shape + wrt.shape``; of a list for `out` a mapping by its fields, of a list for `wrt`
        (in it) one by those. A sparse array has a row for each number of `out`, a column for each of `wrt`.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f64, shape=2)
    >>> y = ti.field(ti.f64, shape=2)
    >>> @ti.kernel
    ... def run():
    ...     y[0] = x[0] * x[1]
    ...     y[1] = x[1] ** 2
    >>> x.from_numpy([2.0, 3.0])
    >>> ti.jacobian(run, wrt=x, out=y)
    array([[3., 2.],
           [0., 6.]])
    >>> ti.jacobian(run, wrt=x, out=y, sparse=True).nnz
    3
    """
    matrix = linearize(run, wrt, out)
    return _blocks(matrix) if sparse is False else matrix.sparse(sparse)


@outermost
def hessian(run: Run, wrt: Any, out: Any, *, sparse: Any = False) -> Any:
    """The second derivatives of `out`, a single number, with respect to `wrt`.

    Parameters
    ----------
    run, wrt, out
        As in `linearize`; `out` holds one number.
    sparse : bool, "auto" or sparse array
        As in `jacobian`.

    Returns
    -------
    ndarray, mapping or csr_array
        Of shape ``wrt.shape + wrt.shape``; of a list a mapping by field of mappings by field. A sparse
        array has a row and a column for each number of `wrt`.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f64, shape=2)
    >>> y = ti.field(ti.f64, shape=())
    >>> @ti.kernel
    ... def run():
    ...     y[None] = x[0] ** 2 * x[1]
    >>> x.from_numpy([2.0, 3.0])
    >>> ti.hessian(run, wrt=x, out=y)
    array([[6., 4.],
           [4., 0.]])
    """
    matrix = linearized_gradient(run, wrt, out)
    return _blocks(matrix) if sparse is False else matrix.sparse(sparse, symmetric=True)


def linearized_gradient(run: Run, wrt: Any, out: Any) -> Linearization:
    """The Hessian as a linear operator."""
    from dsim.runtime.transforms.linear_operator import Linearization  # noqa: PLC0415 (SciPy takes long)

    recorded, inputs = _recorded_gradient(run, wrt, out)
    return Linearization(recorded, inputs, inputs)


@outermost
def hvp(run: Run, wrt: Any, out: Any, tangents: Any) -> Any:
    """The product of the Hessian of `out`, a single number, with a direction: forward over reverse mode.

    Parameters
    ----------
    run, wrt, out
        As in `linearize`; `out` holds one number.
    tangents : array, or sequence or mapping of arrays
        The direction: an array for each of `wrt`.

    Returns
    -------
    ndarray or mapping
        In the structure of `wrt`.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f64, shape=2)
    >>> y = ti.field(ti.f64, shape=())
    >>> @ti.kernel
    ... def run():
    ...     y[None] = x[0] ** 2 * x[1]
    >>> x.from_numpy([2.0, 3.0])
    >>> ti.hvp(run, wrt=x, out=y, tangents=[1.0, 0.0])
    array([6., 4.])
    """
    recorded, inputs = _recorded_gradient(run, wrt, out)
    return inputs.result(recorded.push(inputs.given(tangents, "the tangent")))


def _recorded(run: Run, wrt: Any, out: Any) -> tuple[RecordedRun, Selection, Selection]:
    inputs, outputs = Selection(wrt, "wrt"), Selection(out, "out")
    return RecordedRun(RunRecording(inputs, outputs), run), inputs, outputs


def _recorded_gradient(run: Run, wrt: Any, out: Any) -> tuple[RecordedRun, Selection]:
    inputs = Selection(wrt, "wrt")
    return RecordedRun(GradientRecording(inputs, one_number(out, "out")), run), inputs


def _blocks(matrix: Linearization) -> Any:
    """The matrix, cut into the arrays of each output by each input."""
    rows, columns = matrix.out, matrix.wrt

    def row(part: np.ndarray, shape: tuple[int, ...]) -> Any:
        blocks = columns.split(part.T)
        return columns.result([np.moveaxis(b, -1, 0).reshape(shape + b.shape[:-1]) for b in blocks])

    parts = np.split(matrix.dense(), rows.ends[:-1])
    return rows.result([row(part, shape) for part, shape in zip(parts, rows.shapes, strict=True)])
