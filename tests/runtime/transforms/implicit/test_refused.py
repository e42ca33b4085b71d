"""What has no derivative through a function under `implicit`, and what its declaration may not name."""

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import GradientError
from tests.runtime.transforms.solutions import numbers, springs


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


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


@pytest.mark.slow
def test_the_function_may_not_write_to_what_varies():
    """Its launches have no derivatives: the gradient by the old numbers would be lost."""
    s = springs()

    @ti.kernel
    def double():
        for i in s.load:
            s.load[i] *= 2

    def loaded():
        double()
        s.iterate()

    solve = ti.implicit(residual=(s.residual, s.r), unknown=s.u, wrt=[s.k, s.load])(loaded)
    message = "`loaded` writes to `load`, which is in `wrt=`"
    with pytest.raises(GradientError, match=message) as told, ti.Tape(s.loss):
        solve()  # here
    assert "solve()  # here" in str(told.value)
    with pytest.raises(GradientError, match=message):
        ti.jacobian(solve, wrt=s.load, out=s.u)
    with pytest.raises(GradientError, match=message), ti.FwdMode(s.u, s.load, seed=np.ones(4)):
        solve()
    s.load.fill(0.1)
    by_k = ti.jacobian(solve, wrt=s.k, out=s.u)  # the loads are constants
    double()
    assert by_k == pytest.approx(ti.jacobian(s.solve, wrt=s.k, out=s.u), rel=1e-12)


@pytest.mark.slow
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


@pytest.mark.parametrize("overwrite", [0.0, 1.0])
def test_a_solver_that_writes_to_its_right_hand_side_does_not_pass_for_one_that_solves(overwrite):
    def nothing(_operator, right):
        right[:] = overwrite
        return np.zeros_like(right)

    s = springs(solver=nothing)
    with pytest.raises(
        GradientError, match=r"were not solved by the solver: .* relative residual of 1.0e\+00"
    ):
        ti.grad(s.run, wrt=s.wrt, out=s.loss)()


@pytest.mark.parametrize(
    ("returned", "got"),
    [
        (None, "a NoneType"),
        ((np.zeros(4), 0), "a tuple"),
        ("4444", "a str"),
        (np.zeros(3), r"float64\[3\]"),
        (np.zeros(4, complex), r"complex128\[4\]"),
    ],
)
def test_what_a_solver_returns_is_a_vector(returned, got):
    s = springs(solver=lambda _operator, _right: returned)
    message = f"`solver=` of `iterate` returned {got}, not a vector of 4 real numbers"
    with pytest.raises(GradientError, match=message):
        ti.grad(s.run, wrt=s.wrt, out=s.loss)()


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


@pytest.mark.parametrize("copied", [False, True])
def test_what_the_solver_wrote_beside_is_no_loss(copied):
    s = springs(n=1)
    (loss,) = numbers(["copy"], 1) if copied else (s.r,)
    message = f"`iterate` computed `{loss.name}` beside its unknowns: its derivative is not known"

    def run():
        s.solve()
        if copied:
            loss.copy_from(s.r)

    for context in (ti.Tape(loss), ti.FwdMode(loss, s.k, seed=1.0)):
        with pytest.raises(GradientError, match=message), context:
            run()
