"""Rotation, translation and scaling matrices, and refraction. Written as funcs, in the kernel language.

The conventions are Taichi's, which are mixed. `translate`, `scale` and `rotation2d` return matrices for
column vectors, ``M @ v``. The rotations in three dimensions return matrices for row vectors, ``v @ M``;
applied to column vectors they give the inverse rotation.
"""

from __future__ import annotations

from typing import Any

from dsim.api.elementary import cos, sin, sqrt
from dsim.api.fields import Matrix
from dsim.api.functions import dot, normalize, zero
from dsim.api.kernels import func


@func
def rotation2d(ang: Any) -> Any:
    """The 2 by 2 matrix of a counter-clockwise rotation by `ang` radians.

    Examples
    --------
    >>> import dsim as ti
    >>> ti.math.rotation2d(0.0)
    [[1.0, -0.0], [0.0, 1.0]]
    """
    c, s = cos(ang), sin(ang)
    return Matrix([[c, -s], [s, c]])


@func
def translate(dx: Any, dy: Any, dz: Any) -> Any:
    """The 4 by 4 matrix that translates points ``(x, y, z, 1)`` by ``(dx, dy, dz)``.

    Examples
    --------
    >>> import dsim as ti
    >>> ti.math.translate(1, 2, 3) @ ti.math.vec4(0, 0, 0, 1)
    [1.0, 2.0, 3.0, 1.0]
    """
    return Matrix([[1.0, 0.0, 0.0, dx], [0.0, 1.0, 0.0, dy], [0.0, 0.0, 1.0, dz], [0.0, 0.0, 0.0, 1.0]])


@func
def scale(sx: Any, sy: Any, sz: Any) -> Any:
    """The 4 by 4 matrix that scales the axes by `sx`, `sy` and `sz`.

    Examples
    --------
    >>> import dsim as ti
    >>> ti.math.scale(1, 2, 3) @ ti.math.vec4(1, 1, 1, 1)
    [1.0, 2.0, 3.0, 1.0]
    """
    return Matrix([[sx, 0.0, 0.0, 0.0], [0.0, sy, 0.0, 0.0], [0.0, 0.0, sz, 0.0], [0.0, 0.0, 0.0, 1.0]])


@func
def rot_by_axis(axis: Any, ang: Any) -> Any:
    """The 4 by 4 matrix that rotates row vectors ``(x, y, z, 1)`` about `axis` by `ang` radians: ``v @ M``.

    By Rodrigues' formula; `axis` need not have length 1.

    Examples
    --------
    >>> import dsim as ti
    >>> turn = ti.math.rot_by_axis(ti.math.vec3(0, 0, 2), ti.math.pi / 2)
    >>> [round(x, 6) for x in ti.math.vec4(1, 0, 0, 1) @ turn]
    [0.0, 1.0, 0.0, 1.0]
    """
    c, s = cos(ang), sin(ang)
    a = normalize(axis)
    b = (1.0 - c) * a
    return Matrix(
        [
            [c + b[0] * a[0], b[0] * a[1] + s * a[2], b[0] * a[2] - s * a[1], 0.0],
            [b[1] * a[0] - s * a[2], c + b[1] * a[1], b[1] * a[2] + s * a[0], 0.0],
            [b[2] * a[0] + s * a[1], b[2] * a[1] - s * a[0], c + b[2] * a[2], 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


@func
def rot_yaw_pitch_roll(yaw: Any, pitch: Any, roll: Any) -> Any:
    """The 4 by 4 matrix that rotates row vectors about z by `roll`, then about x by `pitch`, then y by `yaw`.

    Examples
    --------
    >>> import dsim as ti
    >>> turn = ti.math.rot_yaw_pitch_roll(0.0, 0.0, ti.math.pi / 2)
    >>> [round(x, 6) for x in ti.math.vec4(1, 0, 0, 1) @ turn]
    [0.0, 1.0, 0.0, 1.0]
    """
    cy, sy = cos(yaw), sin(yaw)
    cp, sp = cos(pitch), sin(pitch)
    cr, sr = cos(roll), sin(roll)
    return Matrix(
        [
            [cy * cr + sy * sp * sr, sr * cp, -sy * cr + cy * sp * sr, 0.0],
            [-cy * sr + sy * sp * cr, cr * cp, sr * sy + cy * sp * cr, 0.0],
            [sy * cp, -sp, cy * cp, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


@func
def rotation3d(ang_x: Any, ang_y: Any, ang_z: Any) -> Any:
    """``rot_yaw_pitch_roll(ang_z, ang_x, ang_y)``, as in Taichi.

    Two angles are not about the axes in their names: `ang_y` is about z, `ang_z` about y.

    Examples
    --------
    >>> import dsim as ti
    >>> [round(x, 4) for x in ti.math.rotation3d(0.52, -0.785, 1.046)[2]]
    [0.751, -0.4969, 0.4348, 0.0]
    """
    return rot_yaw_pitch_roll(ang_z, ang_x, ang_y)


@func
def refract(x: Any, n: Any, eta: Any) -> Any:
    """The direction `x` refracted at a surface of normal `n`; zeros under total reflection.

    Parameters
    ----------
    x, n : vector
        The direction of incidence and the surface's normal, both of length 1.
    eta : float
        The ratio of the indices of refraction.

    Examples
    --------
    >>> import dsim as ti
    >>> ti.math.refract(ti.math.vec2(0, -1), ti.math.vec2(0, 1), 0.75)
    [0.0, -1.0]
    """
    along = dot(x, n)
    k = 1.0 - eta * eta * (1.0 - along * along)
    bent = zero(1.0 * x)
    if k >= 0.0:
        bent = eta * x - (eta * along + sqrt(k)) * n
    return bent
