"""Derivatives of solutions, beside those of the iterations that found them and closed forms."""

from types import SimpleNamespace

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import GradientError


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def numbers(names, shape=(), dtype=ti.f64):
    return [ti.field(dtype, shape=shape, name=name, needs_grad=True) for name in names]


def chain(u, k, load, r):
    """The residual of a chain of nonlinear springs under loads: ``k (u + u³) - neighbours - load``."""
    n = u.shape[0]

    @ti.kernel
    def residual():
        for i in u:
            r[i] = k[i] * (u[i] + u[i] ** 3) - load[i]
            if i > 0:
                r[i] += 0.3 * ti.sin(u[i] - u[i - 1])
            if i < n - 1:
                r[i] += 0.3 * (u[i] - u[i + 1]) * k[i + 1]

    return residual


def springs(n=4, steps=60, solver="auto"):
    """A chain of springs, brought to rest by an iteration; a loss of its state."""
    u, k, load, r = numbers(["u", "k", "load", "r"], n)
    (loss,) = numbers(["loss"])
    residual = chain(u, k, load, r)

    @ti.kernel
    def relax():
        for i in u:
            u[i] -= 0.4 * r[i] / k[i]

    @ti.kernel
    def measure():
        for i in u:
            loss[None] += u[i] ** 2 * (i + 1) + u[i] * k[i]

    def iterate():
        u.fill(0.0)
        for _ in range(steps):
            residual()
            relax()

    solve = ti.implicit(residual=(residual, r), unknown=u, wrt=[k, load], solver=solver)(iterate)

    def run():
        loss[None] = 0.0
        solve()
        measure()

    def unrolled():
        loss[None] = 0.0
        iterate()
        measure()

    k.from_numpy(np.linspace(1.0, 1.4, n))
    load.from_numpy(np.linspace(0.5, 1.0, n))
    return SimpleNamespace(
        u=u, k=k, load=load, r=r, loss=loss, run=run, unrolled=unrolled, solve=solve, iterate=iterate,
        residual=residual, wrt=[k, load],
    )  # fmt: skip


def dense(operator, right):
    return np.linalg.solve(operator @ np.eye(4), right)


@pytest.mark.parametrize("solver", ["auto", "direct", "sparse", "gmres", "bicgstab", dense])
def test_the_gradient_equals_the_unrolled_one(solver):
    s = springs(solver=solver)
    found, expected = (ti.value_and_grad(run, wrt=s.wrt, out=s.loss)() for run in (s.run, s.unrolled))
    assert found[0] == expected[0]
    for f in s.wrt:
        np.testing.assert_allclose(found[1][f], expected[1][f], atol=1e-8)


def test_under_a_tape():
    s = springs()
    with ti.Tape(s.loss):
        s.run()
    found = [f.grad.to_numpy() for f in s.wrt]
    with ti.Tape(s.loss):
        s.unrolled()
    for f, gradient in zip(s.wrt, found, strict=True):
        np.testing.assert_allclose(gradient, f.grad.to_numpy(), atol=1e-8)


def test_forward_mode_equals_the_unrolled_one():
    s = springs()
    found, expected = (
        ti.linearize(run, wrt=s.wrt, out=[s.loss, s.u]) @ np.eye(8) for run in (s.run, s.unrolled)
    )
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_memory_does_not_grow_with_iterations():
    saved = []
    for steps in (60, 600):
        s = springs(steps=steps)
        with ti.Tape(s.loss) as tape:
            s.run()
        saved.append(tape.saved_bytes)
    assert saved[0] == saved[1]


def test_second_derivatives_in_all_compositions():
    s = springs()
    exact = ti.hessian(s.unrolled, wrt=s.wrt, out=s.loss)
    exact = np.block([[exact[a][b] for b in s.wrt] for a in s.wrt])
    H = ti.hessian(s.run, wrt=s.wrt, out=s.loss)  # forward over reverse
    H = np.block([[H[a][b] for b in s.wrt] for a in s.wrt])
    np.testing.assert_allclose(H, exact, atol=1e-7)
    np.testing.assert_allclose(H, H.T, atol=1e-10)

    def gradient():
        with ti.Tape(s.loss):
            s.run()

    reverse = ti.linearize(gradient, wrt=s.wrt, out=[s.k.grad, s.load.grad])
    np.testing.assert_allclose(reverse.rmatmat(np.eye(8)), H, atol=1e-10)  # reverse over reverse
    direction = np.linspace(-1, 1, 8)

    def tangent():
        with ti.FwdMode(loss=s.loss, param=s.wrt, seed=[direction[:4], direction[4:]]):
            s.run()

    along = ti.linearize(tangent, wrt=s.wrt, out=s.loss.dual)
    np.testing.assert_allclose((along @ np.eye(8))[0], H @ direction, atol=1e-10)  # forward over forward
    np.testing.assert_allclose(along.rmatvec([1.0]), H @ direction, atol=1e-10)  # reverse over forward


