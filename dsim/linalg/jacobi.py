"""The decompositions: of 2 by 2 matrices in closed form, of 3 by 3 matrices by Jacobi rotations.

All take matrices of floats. The files of the public functions define the derivatives. The sweeps are a
loop at run time that ends early, which keeps the generated code small. Of a matrix with an infinite or a
NaN entry all results are NaN: ``not a <= b`` instead of ``a > b`` rotates by it.

Sources: Golub & Van Loan, Matrix Computations (4th ed.), §8.5 (Jacobi's method for symmetric matrices, with
the choice of the small angle) and §8.6 (one-sided Jacobi of Hestenes); de Rijk, SIAM J. Sci. Stat. Comput.
10 (1989), for the exchange of columns that sorts them.
"""

from __future__ import annotations

from dsim.api.elementary import select, sqrt
from dsim.api.fields import Matrix, Vector
from dsim.api.functions import cast, static
from dsim.api.kernels import func
from dsim.linalg.inputs import rounding, smallest


@func
def magnitude(A):
    """The scale factor of a matrix: its largest absolute entry, at least the smallest normal number.

    NaN where an entry is infinite or NaN, which `max` would lose.
    """
    return max(abs(A).max(), cast(static(smallest(A.dtype)), A.dtype)) + (0 * A).sum()


@func
def tangent(z):
    """The tangent of the smaller of the two angles whose double has the cotangent `z`."""
    root = sqrt(1 + z * z)
    return 1 / (z + select(z < 0, -root, root))


# ------------------------------------------------------------------ symmetric matrices


@func
def eigen2(A):
    """Eigenvalues of a symmetric 2 by 2 matrix, the larger one first, and eigenvectors: a rotation."""
    size = magnitude(A)
    half, off = (A[0, 0] - A[1, 1]) / (2 * size), A[0, 1] / size
    middle = (A[0, 0] / size + A[1, 1] / size) / 2
    longer = max(abs(half), abs(off))  # squares of numbers much smaller than 1 would lose digits
    # the reciprocal of a subnormal number is infinite
    found = not longer <= cast(static(smallest(A.dtype)), A.dtype)
    safe = select(found, longer, 1)
    x, y = abs(half) / safe, off / safe
    length = select(found, sqrt(x * x + y * y), 1)
    radius = select(found, safe * length, 0)
    large = sqrt((1 + x / length) / 2)
    small = y / (2 * length * large)
    c = select(found, select(half < 0, small, large), 1)
    s = select(found, select(half < 0, large, small), 0)
    return size * Vector([middle + radius, middle - radius]), Matrix([[c, -s], [s, c]])


@func
def eigen3(A):
    """Eigenvalues of a symmetric 3 by 3 matrix, the smallest one first, and eigenvectors: a rotation."""
    size = magnitude(A)
    D, V = A / size, Matrix.identity(A.dtype, 3)
    sweep, going = 0, True
    while going and sweep < 30:
        D, V, first = annihilated(D, V, 0, 1)
        D, V, second = annihilated(D, V, 0, 2)
        D, V, third = annihilated(D, V, 1, 2)
        going = first or second or third
        sweep += 1
    D, V = ascending(D, V, 0, 1)
    D, V = ascending(D, V, 0, 2)
    D, V = ascending(D, V, 1, 2)
    return size * Vector([D[0, 0], D[1, 1], D[2, 2]]), V


@func
def annihilated(D, V, p, q):
    """Annihilates ``D[p, q]`` by a rotation unless negligible, and returns whether; `V` accumulates them."""
    off = D[p, q]
    needed = not abs(off) <= static(rounding(D.dtype) / 8)
    if needed:
        t = tangent((D[q, q] - D[p, p]) / (2 * off))
        c = 1 / sqrt(1 + t * t)
        s = t * c
        D[p, p] -= t * off
        D[q, q] += t * off
        D[p, q] = 0
        D[q, p] = 0
        r = static(3 - p - q)
        first, second = D[r, p], D[r, q]
        D[r, p] = c * first - s * second
        D[r, q] = s * first + c * second
        D[p, r] = D[r, p]
        D[q, r] = D[r, q]
        for k in static(range(3)):
            x, y = V[k, p], V[k, q]
            V[k, p] = c * x - s * y
            V[k, q] = s * x + c * y
    return D, V, needed


@func
def ascending(D, V, p, q):
    """Sorts the diagonal entries `p` and `q` with their vectors by a quarter turn: `V` stays a rotation."""
    if D[p, p] > D[q, q]:
        x = D[p, p]
        D[p, p] = D[q, q]
        D[q, q] = x
        for k in static(range(3)):
            y = V[k, p]
            V[k, p] = V[k, q]
            V[k, q] = -y
    return D, V


