"""`tape.gradient`: with respect to the values of fields inside a tape."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import cubed, same, single, state, swings


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_the_gradient_after_each_call():
    """Of x → sin x → …: the product of the cosines that are left."""
    x, y = single("x"), single("y")

    @ti.kernel
    def sine():
        x[None] = ti.sin(x[None])

    @ti.kernel
    def end():
        y[None] = x[None] ** 2

    x[None] = 1.3
    with ti.Tape(y) as tape:
        for _ in range(4):
            sine()
        end()
    values = [1.3]
    for _ in range(4):
        values.append(np.sin(values[-1]))
    expected = 2 * values[4]
    for k in (3, 2, 1, 0):
        found = tape.gradient(x, after=k)
        assert (found.shape, found.dtype) == ((), np.float64)
        np.testing.assert_allclose(found, expected, rtol=1e-14)
        np.testing.assert_allclose(tape.gradient(x, after=tape.calls[k]), expected, rtol=1e-14)
        expected *= np.cos(values[k])
    assert tape.gradient(x) == x.grad[None]
    assert tape.gradient(x, after=-1) == 0.0
    assert tape.gradient(y, after=-1) == 1.0


def test_it_is_the_gradient_of_the_rest_of_the_program():
    q, p, loss, run = swings(steps=7)
    with ti.Tape(loss) as tape:
        run()
    before = state(q, p, loss)
    found = [tape.gradient(f, after=2) for f in (q, p)]
    assert same(state(q, p, loss), before)
    q, p, loss, run = swings(steps=3)
    run()
    rest = swings(steps=4)
    rest[0].copy_from(q)
    rest[1].copy_from(p)
    with ti.Tape(rest[2]):
        rest[3]()
    for k in range(2):
        np.testing.assert_allclose(found[k], rest[k].grad.to_numpy(), rtol=1e-13)


def test_fields_without_a_gradient_of_their_own():
    x, z = single("x"), single("z")
    y = single("y", needs_grad=False)

    @ti.kernel
    def use():
        z[None] += 2 * y[None] + x[None]

    @ti.kernel
    def set_y():
        y[None] = 10 * x[None]

    with ti.Tape(z) as tape:
        use()
        set_y()
        use()
    assert tape.gradient(y, after=1) == 2.0
    with pytest.raises(ti.GradientError, match="`y` has no gradient up to here"):
        tape.gradient(y, after=0)
    with pytest.raises(ti.GradientError, match="`y` has no gradient up to here"):
        tape.gradient(y)


def test_what_has_no_gradient():
    _, y, cube = cubed()
    n = ti.field(ti.i32, shape=(), name="n")
    with ti.Tape(y) as tape:
        cube()
    with pytest.raises(ti.GradientError, match="integers have no gradient"):
        tape.gradient(n)
    with pytest.raises(ti.GradientError, match="taken with respect to a field, not to float"):
        tape.gradient(1.0)
    with pytest.raises(ti.GradientError, match="there is no call 1: the tape has 1 calls"):
        tape.gradient(y, after=1)
    assert tape.gradient(ti.Vector.field(2, ti.f32, shape=3, needs_grad=True)).shape == (3, 2)
