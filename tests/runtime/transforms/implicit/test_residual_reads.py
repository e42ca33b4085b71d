"""A residual may compute in fields of its own; it depends on what it reads before it writes there."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.transforms.solutions import numbers


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def gradients(run, k, y, n):
    """By a transform, by a tape, and along ones by forward mode."""
    found = ti.grad(run, wrt=k, out=y)()
    with ti.Tape(y):
        run()
    np.testing.assert_allclose(k.grad.to_numpy(), found)
    pushed = ti.jvp(run, wrt=k, out=y, tangents=np.ones(n))[1]
    np.testing.assert_allclose(pushed, np.sum(found))
    return found


class Cubes:
    """``u³ + u = k`` for each number, by Newton's method."""

    def __init__(self, residual):
        u, r, k = residual.u, residual.r, residual.k
        y = ti.field(ti.f64, shape=(), needs_grad=True)

        @ti.kernel
        def newton():
            for i in u:
                u[i] -= r[i] / (3 * u[i] ** 2 + 1)

        @ti.kernel
        def measure():
            y[None] = 0.0
            for i in u:
                y[None] += u[i] ** 2

        @ti.implicit(residual=(residual.launch, r), unknown=u, wrt=[k])
        def solve():
            u.fill(0.5)
            for _ in range(30):
                residual.launch()
                newton()

        self.y, self.run = y, lambda: [solve(), measure()]


class _Residual:
    def __init__(self, n, how):  # noqa: C901 (its kernels)
        self.u, self.r, self.k, work, total = (
            ti.field(ti.f64, shape=shape, needs_grad=True) for shape in (n, n, n, n, ())
        )
        u, r, k = self.u, self.r, self.k

        @ti.kernel
        def at_once():
            for i in u:
                work[i] = u[i] * u[i] + 1
            for i in u:
                r[i] = work[i] * u[i] - k[i]

        @ti.kernel
        def first(m: int):
            for i in range(m):
                work[i] = u[i] * u[i] + 1

        @ti.kernel
        def then():
            for i in u:
                r[i] = work[i] * u[i] - k[i]

        @ti.kernel
        def by_a_mean():
            total[None] = 0.0
            for i in u:
                total[None] += u[i] / n
            for i in u:
                r[i] = u[i] ** 3 + u[i] - k[i] + 0.0 * total[None]

        @ti.kernel
        def inner():
            for i in u:
                if i > 0:
                    work[i] = u[i] * u[i] + 1
            for i in u:
                r[i] = (work[i] if i > 0 else u[0] ** 2 + 1) * u[i] - k[i]

        self.launch = {
            "one kernel": at_once,
            "two kernels, the end of a loop as an argument": lambda: [first(n), then()],
            "a sum": by_a_mean,
            "in a branch": inner,
        }[how]


@pytest.mark.parametrize(
    "how", ["one kernel", "two kernels, the end of a loop as an argument", "a sum", "in a branch"]
)
def test_what_the_residual_computes_itself_needs_no_name(how):
    residual = _Residual(4, how)
    values = np.array([0.3, 0.7, 1.1, 1.9])
    residual.k.from_numpy(values)
    program = Cubes(residual)
    found = gradients(program.run, residual.k, program.y, 4)
    u = residual.u.to_numpy()
    np.testing.assert_allclose(u**3 + u, values)
    np.testing.assert_allclose(found, 2 * u / (3 * u**2 + 1))


def partly(residual):
    """An element of `work` comes from before, the other one from the residual."""
    k, u, r, y = numbers("kury")
    work = ti.field(ti.f64, shape=2, needs_grad=True, name="work")

    @ti.kernel
    def before():
        work[1] = 3 * k[None]

    @ti.kernel
    def own():
        work[0] = 2 * u[None]

    @ti.kernel
    def rest():
        r[None] = work[0] + u[None] ** 3 - work[1]

    @ti.kernel
    def both():
        work[0] = 2 * u[None]
        r[None] = work[0] + u[None] ** 3 - work[1]

    @ti.kernel
    def hidden_by_a_choice():
        work[0] = 2 * u[None]
        r[None] = work[0] + u[None] ** 3 - ti.max(work[1], -5.0)

    launch = {"two": lambda: [own(), rest()], "one": both, "max": hidden_by_a_choice}[residual]

    @ti.kernel
    def newton():
        u[None] -= r[None] / (2 + 3 * u[None] ** 2)

    @ti.kernel
    def measure():
        y[None] = u[None]

    def iterate():
        for _ in range(40):
            launch()
            newton()

    solve = ti.implicit(residual=(launch, r), unknown=u, wrt=[k])(iterate)
    k[None] = 1.0
    return lambda: [before(), solve(), measure()], k, y


@pytest.mark.parametrize("residual", ["two", "one", "max"])
def test_what_it_reads_from_before_is_refused_also_where_it_writes_to_other_elements(residual):
    """The gradient is 1.5; without the element from before it would be 0."""
    run, k, y = partly(residual)
    said = "reads `work`, which varies and is not in `wrt=`; `iterate` writes to it"
    with pytest.raises(ti.GradientError, match=said) as error:
        ti.grad(run, wrt=k, out=y)()
    assert "keep what is read in a field that `iterate` does not write to" in str(error.value)
    with pytest.raises(ti.GradientError, match=said), ti.Tape(y):
        run()
    with pytest.raises(ti.GradientError, match=said):
        ti.jvp(run, wrt=k, out=y, tangents=1.0)


def test_looking_at_it_leaves_no_trace():
    residual = _Residual(4, "one kernel")
    residual.k.fill(1.0)
    program = Cubes(residual)
    program.run()
    kept = [f.to_numpy() for f in (residual.u, residual.r, residual.k, program.y)]
    ti.grad(program.run, wrt=residual.k, out=program.y)()
    ti.jvp(program.run, wrt=residual.k, out=program.y, tangents=np.ones(4))
    for f, before in zip((residual.u, residual.r, residual.k, program.y), kept, strict=True):
        np.testing.assert_array_equal(f.to_numpy(), before)


def test_a_sum_that_nobody_resets_is_read_from_before():
    k, u, r, y, total = numbers("kuryt")

    @ti.kernel
    def add():
        total[None] += 0.01 * u[None]

    @ti.kernel
    def rest():
        r[None] = u[None] - k[None] + 0.5 * total[None]

    def residual():
        add()
        rest()

    @ti.kernel
    def follow():
        u[None] = k[None]

    def iterate():
        residual()
        follow()

    @ti.kernel
    def measure():
        y[None] = u[None]

    solve = ti.implicit(residual=(residual, r), unknown=u, wrt=[k])(iterate)
    k[None] = 1.0
    with pytest.raises(ti.GradientError, match="reads `t`, which varies and is not in `wrt=`"):
        ti.grad(lambda: [solve(), measure()], wrt=k, out=y)()
