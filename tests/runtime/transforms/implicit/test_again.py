"""Tapes with functions under `implicit`, after their block: backwards again, and what changed since."""

from types import SimpleNamespace

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import GradientError
from tests.runtime.transforms.solutions import numbers, springs


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def root():
    """``u³ = k``, by a residual that writes to a field after it has read that."""
    k, u, r, loss = numbers(["k", "u", "r", "loss"])
    factor = ti.field(ti.f64, shape=(), name="factor")

    @ti.kernel
    def cube():
        r[None] = (u[None] ** 3 - k[None]) * factor[None]
        factor[None] = factor[None] * 2

    @ti.implicit(residual=(cube, r), unknown=u, wrt=k)
    def solve():
        u[None] = k[None] ** (1 / 3)

    @ti.kernel
    def measure():
        loss[None] += u[None] ** 2

    def run():
        solve()
        measure()

    k[None], factor[None] = 8.0, 1.0
    return SimpleNamespace(k=k, u=u, r=r, factor=factor, loss=loss, run=run, residual=cube)


def taped(p):
    with ti.Tape(p.loss) as tape:
        p.run()
    return tape


@pytest.mark.slow
def test_each_pass_gives_the_same_gradients():
    p = springs()
    tape = taped(p)
    left = [f.to_numpy() for f in (p.u, p.r)]
    first = p.k.grad.to_numpy()
    assert (tape.gradient(p.k) == first).all()
    tape.backward(2.0)
    assert p.k.grad.to_numpy() == pytest.approx(2 * first)
    tape.backward()
    assert (p.k.grad.to_numpy() == first).all()
    after = tape.gradients(p.k).values
    assert (after[0] == first).all()
    assert after[-1] == pytest.approx(0 * first)
    tape.profile(again=True)
    assert [f.to_numpy().tolist() for f in (p.u, p.r)] == [values.tolist() for values in left]


def test_gradients_in_the_block_are_compared_with_differences():
    p = springs()
    with ti.Tape(p.loss, grad_check=p.wrt) as tape:
        p.run()
    assert tape.check


def test_the_residual_may_write_to_what_it_reads():
    p = root()
    tape = taped(p)
    assert p.k.grad[None] == pytest.approx(2 / 3 * 8 ** (-1 / 3))
    assert tape.gradient(p.k) == p.k.grad[None]
    assert p.factor[None] == 1


@pytest.mark.parametrize("name", ["k", "u", "factor"])
def test_changes_of_what_the_residual_reads_are_refused(name):
    p = root()
    tape = taped(p)
    field = getattr(p, name)
    field[None] = field[None]
    for ask in (tape.backward, lambda: tape.gradient(p.k), lambda: tape.gradients(p.k), tape.profile):
        with pytest.raises(GradientError, match=f"`{name}` was changed from Python after") as error:
            ask()
        assert str(error.value).endswith("help: run the block again")


def test_a_change_by_a_kernel_between_two_passes_is_refused():
    p = root()

    @ti.kernel
    def move():
        p.u[None] += 1.0

    tape = taped(p)
    tape.backward()
    move()
    with pytest.raises(GradientError, match="`u` was changed by `move` after the tape's block"):
        tape.backward()


def test_the_residual_may_be_computed_after_the_block():
    p = springs()
    tape = taped(p)
    first = p.k.grad.to_numpy()
    p.residual()
    assert (tape.gradient(p.k) == first).all()
    p.r.fill(np.nan)
    assert (tape.gradient(p.k) == first).all()


@pytest.mark.slow
def test_solutions_in_steps_that_run_again():
    k, u, r, loss = numbers(["k", "u", "r", "loss"])

    @ti.kernel
    def residual():
        r[None] = u[None] + u[None] ** 3 - k[None]

    @ti.kernel
    def newton():
        u[None] -= r[None] / (1 + 3 * u[None] ** 2)

    @ti.implicit(residual=(residual, r), unknown=u, wrt=k)
    def solve():
        for _ in range(20):
            residual()
            newton()

    @ti.kernel
    def follow():
        k[None] = k[None] * 0.5 + u[None]

    @ti.kernel
    def measure():
        loss[None] += k[None]

    def run(slots):
        k[None] = 2.0
        with ti.Tape(loss) as tape:
            for _ in tape.steps(range(5), slots=slots) if slots else range(5):
                solve()
                follow()
            measure()
        return tape, k.grad[None]

    expected = run(None)[1]
    tape, first = run(2)
    assert first == pytest.approx(expected)
    assert tape.gradient(k) == first
    tape.backward()
    assert k.grad[None] == first


def test_a_solution_has_a_gradient_after_the_call_that_finds_it():
    k, r, loss = numbers(["k", "r", "loss"])
    u = ti.field(ti.f64, shape=(), name="u")

    @ti.kernel
    def square():
        r[None] = u[None] ** 2 - k[None]

    @ti.implicit(residual=(square, r), unknown=u, wrt=k)
    def solve():
        u[None] = k[None] ** 0.5

    @ti.kernel
    def measure():
        loss[None] += u[None] ** 3

    k[None] = 4.0
    with ti.Tape(loss) as tape:
        solve()
        measure()
    assert tape.gradient(u, after=0) == pytest.approx(12.0)
    assert tape.gradients(u, after=[0, 1]).values == pytest.approx([12.0, 0.0])
    with pytest.raises(GradientError, match="`u` has no gradient up to here"):
        tape.gradient(u)


def test_a_residual_that_reads_an_array_goes_back_once():
    k, u, r, loss = numbers(["k", "u", "r", "loss"])
    factors = np.array([2.0])

    @ti.kernel
    def square(a: ti.types.ndarray()):
        r[None] = a[0] * u[None] ** 2 - k[None]

    @ti.implicit(residual=(lambda: square(factors), r), unknown=u, wrt=k)
    def solve():
        u[None] = (k[None] / 2) ** 0.5

    @ti.kernel
    def measure():
        loss[None] += u[None]

    k[None] = 8.0
    with ti.Tape(loss) as tape:
        solve()
        measure()
    assert k.grad[None] == pytest.approx(1 / 8)
    message = "a tape with NumPy arrays in the residual of `solve` can run backwards only once"
    with pytest.raises(GradientError, match=message):
        tape.backward()
