"""Complex numbers as vectors of two: ``(x, y)`` is x + iy. Written as funcs, in the kernel language.

At 0 the derivatives of `csqrt`, `clog` and of powers below 2, which do not exist, are NaN.
"""

from __future__ import annotations

from typing import Any

from dsim.api.elementary import atan2, cos, exp, log, pow, sin
from dsim.api.fields import Vector
from dsim.api.kernels import func


@func
def cconj(z: Any) -> Any:
    """The conjugate of `z`.

    Examples
    --------
    >>> import dsim as ti
    >>> ti.math.cconj(ti.math.vec2(1, 2))
    [1.0, -2.0]
    """
    return Vector([1.0 * z[0], -1.0 * z[1]])


@func
def cmul(z1: Any, z2: Any) -> Any:
    """The product of `z1` and `z2`.

    Examples
    --------
    >>> import dsim as ti
    >>> ti.math.cmul(ti.math.vec2(1, 2), ti.math.vec2(0, 1))
    [-2.0, 1.0]
    """
    real = z1[0] * z2[0] - z1[1] * z2[1]
    imaginary = z1[0] * z2[1] + z1[1] * z2[0]
    return Vector([1.0 * real, 1.0 * imaginary])


@func
def cdiv(z1: Any, z2: Any) -> Any:
    """`z1` divided by `z2`.

    Examples
    --------
    >>> import dsim as ti
    >>> ti.math.cdiv(ti.math.vec2(-2, 1), ti.math.vec2(0, 1))
    [1.0, 2.0]
    """
    size = z2[0] * z2[0] + z2[1] * z2[1]
    real = z1[0] * z2[0] + z1[1] * z2[1]
    imaginary = z1[1] * z2[0] - z1[0] * z2[1]
    return Vector([real / size, imaginary / size])


@func
def cinv(z: Any) -> Any:
    """One divided by `z`.

    Examples
    --------
    >>> import dsim as ti
    >>> ti.math.cinv(ti.math.vec2(1, 1))
    [0.5, -0.5]
    """
    size = z[0] * z[0] + z[1] * z[1]
    return Vector([z[0] / size, -z[1] / size])


@func
def csqrt(z: Any) -> Any:
    """The square root of `z` with a real part that is not negative.

    Examples
    --------
    >>> import dsim as ti
    >>> [round(x, 6) for x in ti.math.csqrt(ti.math.vec2(3, 4))]
    [2.0, 1.0]
    """
    return cpow(z, 0.5)


@func
def cpow(z: Any, n: Any) -> Any:
    """`z` to the real power `n`, by the angle of `z` in (-π, π].

    Examples
    --------
    >>> import dsim as ti
    >>> [round(x, 6) for x in ti.math.cpow(ti.math.vec2(1, 1), 2.0)]
    [0.0, 2.0]
    """
    size = pow(1.0 * (z[0] * z[0] + z[1] * z[1]), 0.5 * n)
    angle = n * atan2(z[1], z[0])
    return Vector([size * cos(angle), size * sin(angle)])


@func
def cexp(z: Any) -> Any:
    """The exponential of `z`.

    Examples
    --------
    >>> import dsim as ti
    >>> ti.math.cexp(ti.math.vec2(0, 0))
    [1.0, 0.0]
    """
    size = exp(z[0])
    return Vector([size * cos(z[1]), size * sin(z[1])])


@func
def clog(z: Any) -> Any:
    """The logarithm of `z` with an imaginary part in (-π, π].

    Examples
    --------
    >>> import dsim as ti
    >>> ti.math.clog(ti.math.vec2(1, 0))
    [0.0, 0.0]
    """
    return Vector([0.5 * log(z[0] * z[0] + z[1] * z[1]), atan2(z[1], z[0])])


@func
def vdir(ang: Any) -> Any:
    """The unit vector in the direction of the angle `ang`, in radians.

    Examples
    --------
    >>> import dsim as ti
    >>> ti.math.vdir(0.0)
    [1.0, 0.0]
    """
    return Vector([cos(ang), sin(ang)])