# ------------------------------------------------------------------ any square matrices


@func
def polar2(A):
    """Orthogonal and positive semidefinite factor of a 2 by 2 matrix."""
    size = magnitude(A)
    a, b, c, d = A[0, 0] / size, A[0, 1] / size, A[1, 0] / size, A[1, 1] / size
    sign = select(a * d < b * c, -1, 1)
    x, y = a + sign * d, c - sign * b
    length = Vector([x, y]).norm()
    safe = select(length > 0, length, 1)
    x, y = select(length > 0, x / safe, 1), y / safe
    R = Matrix([[x, -sign * y], [y, sign * x]])
    S = R.transpose() @ A
    off = (S[0, 1] + S[1, 0]) / 2
    return R, Matrix([[S[0, 0], off], [off, S[1, 1]]])


@func
def svd2(A):
    """`U`, the singular values as a vector, and `V`; the values are not negative, `V` is a rotation."""
    R, S = polar2(A)
    values, V = eigen2(S)
    return R @ V, Vector([values[0], max(values[1], 0)]), V


@func
def svd3(A):
    """`U`, the singular values as a vector, and `V`; both are rotations, the last value may be negative."""
    size = magnitude(A)
    B, V = A / size, Matrix.identity(A.dtype, 3)
    sweep, going = 0, True
    while going and sweep < 30:
        B, V, first = orthogonal(B, V, 0, 1)
        B, V, second = orthogonal(B, V, 0, 2)
        B, V, third = orthogonal(B, V, 1, 2)
        going = first or second or third
        sweep += 1
    U, values = normal(B)
    return U, size * values, V


@func
def orthogonal(B, V, p, q):
    """Makes columns `p` and `q` of `B` orthogonal, the longer one first; returns whether that changed them.

    `V` accumulates the rotations. An exchange counts as a change: after one, a sweep has not met every pair.
    """
    x, y = Vector([B[0, p], B[1, p], B[2, p]]), Vector([B[0, q], B[1, q], B[2, q]])
    v, w = Vector([V[0, p], V[1, p], V[2, p]]), Vector([V[0, q], V[1, q], V[2, q]])
    exchanged = x.norm_sqr() < y.norm_sqr()
    if exchanged:
        z = x
        x = y
        y = -z
        z = v
        v = w
        w = -z
    a, b, c = x.norm_sqr(), y.norm_sqr(), x.dot(y)
    rotated = not (b <= vanishing(B) or abs(c) <= static(2 * rounding(B.dtype)) * sqrt(a) * sqrt(b))
    if rotated:
        t = tangent((b - a) / (2 * c))
        cos = 1 / sqrt(1 + t * t)
        sin = t * cos
        z = x
        x = cos * x - sin * y
        y = sin * z + cos * y
        z = v
        v = cos * v - sin * w
        w = sin * z + cos * w
    for k in static(range(3)):
        B[k, p] = x[k]
        B[k, q] = y[k]
        V[k, p] = v[k]
        V[k, q] = w[k]
    return B, V, exchanged or rotated


@func
def vanishing(B):
    """The largest squared length that counts as 0: squares that small have lost digits to underflow."""
    return cast(static(smallest(B.dtype) / rounding(B.dtype)), B.dtype)


@func
def normal(B):
    """A rotation `U` and lengths in descending order with ``U @ diag(lengths)`` the orthogonal columns `B`.

    Columns of length 0 get arbitrary orthogonal directions.
    """
    x, y, z = B[:, 0], B[:, 1], B[:, 2]
    first, second = x.norm(), y.norm()
    u = Vector([1, 0, 0]) + 0 * x
    if x.norm_sqr() > vanishing(B):
        u = x / first
    along = y - u * u.dot(y)
    if y.norm_sqr() <= 2 * vanishing(B):  # twice, so that every longer column has been made orthogonal
        second = 0 * second
        along = perpendicular(u)
    v = along / along.norm()
    v = v - u * u.dot(v)
    v = v / v.norm()
    w = u.cross(v)
    second = min(second, first)
    third = max(min(w.dot(z), second), -second)
    return Matrix.cols([u, v, w]), Vector([first, second, third])


@func
def perpendicular(u):
    """A vector perpendicular to the unit vector `u`, from its smallest component to avoid cancellation."""
    x, y, z = abs(u[0]), abs(u[1]), abs(u[2])
    result = Vector([-u[1], u[0], 0 * z])
    if x < z or y < z:
        result = Vector([u[2], 0 * y, -u[0]])
        if x < y:
            result = Vector([0 * x, -u[2], u[1]])
    return result
