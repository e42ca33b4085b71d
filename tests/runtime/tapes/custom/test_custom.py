"""Custom gradients: when they are called, and which errors the tape still detects."""

import pytest

import dsim as ti
from tests.runtime.taping import single


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@pytest.fixture
def program():
    """x, y and a doubling of which the gradient is said to be 10."""
    x, y = (ti.field(ti.f64, shape=(), needs_grad=True, name=n) for n in "xy")

    @ti.kernel
    def double():
        y[None] += 2 * x[None]

    @ti.ad.grad_replaced
    def ahead(times=1):
        for _ in range(times):
            double()
        return times

    @ti.ad.grad_for(ahead)
    def back(times=1):
        x.grad[None] += 10 * times * y.grad[None]

    x[None] = 3.0
    return x, y, double, ahead


def test_arguments_and_results_pass_through(program):
    x, y, _, ahead = program
    with ti.Tape(y):
        assert ahead(times=2) == 2
    assert (y[None], x.grad[None]) == (12.0, 20.0)


def test_outside_tapes_it_is_the_function(program):
    _, y, _, ahead = program
    ahead()
    assert y[None] == 6.0


def test_it_mixes_with_recorded_launches(program):
    x, y, double, ahead = program
    with ti.Tape(y):
        double()
        ahead()
        double()
    assert x.grad[None] == 14.0


def test_it_can_be_called_by_hand(program):
    x, y, _, ahead = program
    y.grad[None] = 1.0
    ahead.grad(3)
    assert x.grad[None] == 30.0


def test_an_exception_inside_unmutes_the_tape(program):
    x, y, double, _ = program

    @ti.ad.grad_replaced
    def fails():
        raise KeyError("no")

    @ti.ad.grad_for(fails)
    def back():
        pass

    with ti.Tape(y):
        with pytest.raises(KeyError):
            fails()
        double()
    assert x.grad[None] == 2.0


def test_writes_inside_are_watched(program):
    x, y, _, _ = program

    @ti.kernel
    def square():
        y[None] += x[None] ** 2

    @ti.ad.grad_replaced
    def change():
        x[None] = 5.0

    @ti.ad.grad_for(change)
    def back():
        x.grad[None] = 0.0

    def both():
        with ti.Tape(y, on_overwrite="error"):
            square()
            change()

    with pytest.raises(ti.AccessRuleError, match=r"`x\[None\]` is overwritten from Python"):
        both()
    with ti.Tape(y):
        change()
        square()
    assert x.grad[None] == 0.0


def test_a_gradient_that_was_never_given():
    @ti.ad.grad_replaced
    def ahead():
        pass

    with pytest.raises(ti.GradientError, match="`ahead` has no gradient function yet"):
        ahead.grad()


def test_errors_of_a_declaration_end_in_the_persons_code():
    for act, message in (
        (lambda: ti.ad.grad_for(print), "`print` is not decorated with `grad_replaced`"),
        (lambda: ti.ad.grad_for(ti.ad.grad_replaced(print), reads=[3])(print), "`reads` names fields"),
    ):
        with pytest.raises(ti.GradientError, match=message) as caught:
            act()
        assert {str(entry.path) for entry in caught.traceback} == {__file__}


def test_a_tape_inside_a_gradient(program):
    x, y, double, _ = program
    z = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def square():
        z[None] += x[None] ** 2

    @ti.ad.grad_replaced
    def ahead():
        double()

    @ti.ad.grad_for(ahead)
    def back():
        with ti.Tape(z, clear_gradients=False):
            square()

    with ti.Tape(y):
        double()
        ahead()
    assert x.grad[None] == 2.0 + 6.0


def test_inside_two_tapes(program):
    x, y, _, ahead = program
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def take():
        loss[None] += x[None] * y[None]

    with ti.Tape(loss):
        with ti.Tape(y):
            ahead()
        assert x.grad[None] == 10.0
        take()
    assert x.grad[None] == 6.0 + 3.0 * 10


def test_no_grad_of_a_kernel_and_of_a_function(program):
    x, y, double, _ = program
    uncounted = ti.ad.no_grad(double)
    with ti.Tape(y):
        double()
        uncounted()
    assert (y[None], x.grad[None]) == (12.0, 2.0)
    y[None] = 0.0
    uncounted()
    assert y[None] == 6.0


@ti.data_oriented
class Doubling:
    """The gradient is said to be ten times `weight`."""

    def __init__(self, weight):
        self.x, self.y = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))
        self.seen = ti.field(ti.f64, shape=())
        self.weight = weight

    @ti.kernel
    def double(self):
        self.y[None] += 2 * self.x[None]

    @ti.ad.no_grad
    @ti.kernel
    def look(self):
        self.seen[None] = self.x[None]

    @ti.ad.grad_replaced
    def ahead(self, times, *, look=False):
        for _ in range(times):
            self.double()
        if look:
            self.look()

    @ti.ad.grad_for(ahead)
    def back(self, times, *, look=False):
        self.x.grad[None] += 10 * self.weight * times * self.y.grad[None]


