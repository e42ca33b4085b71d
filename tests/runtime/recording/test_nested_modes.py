"""Nested tapes and forward modes."""

import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def _single(name, needs_grad=False):
    return ti.field(ti.f64, shape=(), needs_grad=needs_grad, name=name)


def _cubed(needs_grad=False):
    x, y = _single("x", needs_grad), _single("y", needs_grad)
    x[None] = 2.0

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    @ti.kernel
    def add_cube():
        y[None] += x[None] ** 3

    return x, y, cube, add_cube


def test_tape_inside_forward_mode():
    x, y, cube, _ = _cubed(needs_grad=True)
    with ti.ad.FwdMode(loss=y, param=x), ti.Tape(y):
        cube()
    assert (x.grad[None], y.dual[None], x.grad.dual[None]) == (12.0, 12.0, 12.0)


def test_forward_mode_inside_a_tape():
    x, y, cube, _ = _cubed(needs_grad=True)
    loss = _single("loss", needs_grad=True)

    @ti.kernel
    def take():
        loss[None] += y.dual[None]

    y.dual  # noqa: B018
    ti.root.lazy_dual()
    with ti.Tape(loss):
        with ti.ad.FwdMode(loss=y, param=x):
            cube()
        take()
    assert (loss[None], x.grad[None]) == (12.0, 12.0)


def test_forward_mode_inside_forward_mode():
    x, y, cube, _ = _cubed()
    with ti.ad.FwdMode(loss=y, param=x):
        with ti.ad.FwdMode(loss=y, param=x):
            cube()
        assert y.dual[None] == 12.0
    assert (y.dual[None], y.dual.dual[None]) == (12.0, 12.0)


def test_forward_mode_inside_forward_mode_along_another_direction():
    x, w, y = map(_single, "xwy")
    x[None], w[None] = 2.0, 3.0

    @ti.kernel
    def k():
        y[None] = x[None] ** 2 * w[None] ** 3

    with ti.ad.FwdMode(loss=y, param=w), ti.ad.FwdMode(loss=y, param=x):
        k()
    assert y.dual[None] == 3 * 4.0 * 9.0
    assert y.dual.dual[None] == 2 * 2.0 * 3 * 9.0


def test_forward_modes_inside_one_another_again():
    x, y, z, w = map(_single, "xyzw")
    x[None] = 2.0

    @ti.kernel
    def power():
        y[None] += x[None] ** 5

    @ti.kernel
    def take(dual: ti.template(), result: ti.template()):
        result[None] += dual[None]

    for _ in range(3):
        y[None] = z[None] = w[None] = 0.0
        with ti.ad.FwdMode(loss=w, param=x):
            with ti.ad.FwdMode(loss=z, param=x):
                with ti.ad.FwdMode(loss=y, param=x):
                    power()
                take(y.dual, z)
            take(z.dual, w)
        assert (y.dual[None], z.dual[None], w.dual[None]) == (5 * 2.0**4, 20 * 2.0**3, 60 * 2.0**2)


def test_tape_inside_a_tape():
    x, y, _, add_cube = _cubed(needs_grad=True)
    loss = _single("loss", needs_grad=True)

    @ti.kernel
    def take():
        loss[None] += x.grad[None]

    with ti.Tape(loss):
        with ti.Tape(y):
            add_cube()
        take()
    assert (loss[None], x.grad[None]) == (12.0, 12.0)


def test_third_order():
    x, y, cube, _ = _cubed(needs_grad=True)
    with ti.ad.FwdMode(y, x), ti.ad.FwdMode(y, x), ti.Tape(y):
        cube()
    assert x.grad.dual.dual[None] == 6.0


def test_a_field_that_is_stopped_after_it_was_read():
    """The inner adjoint reads `u` with the derivative from before `stop_grad`, which keeps its numbers."""
    x, u = _single("x", True), _single("u", True)
    y, loss = _single("y", True), _single("loss", True)

    @ti.kernel
    def first():
        u[None] = x[None] ** 2
        y[None] += u[None] ** 3

    @ti.kernel
    def second():
        y[None] += 10 * u[None]

    @ti.kernel
    def take():
        loss[None] += x.grad[None]

    def run():
        with ti.Tape(y) as tape:
            first()
            ti.stop_grad(u)
            second()
        return tape

    x[None] = 2.0
    assert run().saved_bytes == 0
    assert x.grad[None] == 6 * 2.0**5
    with ti.ad.FwdMode(loss=y, param=x):
        run()
    assert x.grad.dual[None] == 30 * 2.0**4
    with ti.Tape(loss):
        run()
        take()
    assert x.grad[None] == 30 * 2.0**4