def test_third_derivatives():
    k, u, r = numbers("kur")

    @ti.kernel
    def equation():
        r[None] = u[None] ** 3 - k[None]

    @ti.implicit(residual=(equation, r), unknown=u, wrt=k)
    def cube_root():
        u[None] = k[None] ** (1 / 3)

    def second():
        with ti.FwdMode(loss=u, param=k, seed=1.0), ti.FwdMode(loss=u, param=k, seed=1.0):
            cube_root()

    k[None] = 8.0
    third = ti.jacobian(second, wrt=k, out=u.dual.dual)
    np.testing.assert_allclose(third, 10 / 27 * 8.0 ** (-8 / 3), rtol=1e-9)


def test_a_solve_in_each_step():
    """Implicit Euler: ``v' = v - dt k v'³``, several steps, one unknown."""
    v, before, k, r, loss = numbers(["v", "before", "k", "r", "loss"])

    @ti.kernel
    def residual():
        r[None] = v[None] - before[None] + 0.1 * k[None] * v[None] ** 3

    @ti.kernel
    def newton():
        v[None] -= r[None] / (1 + 0.3 * k[None] * v[None] ** 2)

    def iterate():
        for _ in range(30):
            residual()
            newton()

    solve = ti.implicit(residual=(residual, r), unknown=v, wrt=[before, k])(iterate)

    @ti.kernel
    def end():
        loss[None] = v[None] ** 2

    def run(solve):
        for _ in range(4):
            before.copy_from(v)
            solve()
        end()

    k[None], v[None] = 2.0, 1.5
    found, expected = (ti.grad(lambda s=s: run(s), wrt=[k, v], out=loss)() for s in (solve, iterate))
    for f in (k, v):
        np.testing.assert_allclose(found[f], expected[f], rtol=1e-9)


def test_what_varies_must_be_named():
    s = springs()
    solve = ti.implicit(residual=(s.residual, s.r), unknown=s.u, wrt=s.k)(s.iterate)
    with (
        pytest.raises(GradientError, match="reads `load`, which varies and is not in `wrt=`"),
        ti.Tape(s.loss),
    ):
        solve()


def test_what_varies_must_be_named_where_nothing_that_is_named_varies():
    s = springs()
    solve = ti.implicit(residual=(s.residual, s.r), unknown=s.u, wrt=s.k)(s.iterate)
    (weight,) = numbers(["weight"])

    @ti.kernel
    def put_on():
        for i in s.load:
            s.load[i] = weight[None]

    weight[None] = 0.5
    both = lambda: [put_on(), solve()]  # noqa: E731
    message = "reads `load`, which varies and is not in `wrt=`"
    with pytest.raises(GradientError, match=message):
        ti.jacobian(both, wrt=weight, out=s.u)
    with pytest.raises(GradientError, match=message), ti.FwdMode(s.u, weight):
        both()


def test_a_residual_is_computed_again_after_the_solution():
    s = springs()

    @ti.kernel
    def add():
        for i in s.r:
            s.loss[None] += s.r[i] + s.u[i] ** 2

    def run():
        s.solve()
        s.residual()
        add()

    def unrolled():
        s.iterate()
        s.residual()
        add()

    found, expected = (ti.hessian(f, wrt=s.wrt, out=s.loss) for f in (run, unrolled))
    for f in s.wrt:
        for g in s.wrt:
            np.testing.assert_allclose(found[f][g], expected[f][g], rtol=1e-5, atol=1e-6)


def test_what_the_solver_wrote_beside_has_no_derivative():
    s = springs()

    @ti.kernel
    def worse():
        for i in s.r:
            s.loss[None] += s.r[i]

    def both():
        s.solve()
        worse()

    for transform in (ti.jacobian, ti.hessian):
        with pytest.raises(GradientError, match="`worse` reads `r`, which `iterate` computed beside"):
            transform(both, wrt=s.wrt, out=s.loss)
    forward = ti.FwdMode(loss=s.loss, param=s.k, seed=np.ones(4))
    with pytest.raises(GradientError, match="`worse` reads `r`, which `iterate` computed beside"), forward:
        both()
    with ti.Tape(s.loss):
        s.solve()
        s.residual()
        worse()


def test_a_solution_that_is_none_gives_a_warning():
    s = springs(steps=2)
    with pytest.warns(ti.GradientWarning, match=r"Newton's next step would change `u` by \d"):
        ti.grad(s.run, wrt=s.wrt, out=s.loss)()


def test_a_solver_that_begins_at_the_solution_writes_nothing_and_its_solution_varies():
    k, u, r = numbers("kur")

    @ti.kernel
    def equation():
        r[None] = u[None] ** 3 - k[None]

    @ti.implicit(residual=(equation, r), unknown=u, wrt=k)
    def cube_root():
        if abs(u[None] ** 3 - k[None]) > 1e-12:
            u[None] = k[None] ** (1 / 3)

    k[None], u[None] = 8.0, 2.0
    assert ti.jacobian(cube_root, wrt=k, out=u) == pytest.approx(1 / 12)
    assert ti.grad(cube_root, wrt=k, out=u)() == pytest.approx(1 / 12)


