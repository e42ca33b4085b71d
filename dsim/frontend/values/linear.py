"""Small linear algebra on local vectors and matrices, written out in scalars."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce

from dsim.frontend.values.emit import Emitter
from dsim.frontend.values.operators import elementwise, matrix, operand, scalar
from dsim.frontend.values.values import (
    Mat,
    Scalar,
    Value,
    component_names,
    describe,
    describe_shape,
    is_scalar,
)


def total(e: Emitter, terms: Sequence[Scalar], sign: str = "+", hint: str = "t") -> Scalar:
    """All of `terms` added up (or joined by another operator), from the left."""
    if not terms:  # the index of a field without axes
        e.refuse("shape", "a vector without entries has no sum")
    last = len(terms) - 1
    result = terms[0]
    for i, term in enumerate(terms[1:], 1):
        result = scalar(e, sign, result, term, hint if i == last else "t")
    return result


def vector(e: Emitter, value: Value, what: str, length: int | None = None) -> Mat:
    """`value` as a vector, refused when it is none."""
    given = operand(e, value)
    if not isinstance(given, Mat) or len(given.shape) != 1 or length not in (None, given.shape[0]):
        wanted = "a vector" if length is None else f"a vector of {length}"
        e.refuse("shape", f"{what} needs {wanted}, got {describe(given)}")
    return given


def square(e: Emitter, value: Value, what: str, most: int | None = None) -> Mat:
    """`value` as a square matrix, refused when it is none."""
    given = operand(e, value)
    if not isinstance(given, Mat) or len(given.shape) != 2 or given.shape[0] != given.shape[1]:
        e.refuse("shape", f"{what} needs a square matrix, got {describe(given)}")
    if most is not None and given.shape[0] > most:
        e.refuse("limit", f"{what} goes up to {most} by {most}, got {describe_shape(given.shape)}")
    return given


def at(m: Mat, i: int, j: int) -> Scalar:
    """Entry ``[i, j]``."""
    return m.entries[i * m.shape[1] + j]


def matmul(e: Emitter, a: Value, b: Value, hint: str = "t") -> Value:
    """``a @ b``: matrices and vectors as in NumPy."""
    x, y = operand(e, a, "@"), operand(e, b, "@")
    if is_scalar(x) or is_scalar(y):
        e.refuse(
            "shape", f"`@` needs vectors or matrices, got {describe(x)} and {describe(y)}", help="use `*`"
        )
    assert isinstance(x, Mat)
    assert isinstance(y, Mat)
    left = x.rows() if len(x.shape) == 2 else (x,)
    right = columns(y) if len(y.shape) == 2 else (y,)
    if x.shape[-1] != y.shape[0]:
        e.refuse(
            "shape",
            f"`@` of {describe_shape(x.shape)} and {describe_shape(y.shape)}: the inner lengths differ",
        )
    shape = (*x.shape[:-1], *y.shape[1:])
    names = component_names(hint, shape) if hint != "t" else [hint] * (len(left) * len(right))
    pairs = [(r, c) for r in left for c in right]
    entries = tuple(dot(e, r, c, name) for (r, c), name in zip(pairs, names, strict=True))
    return Mat(shape, entries) if shape else entries[0]


def columns(m: Mat) -> tuple[Mat, ...]:
    """The columns of a matrix, as vectors."""
    return transposed(m).rows()


def transposed(m: Mat) -> Mat:
    """The transpose; that of a vector is a matrix of one row."""
    if len(m.shape) == 1:
        return Mat((1, m.shape[0]), m.entries)
    n, k = m.shape
    return Mat((k, n), tuple(at(m, i, j) for j in range(k) for i in range(n)))


def dot(e: Emitter, a: Mat, b: Mat, hint: str = "t") -> Scalar:
    """The sum of products of entries."""
    if a.shape != b.shape:
        e.refuse("shape", f"a product of {describe_shape(a.shape)} and {describe_shape(b.shape)}")
    products = [
        scalar(e, "*", x, y, hint if len(a.entries) == 1 else "t")
        for x, y in zip(a.entries, b.entries, strict=True)
    ]
    return total(e, products, hint=hint)


def cross(e: Emitter, a: Mat, b: Mat, hint: str = "t") -> Value:
    """The cross product: a vector of two 3-vectors, a scalar of two 2-vectors."""
    if a.shape != b.shape or a.shape not in ((2,), (3,)):
        e.refuse(
            "shape", f"a cross product needs two vectors of 2 or of 3, got {describe(a)} and {describe(b)}"
        )
    if a.shape == (2,):
        return _minor(e, a.entries, b.entries, 0, 1, hint)
    names = component_names(hint, (3,)) if hint != "t" else [hint] * 3
    axes = ((1, 2), (2, 0), (0, 1))
    return Mat(
        (3,), tuple(_minor(e, a.entries, b.entries, i, j, n) for (i, j), n in zip(axes, names, strict=True))
    )


def _minor(e: Emitter, a: Sequence[Scalar], b: Sequence[Scalar], i: int, j: int, hint: str = "t") -> Scalar:
    return scalar(e, "-", scalar(e, "*", a[i], b[j]), scalar(e, "*", a[j], b[i]), hint)


def outer(e: Emitter, a: Mat, b: Mat, hint: str = "t") -> Mat:
    """The matrix of all products of an entry of `a` with one of `b`."""
    shape = (a.shape[0], b.shape[0])
    names = component_names(hint, shape) if hint != "t" else [hint] * (shape[0] * shape[1])
    pairs = [(x, y) for x in a.entries for y in b.entries]
    return Mat(shape, tuple(scalar(e, "*", x, y, n) for (x, y), n in zip(pairs, names, strict=True)))


def determinant(e: Emitter, m: Mat, hint: str = "t") -> Scalar:
    """The determinant, along the first row."""
    n = m.shape[0]
    if n == 1:
        return m.entries[0]
    if n == 2:
        return _minor(e, m.rows()[0].entries, m.rows()[1].entries, 0, 1, hint)
    return total(e, [scalar(e, "*", at(m, 0, j), cofactor(e, m, 0, j)) for j in range(n)], hint=hint)


def cofactor(e: Emitter, m: Mat, i: int, j: int) -> Scalar:
    """The determinant without row `i` and column `j`, with its sign."""
    n = m.shape[0]
    rest = tuple(at(m, r, c) for r in range(n) if r != i for c in range(n) if c != j)
    minor = determinant(e, Mat((n - 1, n - 1), rest)) if n > 1 else 1
    return minor if (i + j) % 2 == 0 else scalar(e, "-", 0, minor)


def inverse(e: Emitter, m: Mat, hint: str = "t") -> Mat:
    """The inverse by cofactors."""
    n = m.shape[0]
    cofactors = Mat(m.shape, tuple(cofactor(e, m, i, j) for i in range(n) for j in range(n)))
    det = total(e, [scalar(e, "*", at(m, 0, j), at(cofactors, 0, j)) for j in range(n)])
    factor = scalar(e, "/", 1.0, det)
    scaled = elementwise(
        e, lambda c, s, name: scalar(e, "*", c, s, name), transposed(cofactors), factor, hint=hint
    )
    assert isinstance(scaled, Mat)
    return scaled


def trace(e: Emitter, m: Mat, hint: str = "t") -> Scalar:
    """The sum of the diagonal."""
    return total(e, [at(m, i, i) for i in range(m.shape[0])], hint=hint)


def norm(e: Emitter, m: Mat, eps: Scalar = 0, hint: str = "t") -> Scalar:
    """``sqrt(sum of squares + eps)``; without `eps` its derivative at 0 is 0."""
    squares = dot(e, m, m)
    if e.is_known(eps, operator.eq, 0):
        return e.let("sqrt0", *e.floating(squares), hint=hint)
    return e.let("sqrt", *e.floating(scalar(e, "+", squares, eps)), hint=hint)


def normalized(e: Emitter, m: Mat, eps: Scalar = 0, hint: str = "t") -> Value:
    """`m` divided by its norm; 0 where that is 0 and there is no `eps`."""
    length = norm(e, m)
    if not e.is_known(eps, operator.eq, 0):
        bottom = scalar(e, "+", length, eps)
        return elementwise(e, lambda x, s, name: scalar(e, "/", x, s, name), m, bottom, hint=hint)
    t = e.type_of(length)
    nothing = e.atom(0.0, t)
    zero = e.let("eq", e.atom(length), nothing)
    bottom = e.let("select", zero, e.atom(1.0, t), e.atom(length))

    def one(
        x: Scalar, s: Scalar, name: str
    ) -> Scalar:  # chosen after dividing: no derivative goes through there
        return e.let("select", zero, nothing, e.atom(scalar(e, "/", x, s), t), hint=name)

    return elementwise(e, one, m, bottom, hint=hint)


def identity(n: int) -> Mat:
    """The identity, in open numbers."""
    return Mat((n, n), tuple(int(i == j) for i in range(n) for j in range(n)))


def from_rows(e: Emitter, rows: Sequence[Value]) -> Mat:
    """A matrix with these rows."""
    return matrix(e, [vector(e, r, "a row") for r in rows])


def joined(e: Emitter, m: Mat, sign: str, hint: str = "t") -> Scalar:
    """All entries joined by an operator."""
    return reduce(lambda a, b: scalar(e, sign, a, b, hint), m.entries)
