"""The mathematical functions and types of shading languages, as in ``ti.math``."""

from dsim.api import elementary
from dsim.api.bits import clz, popcnt
from dsim.api.complex import cconj, cdiv, cexp, cinv, clog, cmul, cpow, csqrt, vdir
from dsim.api.elementary import *  # noqa: F403 (the table of primitives defines these names)
from dsim.api.functions import (
    clamp,
    cross,
    degrees,
    determinant,
    distance,
    dot,
    e,
    exp2,
    eye,
    fmod,
    fract,
    inf,
    inverse,
    inversesqrt,
    isinf,
    isnan,
    length,
    log2,
    mix,
    mod,
    nan,
    normalize,
    pi,
    radians,
    reflect,
    sign,
    smoothstep,
    step,
)
from dsim.api.motions import (
    refract,
    rot_by_axis,
    rot_yaw_pitch_roll,
    rotation2d,
    rotation3d,
    scale,
    translate,
)
from dsim.api.types import matrix, vector
from dsim.frontend.values.types import DefaultUnsigned

vec2, vec3, vec4 = (vector(n, float) for n in (2, 3, 4))
ivec2, ivec3, ivec4 = (vector(n, int) for n in (2, 3, 4))
uvec2, uvec3, uvec4 = (vector(n, DefaultUnsigned) for n in (2, 3, 4))
mat2, mat3, mat4 = (matrix(n, n, float) for n in (2, 3, 4))

__all__ = [
    "cconj", "cdiv", "cexp", "cinv", "clamp", "clog", "clz", "cmul", "cpow", "cross", "csqrt", "degrees",
    "determinant", "distance", "dot", "e", "exp2", "eye", "fmod", "fract", "inf", "inverse", "inversesqrt",
    "isinf", "isnan", "ivec2", "ivec3", "ivec4", "length", "log2", "mat2", "mat3", "mat4", "mix", "mod",
    "nan", "normalize", "pi", "popcnt", "radians", "reflect", "refract", "rot_by_axis", "rot_yaw_pitch_roll",
    "rotation2d", "rotation3d", "scale", "sign", "smoothstep", "step", "translate", "uvec2", "uvec3", "uvec4",
    "vdir", "vec2", "vec3", "vec4",
]  # fmt: skip
__all__ += elementary.__all__
