"""Making local vectors and matrices, and their methods."""

from __future__ import annotations

import ast
from collections.abc import Callable

from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.items import known
from dsim.frontend.values import elementary, linear
from dsim.frontend.values.emit import Emitter
from dsim.frontend.values.operators import matrix, operand
from dsim.frontend.values.types import MatrixType, scalar_type
from dsim.frontend.values.values import (
    Mat,
    Opaque,
    Scalar,
    Value,
    describe,
    describe_shape,
    flat,
    is_scalar,
    size,
)
from dsim.ir.types import ScalarType

Maker = Callable[..., Value]


def dtype(f: Frame, value: Value) -> ScalarType | None:
    """The scalar type that an argument denotes; None stays None."""
    if value is None:
        return None
    found = scalar_type(value, f.emit.settings)
    if found is None:
        f.emit.refuse(
            "argument", f"this must be a type, but is {describe(value)}", help="for example `ds.f32`"
        )
    return found


def typed(f: Frame, m: Mat, dt: Value) -> Mat:
    """`m` with entries of type `dt`, when given."""
    to = dtype(f, dt)
    return m if to is None else Mat(m.shape, tuple(f.emit.atom(s, to) for s in m.entries))


MOST_ENTRIES = 4096  # of a local: each is a statement or more

# ------------------------------------------------------------------ makers


def _literal(f: Frame, rows: Value, dt: Value = None) -> Mat:
    if isinstance(rows, Opaque):
        rows = _plain(f, rows)
    if isinstance(rows, Mat):
        return typed(f, rows, dt)
    if not isinstance(rows, list | tuple):
        f.emit.refuse(
            "argument",
            f"a vector is made of a list of its entries, got {describe(rows)}",
            help="`Vector([a, b])`",
        )
    return typed(f, matrix(f.emit, rows), dt)


def _plain(f: Frame, value: Opaque) -> Value:
    if value.path is not None:
        f.c.captures.constant(value.path, value.value)
    from_array = getattr(value.value, "tolist", None)
    items = from_array() if from_array is not None else value.value
    if not isinstance(items, list | tuple):
        f.emit.refuse("argument", f"{describe(value)} cannot become a vector")
    return items


def _shape(f: Frame, n: Value, m: Value) -> tuple[int, ...]:
    node = ast.Constant(None)
    lengths = (n,) if m is None else (n, m)
    if not all(isinstance(k, int) for k in lengths):
        f.emit.refuse("static", "the shape of a local vector or matrix must be known at compile time")
    shape = tuple(known(f, k, node) for k in lengths)
    if min(shape) < 0:
        message = f"{describe_shape(shape)} does not exist: a length is 0 or more"
        f.emit.refuse("shape", message, help="give the number of entries along each axis")
    if size(shape) > MOST_ENTRIES:
        f.emit.refuse(
            "limit",
            f"a local vector or matrix has at most {MOST_ENTRIES} entries, this one {size(shape)}",
            help="keep it in a field",
        )
    return shape


def _filled(value: int) -> Maker:
    def make(f: Frame, dt: Value, n: Value, m: Value = None) -> Mat:
        shape = _shape(f, n, m)
        return typed(f, Mat(shape, (value,) * size(shape)), dt)

    return make


def _identity(f: Frame, dt: Value, n: Value) -> Mat:
    return typed(f, linear.identity(_shape(f, n, None)[0]), dt)


def _eye(f: Frame, n: Value) -> Mat:
    return typed(f, linear.identity(_shape(f, n, None)[0]), Opaque(float))


def _unit(f: Frame, n: Value, i: Value, dt: Value = None) -> Mat:
    length, at = _shape(f, n, i)
    if not 0 <= at < length:
        f.emit.refuse("index", f"a vector of {length} has no entry {at}")
    return typed(
        f, Mat((length,), tuple(int(k == at) for k in range(length))), Opaque(int) if dt is None else dt
    )


def _diag(f: Frame, dim: Value, val: Value) -> Mat:
    (n,) = _shape(f, dim, None)
    if not is_scalar(val):
        f.emit.refuse("argument", f"the value on the diagonal must be a scalar, got {describe(val)}")
    rows = [[val if i == j else 0 for j in range(n)] for i in range(n)]
    return matrix(f.emit, rows)


def _rows(f: Frame, rows: Value) -> Mat:
    return linear.from_rows(f.emit, _sequence(f, rows, "rows"))


def _cols(f: Frame, cols: Value) -> Mat:
    return linear.transposed(linear.from_rows(f.emit, _sequence(f, cols, "cols")))