def test_a_singular_jacobian_is_an_error():
    k, u, r = numbers("kur")

    @ti.kernel
    def equation():
        r[None] = (u[None] - k[None]) ** 2

    @ti.implicit(residual=(equation, r), unknown=u, wrt=k)
    def solve():
        u[None] = k[None]

    k[None] = 3.0
    with pytest.raises(GradientError, match="the linear equations for the derivative of `solve`"):
        ti.grad(solve, wrt=k, out=u)()


def test_outside_of_contexts_it_is_the_function():
    s = springs()
    s.run()
    value = s.loss[None]
    s.unrolled()
    assert value == s.loss[None]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("unknown", "the residual has 4 numbers, and the unknowns have 1"),
        ("wrt", "`wrt=` takes fields, not NumPy arrays"),
    ],
)
def test_wrong_declarations(option, message):
    s = springs()
    given = {"residual": (s.residual, s.r), "unknown": s.u, "wrt": s.k}
    wrong = {"unknown": s.loss, "wrt": np.ones(3)}[option]
    with pytest.raises(GradientError, match=message):
        ti.implicit(**{**given, option: wrong})


@pytest.mark.parametrize("option", ["unknown", "wrt"])
def test_a_field_cannot_have_two_parts(option):
    s = springs()
    given = {"residual": (s.residual, s.r), "unknown": s.u, "wrt": s.k, option: s.r}
    with pytest.raises(GradientError, match=f"`r` is both in `residual=` and in `{option}=`"):
        ti.implicit(**given)
    with pytest.raises(GradientError, match="`u` is both in `unknown=` and in `wrt=`"):
        ti.implicit(residual=(s.residual, s.r), unknown=s.u, wrt=[s.k, s.u])


def test_an_unknown_solver():
    s = springs(solver="magic")
    with pytest.raises(GradientError, match="`solver='magic'` of `iterate` is none of"):
        ti.grad(s.run, wrt=s.wrt, out=s.loss)()


def test_several_unknowns_and_single_precision():
    a, b, k, r, q, loss = numbers(["a", "b", "k", "r", "q", "loss"], dtype=ti.f32)

    @ti.kernel
    def equations():
        r[None] = a[None] + b[None] - k[None]
        q[None] = a[None] * b[None] - 2.0

    @ti.kernel
    def formula():
        root = ti.sqrt(k[None] ** 2 - 8.0)
        a[None], b[None] = (k[None] + root) / 2, (k[None] - root) / 2

    solve = ti.implicit(residual=(equations, [r, q]), unknown=[a, b], wrt=k)(formula)

    @ti.kernel
    def end():
        loss[None] = a[None] ** 2

    k[None] = 4.0
    gradient = ti.grad(lambda: [solve(), end()], wrt=k, out=loss)()
    assert gradient.dtype == np.float32
    root = np.sqrt(8.0)
    np.testing.assert_allclose(gradient, (4 + root) / 2 * (1 + 4 / root), rtol=1e-5)


@pytest.mark.parametrize("transform", [ti.linearize, ti.jacobian])
def test_what_the_solver_wrote_beside_is_no_output(transform):
    s = springs()
    with pytest.raises(GradientError, match="`iterate` computed `r` beside its unknowns"):
        transform(s.solve, wrt=s.wrt, out=s.r)


def test_a_part_that_is_replaced_leaves_the_rest_without_derivative():
    k, u, r, loss = numbers(["k", "u", "r", "loss"])
    (beside,) = numbers(["beside"], 2)

    @ti.kernel
    def equation():
        r[None] = u[None] - k[None]

    @ti.kernel
    def formula():
        u[None] = k[None]
        beside[0] = k[None]
        beside[1] = k[None] ** 2

    solve = ti.implicit(residual=(equation, r), unknown=u, wrt=k)(formula)

    @ti.kernel
    def first():
        beside[0] = 1.0

    @ti.kernel
    def both():
        for i in beside:
            beside[i] = 1.0

    @ti.kernel
    def end():
        loss[None] = beside[0] + beside[1] + u[None]

    k[None] = 3.0
    with pytest.raises(GradientError, match="`end` reads `beside`, which `formula` computed beside"):
        ti.grad(lambda: [solve(), first(), end()], wrt=k, out=loss)()
    assert ti.grad(lambda: [solve(), both(), end()], wrt=k, out=loss)() == 1.0


def test_a_number_that_is_returned_is_a_constant_and_says_so():
    k, u, r, loss = numbers(["k", "u", "r", "loss"])

    @ti.kernel
    def equation():
        r[None] = u[None] - k[None]

    @ti.implicit(residual=(equation, r), unknown=u, wrt=k)
    def solve():
        u[None] = k[None]
        return u[None]

    @ti.kernel
    def end(value: ti.f64):
        loss[None] = value

    k[None] = 3.0
    with pytest.warns(ti.GradientWarning, match="`solve` returns a number: it is a constant"):
        ti.grad(lambda: end(solve()), wrt=k, out=loss)()