def test_methods():
    one, other = Doubling(1.0), Doubling(2.0)
    for doubling in (one, other):
        doubling.x[None] = 3.0
        with ti.Tape(doubling.y):
            doubling.ahead(2, look=True)
        assert (doubling.y[None], doubling.seen[None]) == (12.0, 3.0)
        assert doubling.x.grad[None] == 20.0 * doubling.weight
    other.ahead.grad(1)
    assert other.x.grad[None] == 60.0
    assert other.ahead.__name__ == "ahead"
    Doubling.ahead(one, 1)
    assert one.y[None] == 18.0


def test_grad_of_what_has_none_does_nothing(program):
    x, y, double, _ = program
    y.grad[None] = 1.0
    ti.ad.no_grad(double).grad()
    ti.ad.no_grad(lambda factor: double()).grad(2.0)
    assert (x.grad[None], y.grad[None]) == (0.0, 1.0)


def test_what_an_atomic_returns_is_cut_by_no_grad():
    x, y = single("x"), single("y")
    x[None] = 3.0

    @ti.ad.no_grad
    @ti.kernel
    def take():
        y[None] = ti.atomic_add(x[None], 1.0)

    with ti.Tape(y):
        take()
    assert y[None] == 3.0
    with pytest.warns(ti.GradientWarning, match="is 0"):
        assert x.grad[None] == 0.0


@pytest.fixture
def going_back():
    """A program whose backward function runs what it is given, and the gradient that is right."""
    x, y, total = (ti.field(ti.f64, shape=(), needs_grad=True, name=n) for n in ("x", "y", "total"))
    x[None] = 3.0

    @ti.kernel
    def square():
        y[None] = x[None] ** 2

    @ti.kernel
    def end():
        total[None] += y[None] ** 3 + x[None]

    @ti.ad.grad_replaced
    def ahead():
        square()

    def gradient(inside):
        @ti.ad.grad_for(ahead)
        def back():
            inside(y)
            x.grad[None] += 2 * x[None] * y.grad[None]

        with ti.Tape(total):
            ahead()
            end()
        return x.grad[None]

    return gradient, 3 * 9.0**2 * 6.0 + 1.0


def test_a_tape_in_a_backward_function_leaves_other_gradients_alone(going_back):
    gradient, right = going_back
    z, energy = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))
    z[None] = 2.0

    @ti.kernel
    def cube():
        energy[None] += z[None] ** 3

    def inside(_):
        for _ in range(2):
            with ti.Tape(energy):
                cube()
            assert z.grad[None] == 12.0
        with ti.Tape(energy), ti.Tape(energy):
            cube()

    assert gradient(inside) == right
    with ti.Tape(energy):
        cube()
    assert z.grad[None] == 12.0


def test_a_tape_in_a_backward_function_that_would_clear_what_is_on_its_way(going_back):
    gradient, right = going_back
    energy = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def half_square(y: ti.template()):
        energy[None] += y[None] ** 2 / 2

    def inside(y, **options):
        with ti.Tape(energy, **options):
            half_square(y)

    message = "(?s)the tape that is going backwards needs the gradient of `y`.*half_square.y.*clear_gradients"
    with pytest.raises(ti.GradientError, match=message):
        gradient(inside)
    assert gradient(lambda y: inside(y, clear_gradients=False)) == right + 9.0 * 6.0
    assert gradient(lambda y: ti.check_grad(lambda: half_square(y), wrt=y, loss=energy)) == right


def test_a_tape_run_again_in_a_backward_function():
    x, y, z = (ti.field(ti.f64, shape=(), needs_grad=True, name=n) for n in "xyz")
    x[None] = 3.0

    @ti.kernel
    def square(result: ti.template()):
        result[None] += x[None] ** 2

    with ti.Tape(z) as before:
        square(z)

    @ti.ad.grad_replaced
    def ahead():
        pass

    @ti.ad.grad_for(ahead)
    def back():
        before.backward()

    def run(first, second):
        with ti.Tape(y):
            first()
            second()
        return x.grad[None]

    assert run(lambda: square(y), ahead) == 2 * 6.0
    with pytest.raises(ti.GradientError, match="going backwards needs the gradient of `x`"):
        run(ahead, lambda: square(y))


@pytest.mark.parametrize("element", [False, True])
def test_what_python_reads_in_the_function_is_kept_for_its_gradient(element):
    x, y = single("x"), single("y")

    @ti.ad.grad_replaced
    def cube():
        value = x[None] if element else float(x.to_numpy())
        y[None] = value**3

    @ti.ad.grad_for(cube)
    def back():
        x.grad[None] += 3 * x[None] ** 2 * y.grad[None]
        y.grad[None] = 0.0

    x[None] = 2.0
    with ti.Tape(y) as tape:
        cube()
        x[None] = 5.0
    assert x.grad[None] == 12.0
    assert x[None] == 5.0
    assert tape.saved_bytes == 8
    x[None] = 2.0
    assert ti.grad(lambda: [cube(), x.fill(7.0)], wrt=x, out=y)() == 12.0
