"""Fourier transforms of real numbers: complex ones lie in a last axis of 2, real and imaginary part."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsim.api.ad import operation
from dsim.diagnostics import Diagnostic, LaunchTypeError


def _pairs(z: Any) -> Any:
    return np.stack([z.real, z.imag], axis=-1)


@operation
def rfft(x: Any, *, axis: int = -1) -> Any:
    """The discrete Fourier transform of real numbers along an axis.

    Parameters
    ----------
    x : array or field
        Real numbers, n along `axis`.
    axis : int, default -1
        Along which it transforms.

    Returns
    -------
    array
        The first n//2 + 1 coefficients along `axis`, with real and imaginary part as a last axis of 2; `out`
        may be a field of vectors of 2.

    Examples
    --------
    >>> import numpy as np
    >>> import dsim as ti
    >>> ti.operations.rfft(np.array([1.0, 0.0, -1.0, 0.0]))
    array([[0., 0.],
           [2., 0.],
           [0., 0.]])
    """
    return _pairs(np.fft.rfft(x, axis=_axis("rfft", np.ndim(x), axis)))


@operation
def irfft(z: Any, *, n: int, axis: int = -1) -> Any:
    """The real numbers whose transform `rfft` is `z`.

    Parameters
    ----------
    z : array or field
        Coefficients, real and imaginary part in the last axis of 2.
    n : int
        How many numbers along `axis`.
    axis : int, default -1
        Along which it transforms; the last axis does not count.

    Raises
    ------
    LaunchTypeError
        When `z` has another number of coefficients along `axis` than n//2 + 1.
    """
    if z.ndim < 2 or z.shape[-1] != 2:
        message = f"`irfft` takes coefficients, with a last axis of 2: got an array of shape {z.shape}"
        raise _refused(message, "stack the two parts: `np.stack([real, imaginary], -1)`")
    if not isinstance(n, int | np.integer) or n < 1:
        raise _refused(f"`n` of `irfft` is a number of results, at least 1, not {n!r}", "`irfft(z, n=8)`")
    along = _axis("irfft", z.ndim - 1, axis)
    given, wanted = z.shape[along], n // 2 + 1
    if given != wanted:
        message = f"`irfft` makes {n} numbers of {wanted} coefficients along the axis, and got {given}"
        raise _refused(message, f"pass `n={2 * given - 1}`, or cut the coefficients or append zeros")
    return np.fft.irfft(z[..., 0] + 1j * z[..., 1], n, axis=along).astype(z.dtype)


def _axis(name: str, axes: int, axis: Any) -> int:
    """`axis` of an array with so many axes, counted from the first one."""
    if not isinstance(axis, int | np.integer) or not -axes <= axis < axes:
        has = "no axis" if not axes else "1 axis" if axes == 1 else f"{axes} axes"
        beside = " beside that of the parts" if name == "irfft" else ""
        message = f"`{name}` finds no axis {axis!r} in an array with {has}{beside}"
        raise _refused(message, "leave `axis` out for the last one")
    return int(axis) % axes


def _refused(message: str, advice: str) -> LaunchTypeError:
    return LaunchTypeError(Diagnostic("argument", message, help=advice))


def _weights(n: int, axes: int, axis: int, inner: float, dtype: Any) -> Any:
    """1 for the coefficients that are their own conjugates, `inner` for those that stand for two."""
    found = np.full(n // 2 + 1, inner, dtype)
    found[0] = 1
    if n % 2 == 0:
        found[-1] = 1
    shape = [1] * axes
    shape[axis] = len(found)
    return found.reshape((*shape, 1))


@rfft.jvp
def _(x: Any, /, *, tangents: Any, axis: int) -> Any:
    return rfft(tangents[0], axis=axis)


@rfft.vjp
def _(x: Any, /, *, adjoint: Any, axis: int) -> Any:
    n = x.shape[axis]
    return irfft(adjoint * (n * _weights(n, x.ndim, axis, 0.5, x.dtype)), n=n, axis=axis)


@irfft.jvp
def _(z: Any, /, *, tangents: Any, n: int, axis: int) -> Any:
    return irfft(tangents[0], n=n, axis=axis)


@irfft.vjp
def _(z: Any, /, *, adjoint: Any, n: int, axis: int) -> Any:
    return rfft(adjoint, axis=axis) * (_weights(n, z.ndim - 1, axis, 2.0, z.dtype) / n)
