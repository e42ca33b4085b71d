"""`Tape(find_nan=True)`: the call, the element and the line where the first NaN or infinity originates."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def roots():
    """x, y, a kernel ``y = √x`` and one that sums up, for `loss`."""
    x, y = (ti.field(ti.f64, shape=4, needs_grad=True, name=name) for name in "xy")
    loss = single("loss")

    @ti.kernel
    def root():
        for i in x:
            y[i] = ti.sqrt(x[i])

    @ti.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    return x, y, loss, root, total


def found(loss, *calls):
    """What the tape says of these calls, its first line left out its place, and the tape."""
    tape = ti.Tape(loss, find_nan=True)

    def record():
        with tape:
            for call in calls:
                call()

    with pytest.raises(ti.NonFiniteError) as error:
        record()
    lines = str(error.value).split("\n")
    return "\n".join([lines[0], *(line.lstrip("0123456789") for line in lines[2:])]), tape


def test_nothing_to_find():
    x, _y, loss, root, total = roots()
    x.from_numpy(np.array([1.0, 4.0, 9.0, 16.0]))
    with ti.Tape(loss, find_nan=True) as tape:
        root()
        total()
    assert tape.not_finite is None
    np.testing.assert_allclose(x.grad.to_numpy(), [1 / 2, 1 / 4, 1 / 6, 1 / 8])


def test_forward():
    x, _y, loss, root, total = roots()
    x.from_numpy(np.array([1.0, 2.0, -1.0, 3.0]))
    text, tape = found(loss, total, root, total)
    assert text == (
        "error[not-finite]: `y[2]` becomes nan in `root`, call 1 of the tape\n"
        " │             y[i] = ti.sqrt(x[i])\n"
        "   │                    ^^^^^^^^^^^^^ not finite here, 1 of 4\n"
        "help: look for a division by 0, a `log` or `sqrt` outside its domain, or too large a step"
    )
    what = tape.not_finite
    assert (what.call, what.kernel, what.field, what.element) == (1, "root", "y", "y[2]")
    assert np.isnan(what.value)
    assert what.span.text == "y[i]"
    assert len(tape.calls) == 2


def test_backward():
    x, _y, loss, root, total = roots()
    x.from_numpy(np.array([1.0, 0.0, 4.0, 1.0]))
    text, tape = found(loss, root, total)
    assert text == (
        "error[not-finite]: `x.grad[1]` becomes inf in the backward pass of `root`, call 0 of the tape\n"
        " │             y[i] = ti.sqrt(x[i])\n"
        "   │                    ^^^^^^^^^^^^^ the slope is not finite here, once\n"
        "help: the slope is infinite there, or 0 times infinity: avoid the point, as in "
        "`sqrt(x + 1e-12)`"
    )
    assert (tape.not_finite.call, tape.not_finite.field) == (0, "x.grad")
    assert loss[None] == 4.0
    assert x.grad.to_numpy().tolist() == [0.0] * 4  # and no gradient is left that is none


def test_the_first_one_of_many_steps():
    """A value doubles its exponent until it overflows; state in place, in a kernel that is cut in parts."""
    x, loss = single("x"), single("loss")

    @ti.kernel
    def square():
        x[None] = x[None] ** 2

    x[None] = 10.0
    text, tape = found(loss, *[square] * 20)
    assert "`x[None]` becomes inf in `square`, call 8 of the tape" in text
    assert tape.not_finite.call == 8


def test_a_statement_that_is_not_certain():
    x = ti.field(ti.f64, shape=4, needs_grad=True, name="x")
    v = ti.Vector.field(2, ti.f64, shape=4, needs_grad=True, name="v")
    loss = single("loss")

    @ti.kernel
    def either():
        for i in x:
            if i > 1:
                v[i] = ti.Vector([ti.log(x[i]), 1.0])
            else:
                v[i] = ti.Vector([1.0, x[i]])

    x.from_numpy(np.array([1.0, 2.0, 0.0, 4.0]))
    text, tape = found(loss, either)
    assert "`v[2][0]` becomes -inf in `either`, call 0 of the tape" in text
    assert marked(text) == [("v[i] = ti.Vector([ti.log(x[i]), 1.0])", "^^^^^^^^^^^^ not finite here, 1 of 2")]
    assert tape.not_finite.span is None


def test_what_was_there_before():
    x, _y, loss, root, total = roots()
    x.from_numpy(np.array([1.0, np.inf, 4.0, 1.0]))
    text, _ = found(loss, root, total)
    assert "`y[1]` becomes inf in `root`, call 0 of the tape; it reads `x[1]`, which was inf already" in text


def test_an_infinity_that_python_means():
    """The start of a minimum is not born anywhere, and does no harm."""
    x, _y, loss, _root, _total = roots()
    least = single("least")

    @ti.kernel
    def smallest():
        for i in x:
            ti.atomic_min(least[None], x[i])

    @ti.kernel
    def end():
        loss[None] += least[None] ** 2

    x.from_numpy(np.array([3.0, 2.0, 4.0, 5.0]))
    with ti.Tape(loss, find_nan=True):
        least[None] = np.inf
        smallest()
        end()
    assert x.grad.to_numpy().tolist() == [0.0, 4.0, 0.0, 0.0]


def test_a_launch_that_is_not_recorded():
    loss = single("loss")
    plain = single("plain", needs_grad=False)

    @ti.kernel
    def divide(by: float):
        plain[None] = 1.0 / by

    text, tape = found(loss, lambda: divide(0.0))
    assert "`plain[None]` becomes inf in `divide`\n" in text
    assert tape.not_finite.call is None


def test_a_gradient_that_a_person_wrote():
    x, _y, loss, root, total = roots()

    @ti.ad.grad_replaced
    def whole():
        root()

    @ti.ad.grad_for(whole)
    def back():
        x.grad[2] = np.nan

    x.fill(1.0)
    text, _ = found(loss, whole, total)
    assert "`x.grad[2]` becomes nan in the backward pass of `whole`, call 0 of the tape" in text


def test_inside_of_a_forward_mode():
    x, _y, loss, root, total = roots()
    x.from_numpy(np.array([1.0, 0.0, 4.0, 1.0]))
    with ti.ad.FwdMode(loss, x, seed=[1.0, 0.0, 0.0, 0.0]):
        text, _ = found(loss, root, total)
    assert "`x.grad[1]` becomes inf in the backward pass" in text


def test_what_may_be_looked_at_afterwards():
    x, _y, loss, root, total = roots()
    x.from_numpy(np.array([1.0, 0.0, 4.0, 1.0]))
    _, tape = found(loss, root, total)
    assert tape.gradient(x)[1] == np.inf
    assert tape.profile().first_not_finite == 0


# -- which line


def marked(text):
    """The lines of a program that an error shows, each with what stands under it."""
    lines = text.split("\n")[1:-1]
    return [(a.strip(" │"), b.strip(" │")) for a, b in zip(lines[::2], lines[1::2], strict=True)]


def test_the_line_inside_of_a_kernel():
    x, y, loss, _, _ = roots()

    @ti.kernel
    def inverse():
        for i in x:
            r = x[i] - 3.0
            d = ti.sqrt(r * r)
            q = 0.0
            for _ in range(3):
                q += 1 / d
            y[i] = q

    x.from_numpy(np.array([1.0, 2.0, 3.0, 4.0]))
    text, tape = found(loss, inverse)
    assert marked(text) == [
        ("q += 1 / d", "^^^^^ not finite here, 3 of 12"),
        ("y[i] = q", "---- stored here"),
    ]
    assert y.to_numpy().tolist() == [1.5, 3.0, np.inf, 3.0]
    assert tape.not_finite.span.text == "y[i]"


def test_the_line_on_the_way_back():
    x, y, loss, _, total = roots()

    @ti.kernel
    def distance():
        for i in x:
            r = x[i] - 2.0
            s = r * r
            d = ti.sqrt(s)
            y[i] = 3 * d

    x.from_numpy(np.array([1.0, 2.0, 3.0, 4.0]))
    before = x.to_numpy()
    text, _ = found(loss, distance, total)
    assert "`x.grad[1]` becomes nan in the backward pass of `distance`, call 0" in text
    assert marked(text) == [
        ("r = x[i] - 2.0", "---- the gradient of this"),
        ("d = ti.sqrt(s)", "^^^^^^^^^^ the slope is not finite here, once"),
    ]
    assert (x.to_numpy() == before).all()
    assert y.to_numpy().tolist() == [3.0, 0.0, 3.0, 6.0]


def test_the_line_of_a_kernel_that_changes_its_state_in_place():
    """It runs again from what was there before."""
    x, loss = ti.field(ti.f64, shape=4, needs_grad=True, name="x"), single("loss")

    @ti.kernel
    def step(scale: float):
        for i in x:
            s = ti.log(x[i])
            x[i] = scale * s

    x.from_numpy(np.array([2.0, 1.0, 3.0, 4.0]))
    text, _ = found(loss, lambda: step(1.0), lambda: step(2.0))
    assert "`x[1]` becomes -inf in `step`, call 1 of the tape" in text
    assert marked(text)[0] == ("s = ti.log(x[i])", "^^^^^^^^^^^^ not finite here, 1 of 4")
    expected = 2.0 * np.log(np.log(np.array([2.0, 3.0, 4.0])))
    np.testing.assert_allclose(x.to_numpy()[[0, 2, 3]], expected, rtol=1e-14)


def test_the_line_of_a_kernel_that_is_recorded_in_parts():
    x, loss = single("x"), single("loss")

    @ti.kernel
    def step():
        a = x[None] - 1.0
        b = 1.0 / a
        x[None] = b

    x[None] = 2.0
    text, _ = found(loss, step, step)
    assert "`x[None]` becomes inf in `step`, call 1 of the tape" in text
    assert marked(text)[0] == ("b = 1.0 / a", "^^^^^^^ not finite here, 1 of 1")


def test_the_line_of_a_kernel_that_takes_arrays():
    w, loss = ti.ndarray(ti.f64, shape=3, needs_grad=True), single("loss")

    @ti.kernel
    def weigh(w: ti.types.ndarray(), data: ti.types.ndarray()):
        for i in w:
            t = data[i] / w[i]
            loss[None] += t

    w.from_numpy(np.array([1.0, 0.0, 2.0]))
    text, _ = found(loss, lambda: weigh(w, np.ones(3)))
    assert marked(text)[0] == ("t = data[i] / w[i]", "^^^^^^^^^^^^^^ not finite here, 1 of 3")


def test_the_line_with_a_number_that_was_captured_and_changed():
    """The kernel that is run again has the same hidden parameters."""
    x, y, loss, _, _ = roots()

    class Scene:
        scale = 1.0

    scene = Scene()

    @ti.kernel
    def scaled():
        for i in x:
            a = x[i] / scene.scale
            y[i] = a * 2

    x.fill(1.0)
    scaled()
    scene.scale = 4.0
    scaled()
    scene.scale = 0.0
    text, _ = found(loss, scaled)
    assert marked(text)[0] == ("a = x[i] / scene.scale", "^^^^^^^^^^^^^^^^^^ not finite here, 4 of 4")