def _sequence(f: Frame, value: Value, what: str) -> list[Value]:
    if isinstance(value, Mat) and len(value.shape) == 2:
        return list(value.rows())
    if not isinstance(value, list | tuple):
        f.emit.refuse("argument", f"`{what}` takes a list of vectors, got {describe(value)}")
    return list(value)


MAKERS: dict[str, Maker] = {
    "Vector": _literal,
    "Matrix": _literal,
    "eye": _eye,
    **{f"{kind}.zero": _filled(0) for kind in ("Vector", "Matrix")},
    **{f"{kind}.one": _filled(1) for kind in ("Vector", "Matrix")},
    **{f"{kind}.unit": _unit for kind in ("Vector", "Matrix")},
    "Matrix.identity": _identity,
    "Matrix.diag": _diag,
    "Matrix.rows": _rows,
    "Matrix.cols": _cols,
    "Vector.rows": _rows,
    "Vector.cols": _cols,
}


def of_type(f: Frame, t: MatrixType, args: list[Value]) -> Mat:
    """``vec3(x, y, z)``, ``vec3(xy, z)``, ``vec3(0)``, ``mat2(a, b, c, d)``."""
    scalars: list[Scalar] = []
    for a in flat(args):
        given = operand(f.emit, a)
        scalars += given.entries if isinstance(given, Mat) else (given,)
    if len(scalars) == 1:
        scalars *= size(t.shape)
    if len(scalars) != size(t.shape):
        f.emit.refuse(
            "shape", f"{describe(Mat(t.shape, ()))} takes {size(t.shape)} entries, got {len(scalars)}"
        )
    return typed(f, Mat(t.shape, tuple(scalars)), Opaque(t.dtype))


# ------------------------------------------------------------------ methods

Method = Callable[..., Value]


def _v(e: Emitter, m: Mat, what: str) -> Mat:
    return linear.vector(e, m, f"`{what}`")


def _transpose(f: Frame, m: Mat, hint: str) -> Value:
    return linear.transposed(m)


def _inverse(f: Frame, m: Mat, hint: str) -> Value:
    return linear.inverse(f.emit, linear.square(f.emit, m, "`inverse`", 4), hint)


def _determinant(f: Frame, m: Mat, hint: str) -> Value:
    return linear.determinant(f.emit, linear.square(f.emit, m, "`determinant`", 4), hint)


def _trace(f: Frame, m: Mat, hint: str) -> Value:
    return linear.trace(f.emit, linear.square(f.emit, m, "`trace`"), hint)


def _norm(f: Frame, m: Mat, hint: str, eps: Value = 0) -> Value:
    return linear.norm(f.emit, m, eps, hint)


def _norm_inv(f: Frame, m: Mat, hint: str, eps: Value = 0) -> Value:
    return linear.scalar(f.emit, "/", 1.0, linear.norm(f.emit, m, eps), hint)


def _norm_sqr(f: Frame, m: Mat, hint: str) -> Value:
    return linear.dot(f.emit, m, m, hint)


def _normalized(f: Frame, m: Mat, hint: str, eps: Value = 0) -> Value:
    return linear.normalized(f.emit, m, eps, hint)


def _dot(f: Frame, m: Mat, hint: str, other: Value) -> Value:
    return linear.dot(f.emit, _v(f.emit, m, "dot"), _v(f.emit, other, "dot"), hint)


def _cross(f: Frame, m: Mat, hint: str, other: Value) -> Value:
    return linear.cross(f.emit, _v(f.emit, m, "cross"), _v(f.emit, other, "cross"), hint)


def _outer(f: Frame, m: Mat, hint: str, other: Value) -> Value:
    return linear.outer(f.emit, _v(f.emit, m, "outer_product"), _v(f.emit, other, "outer_product"), hint)


def _reduce(name: str) -> Method:
    return lambda f, m, hint: elementary.FUNCTIONS[name](f.emit, m, hint=hint)


def _cast(f: Frame, m: Mat, hint: str, dt: Value) -> Value:
    return elementary.cast(f.emit, m, dtype(f, dt), hint)


METHODS: dict[str, Method] = {
    "norm": _norm,
    "norm_inv": _norm_inv,
    "norm_sqr": _norm_sqr,
    "normalized": _normalized,
    "dot": _dot,
    "cross": _cross,
    "outer_product": _outer,
    "transpose": _transpose,
    "determinant": _determinant,
    "inverse": _inverse,
    "trace": _trace,
    "cast": _cast,
    **{name: _reduce(name) for name in ("sum", "max", "min", "any", "all")},
}
