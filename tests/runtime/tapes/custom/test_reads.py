"""`grad_for(…, reads=…)`: what a tape saves for it."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.tapes.squared import SEEDS, N, Squared
from tests.runtime.taping import single


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_only_what_is_named_is_saved():
    for reads, expected in [
        (None, 4 * N * 8),
        (lambda s: [s.x], N * 8),
        (lambda s: s.x, N * 8),
        (lambda s: [s.x, s.w], 2 * N * 8),
    ]:
        s = Squared(reads, back=None)
        s.back = lambda s=s: by_hand(s)
        tape, found = s.gradient(s.x, s.y, s.w, s.c)
        assert found.tolist() == (2 * SEEDS * np.arange(1.0, N + 1)).tolist()
        assert tape.saved_bytes == expected
        assert s.x[0] == 100.0


def by_hand(s):
    x, y = s.x, s.y

    @ti.kernel
    def adjoint():
        for i in x:
            x.grad[i] += 2 * x[i] * y.grad[i]
            y.grad[i] = 0.0

    adjoint()


def test_a_backward_pass_that_reads_nothing():
    x, y = single("x"), single("y")
    x[None] = 3.0

    @ti.kernel
    def double():
        y[None] = 2 * x[None]

    @ti.kernel
    def square(f: ti.template()):
        f[None] = f[None] ** 2

    loss = single("loss")

    @ti.kernel
    def end():
        loss[None] = y[None]

    @ti.ad.grad_replaced
    def ahead():
        double()

    for options in ({"linear": True}, {"reads": []}):

        @ti.ad.grad_for(ahead, **options)
        def back():
            double.grad()
            y.grad[None] = 0.0

        x[None] = 3.0
        with ti.Tape(loss) as tape:
            ahead()
            x[None] = 0.0
            end()
            y[None] = 0.0
        assert x.grad[None] == 2.0
        assert tape.saved_bytes == 0
        assert tape.gradient(x) == 2.0
        x[None] = 5.0
        tape.backward()
        assert x.grad[None] == 2.0


def test_writes_before_the_function_do_not_count():
    s = Squared(linear=True)
    s.back = s.square.grad
    with ti.Tape(s.loss):
        s.overwrite(s.x)
        s.ahead()
        s.total()
    assert (
        s.x.grad.to_numpy().any() == 0
    )  # `x` was overwritten on entry, so its gradient is that of constants
    with ti.Tape(s.loss):
        s.ahead()
        s.total()
    assert s.x.grad.to_numpy().tolist() == (200.0 * SEEDS).tolist()


def test_values_saved_for_other_readers_are_there():
    """`x` is not named, but a later call reads it, so the tape restores it; that is enough."""
    s = Squared(linear=True)
    s.back = s.square.grad
    x, loss = s.x, s.loss

    @ti.kernel
    def cube():
        for i in x:
            loss[None] += x[i] ** 3

    with ti.Tape(loss):
        s.ahead()
        s.total()
        cube()
        s.overwrite(x)
        s.overwrite(x)
    values = np.arange(1.0, N + 1)
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * values * SEEDS + 3 * values**2, rtol=1e-14)


def test_a_field_with_an_axis_for_the_step():
    """Each step reads what it used; other steps overwrite other elements, and are no conflict."""
    z, loss = ti.field(ti.f64, shape=6, needs_grad=True, name="z"), single("loss")

    @ti.kernel
    def step(t: int):
        z[t + 1] = ti.sin(z[t])

    @ti.kernel
    def adjoint(t: int):
        z.grad[t] += ti.cos(z[t]) * z.grad[t + 1]
        z.grad[t + 1] = 0.0

    @ti.kernel
    def end():
        loss[None] = z[5]

    @ti.ad.grad_replaced
    def ahead(t):
        step(t)

    for options in ({"linear": True}, {"reads": [z]}, {"reads": lambda t: [z]}):
        ti.ad.grad_for(ahead, **options)(adjoint)
        z[0] = 0.7
        with ti.Tape(loss) as tape:
            for t in range(5):
                ahead(t)
            end()
        expected, value = 1.0, 0.7
        for _ in range(5):
            expected, value = expected * np.cos(value), np.sin(value)
        np.testing.assert_allclose(z.grad[0], expected, rtol=1e-14)
        assert tape.saved_bytes == 0


def test_a_field_that_the_function_did_not_touch():
    """A field that is named is kept whole, where otherwise it would be as at the end of the tape."""
    scale = single("scale", needs_grad=False)
    s = Squared(lambda s: [s.x, scale])
    scale[None] = 10.0
    x, y = s.x, s.y

    @ti.kernel
    def adjoint():
        for i in x:
            x.grad[i] += scale[None] * y.grad[i]

    s.back = adjoint
    with ti.Tape(s.loss):
        s.ahead()
        scale[None] = 3.0
        s.total()
    assert x.grad.to_numpy().tolist() == (10.0 * SEEDS).tolist()


def test_fields_of_its_own():
    """What the backward pass wrote itself it may read; also where the block wrote there."""
    s = Squared(linear=True)
    spare, x, y = ti.field(ti.f64, shape=N, name="spare"), s.x, s.y

    @ti.kernel
    def half():
        for i in x:
            spare[i] = y.grad[i] / 2
        for i in x:
            x.grad[i] += spare[i]

    s.back = half
    with ti.Tape(s.loss):
        s.ahead()
        s.total()
        spare.fill(7.0)
    assert x.grad.to_numpy().tolist() == (SEEDS / 2).tolist()


@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_inside_other_modes(order):
    """`y = x²`, and a backward pass that is right: then its derivative is, too."""
    x, y, dx = single("x"), single("y"), single("dx")
    x[None] = 3.0

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    @ti.ad.grad_replaced
    def ahead():
        cube()

    @ti.ad.grad_for(ahead, reads=[x])
    def back():
        cube.grad()
        y.grad[None] = 0.0

    loss = single("loss")

    @ti.kernel
    def end():
        loss[None] += 2 * y[None]

    @ti.kernel
    def take():
        dx[None] += x.grad[None]

    if order == "forward":
        with ti.ad.FwdMode(loss=loss, param=x), ti.Tape(loss):
            ahead()
            end()
            y[None] = 0.0
        assert (x.grad[None], x.grad.dual[None]) == (2 * 27.0, 2 * 18.0)
    else:
        with ti.Tape(dx):
            with ti.Tape(loss):
                ahead()
                end()
            take()
        assert x.grad[None] == 2 * 18.0


def test_methods_and_struct_fields():
    balls = ti.Struct.field({"q": ti.f64, "m": ti.f64}, shape=2, needs_grad=True)
    loss = single("loss")

    @ti.data_oriented
    class Squares:
        def __init__(self):
            self.balls = balls

        @ti.kernel
        def squares(self):
            for i in self.balls:
                loss[None] += self.balls[i].q ** 2 * self.balls[i].m

        @ti.ad.grad_replaced
        def ahead(self):
            self.squares()

        @ti.ad.grad_for(ahead, reads=lambda self: [self.balls])
        def back(self):
            self.squares.grad()

    program = Squares()
    balls.q.fill(3.0)
    balls.m.fill(2.0)
    with ti.Tape(loss) as tape:
        program.ahead()
        balls.q.fill(0.0)
    assert balls.q.grad.to_numpy().tolist() == [12.0, 12.0]
    assert tape.saved_bytes == 16


def test_arguments_that_do_not_fit():
    x = single("x")

    @ti.ad.grad_replaced
    def ahead():
        pass

    for options, message in [
        ({"reads": [3.0]}, "`reads` names fields that the gradient of `ahead` reads, not float"),
        ({"reads": 3}, "not int"),
        ({"reads": [np.ones(3)]}, "(?s)not .*NumPy arrays are kept in any case"),
        ({"reads": [x], "linear": True}, "(?s)`linear=True` says that no values are read.*pass one"),
    ]:
        with pytest.raises(ti.GradientError, match=message):
            ti.ad.grad_for(ahead, **options)(lambda: None)


def test_numpy_arrays_are_kept_in_any_case():
    x, y, data = single("x"), single("y"), np.array([2.0, 3.0])

    @ti.kernel
    def weigh(a: ti.types.ndarray()):
        for i in range(2):
            y[None] += a[i] * x[None]

    @ti.ad.grad_replaced
    def ahead(a):
        weigh(a)

    @ti.ad.grad_for(ahead, linear=True)
    def back(a):
        weigh.grad(a)

    with ti.Tape(y):
        ahead(data)
        data[:] = 0.0
    assert x.grad[None] == 5.0
    assert data.tolist() == [0.0, 0.0]
