"""Tapes with a gradient check, and checks while a tape is open."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.tapes.checked import pendulums, wrong_square
from tests.runtime.taping import single


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64, random_seed=3)


def test_a_tape_that_checks():
    (q, p), loss, run = pendulums()
    with ti.Tape(loss, grad_check=[q, p, loss]) as tape:
        q[2] = 0.7
        p.from_numpy(np.linspace(-1.0, 0.5, 5))
        run()
        p.fill(0.0)
    assert tape.check
    assert [c.field for c in tape.check] == ["q", "p"]
    assert tape.check[0].derivative != 0
    assert tape.check[1].derivative == 0  # overwritten before it was read
    gradient, end = q.grad.to_numpy(), q.to_numpy()
    q.from_numpy(np.array([0.5, 1.0, 1.5, 2.0, 2.5]))
    with ti.Tape(loss) as plain:
        q[2] = 0.7
        p.from_numpy(np.linspace(-1.0, 0.5, 5))
        run()
    assert (plain.check, gradient.tolist()) == (None, q.grad.to_numpy().tolist())
    assert end.tolist() == q.to_numpy().tolist()


def test_a_tape_that_was_checked_goes_backwards_again():
    (q, _), loss, run = pendulums()
    with ti.Tape(loss, grad_check=q) as tape:
        run()
    gradient = q.grad.to_numpy()
    tape.backward()
    assert q.grad.to_numpy().tolist() == gradient.tolist()


def test_a_tape_that_finds_a_wrong_gradient():
    x, loss, run = wrong_square(1.0)

    def record():
        with ti.Tape(loss, grad_check=[x]):
            run()

    with pytest.raises(ti.GradientError) as error:
        record()
    said = str(error.value)
    assert said.startswith("error[wrong-derivative]: the gradient by `x` does not agree with differences\n")
    assert "DIFFERS" in said
    assert "help: look for a kink, or a wrong custom derivative" in said
    assert (x[None], loss[None], x.grad[None]) == (3.0, 9.0, 3.0)


def test_a_tape_that_checks_stands_alone():
    (q, _), loss, run = pendulums()
    tape = ti.Tape(loss, grad_check=[q])
    with (
        pytest.raises(RuntimeError, match="outside all other `with` blocks"),
        ti.ad.FwdMode(loss, q, np.ones(5)),
    ):
        tape.__enter__()
    run()


def test_gradients_of_a_person_are_checked():
    x, loss = single("x"), single("loss")

    @ti.kernel
    def square():
        loss[None] += x[None] ** 2

    @ti.ad.grad_replaced
    def whole():
        square()

    @ti.ad.grad_for(whole)
    def back():
        x.grad[None] += 5.0 * loss.grad[None]

    def record():
        with ti.Tape(loss, grad_check=[x]):
            whole()

    x[None] = 2.5
    record()
    x[None] = 3.0
    with pytest.raises(ti.GradientError, match="does not agree"):
        record()


def test_an_open_tape_sees_nothing_of_a_check():
    x, loss, other = single("x"), single("loss"), single("other")

    @ti.kernel
    def square():
        loss[None] += x[None] ** 2

    @ti.kernel
    def cube():
        other[None] += x[None] ** 3

    x[None] = 3.0
    for checked, of in ((cube, other), (square, loss)):
        with ti.Tape(loss) as tape:
            square()
            assert ti.check_grad(checked, x, of)
            square()
        assert (x.grad[None], loss[None], len(tape.calls)) == (12.0, 18.0, 2)
    with ti.ad.FwdMode(loss, x):
        square()
        assert ti.check_grad(square, x, loss)
        square()
    assert loss.dual[None] == 12.0


@pytest.mark.parametrize("write", [lambda u, found: u.fill(found), lambda u, found: u.from_numpy(found)])
def test_equations_that_python_solves(write):
    """Launched again, they have the numbers of the recording."""
    p, u, r, loss = (single(name) for name in ("p", "u", "r", "loss"))
    p[None] = 8.0

    @ti.kernel
    def cubes():
        r[None] = u[None] ** 3 - p[None]

    @ti.implicit(residual=(cubes, r), unknown=u, wrt=p)
    def cube_root():
        write(u, np.cbrt(p.to_numpy()))

    @ti.kernel
    def total():
        loss[None] += u[None]

    def act():
        with ti.Tape(loss, grad_check=p):
            cube_root()
            total()

    message = (
        "`cube_root` keeps the unknowns that Python computed.*use `ds.check_grad.*calls `cube_root` again"
    )
    with pytest.raises(ti.GradientError, match=f"(?s){message}"):
        act()
    assert ti.check_grad(lambda: (cube_root(), total()), wrt=p, loss=loss)
