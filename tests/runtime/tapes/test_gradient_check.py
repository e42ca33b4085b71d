"""Gradient checks: correct gradients pass, wrong ones fail, and nothing changes."""

import numpy as np
import pytest

import dsim as ti
from tests.refused import refused
from tests.runtime.tapes.checked import pendulums, wrong_square
from tests.runtime.taping import single


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64, random_seed=3)


def test_all_modes_and_orders():
    fields, loss, run = pendulums()
    check = ti.check_grad(run, wrt=fields, loss=loss, order=2)
    assert check
    assert [(c.field, c.mode) for c in check] == [
        (name, mode) for name in "qp" for mode in ("reverse", "forward", "forward over reverse")
    ]
    assert all(c.error < 1e-7 for c in check)
    for c in check:
        np.testing.assert_allclose(c.derivative, c.difference, rtol=1e-6)
        assert len(c.steps) == len(c.errors)
        assert c.steps[0] > c.steps[-1]


def test_everything_is_as_it_was():
    fields, loss, run = pendulums()
    with ti.Tape(loss) as tape:
        run()
    loss[None] = 17.0

    def state():
        return [a.require().tobytes() for f in (*fields, loss) for a in (f, f.grad)]

    before = state()
    assert ti.check_grad(run, wrt=list(fields), loss=loss, order=2)
    assert state() == before
    assert not any(f.needs_dual for f in (*fields, loss))
    assert len(tape.calls) == 11


@pytest.mark.parametrize("dtype", [ti.f16, ti.f32, ti.f64])
def test_tolerances_fit_the_type(dtype):
    fields, loss, run = pendulums(dtype, steps=3)
    check = ti.check_grad(run, wrt=fields[0], loss=loss)
    assert check, check
    assert not ti.check_grad(run, wrt=fields[0], loss=loss, tolerance=1e-30)


@pytest.mark.parametrize("slope", [0.0, 1.0, 1.9, 2.0001, -2.0, float("nan")])
def test_a_wrong_derivative(slope):
    x, loss, run = wrong_square(slope)
    for mode in ("reverse", "forward"):
        check = ti.check_grad(run, wrt=x, loss=loss, modes=[mode])
        assert not check
        assert "DIFFERS" in repr(check)
    x, loss, run = wrong_square(2.0)
    assert ti.check_grad(run, wrt=x, loss=loss)


def test_a_wrong_second_derivative():
    """The first derivative is right, and counts as constant."""
    x, loss = single("x"), single("loss")

    @ti.func
    def square(a):
        return a * a

    @ti.func
    def square_jvp(a, a_dot):
        return 2.0 * ti.stop_grad(a) * a_dot

    square.derivative(jvp=square_jvp)

    @ti.kernel
    def run():
        loss[None] += square(x[None])

    x[None] = 1.5
    check = ti.check_grad(run, wrt=x, loss=loss, order=2)
    assert [c.passed for c in check] == [True, True, False]


def test_a_value_that_went_through_python():
    x, y, loss = single("x"), single("y"), single("loss")

    @ti.kernel
    def double():
        y[None] = 2 * x[None]

    @ti.kernel
    def scaled(s: float):
        loss[None] += s * x[None]

    def run():
        double()
        scaled(y[None])

    x[None] = 3.0
    with pytest.warns(ti.GradientWarning, match="read into Python"):
        check = ti.check_grad(run, wrt=x, loss=loss, modes=["reverse"])
    assert not check
    np.testing.assert_allclose(check[0].derivative / check[0].difference, 0.5, rtol=1e-6)


def test_a_gradient_that_is_zero():
    x, loss = single("x"), single("loss")

    @ti.kernel
    def constant():
        loss[None] += ti.floor(x[None]) + 0.1

    @ti.kernel
    def hidden():
        loss[None] += 1e-3 * ti.stop_grad(x[None])

    x[None] = 3.5
    assert ti.check_grad(constant, wrt=x, loss=loss, modes=["forward"])
    assert not ti.check_grad(hidden, wrt=x, loss=loss, modes=["forward"])


def test_random_numbers_are_drawn_again():
    x, loss = ti.field(ti.f64, shape=4, needs_grad=True, name="x"), single("loss")

    @ti.kernel
    def noisy():
        for i in x:
            loss[None] += ti.randn() * ti.sin(x[i])

    @ti.kernel
    def draw() -> float:
        return ti.random()

    ti.init(default_fp=ti.f64, random_seed=5)
    expected = [draw(), draw()]
    ti.init(default_fp=ti.f64, random_seed=5)
    first = draw()
    assert ti.check_grad(noisy, wrt=x, loss=loss)
    assert [first, draw()] == expected


def test_large_steps_leave_the_field():
    """Where an index is data, a large step has no value; small ones do."""
    x, table, loss = single("x"), ti.field(ti.f64, shape=4, name="table"), single("loss")

    @ti.kernel
    def interpolate():
        i = int(x[None])
        loss[None] += table[i] + (x[None] - i) * (table[i + 1] - table[i])

    table.from_numpy(np.array([0.0, 1.0, 4.0, 9.0]))
    x[None] = 2.9
    check = ti.check_grad(interpolate, wrt=x, loss=loss)
    assert check
    assert np.isinf(check[0].errors[0])


def test_arrays_as_arguments():
    w = ti.ndarray(ti.f64, shape=3, needs_grad=True)
    loss, data = single("loss"), np.array([1.0, 2.0, 3.0])
    total = np.zeros(())

    @ti.kernel
    def weigh(w: ti.types.ndarray(), d: ti.types.ndarray()):
        for i in w:
            loss[None] += d[i] * w[i] ** 3

    @ti.kernel
    def into(w: ti.types.ndarray(), t: ti.types.ndarray()):
        for i in w:
            t[None] += w[i]

    w.fill(2.0)
    assert ti.check_grad(lambda: weigh(w, data), wrt=w, loss=loss)
    with pytest.raises(ti.GradientError, match="the program writes to NumPy arrays"):
        ti.check_grad(lambda: into(w, total), wrt=w, loss=loss)


def test_what_cannot_be_checked():
    (q, _), loss, run = pendulums()
    plain, whole = single("plain", needs_grad=False), ti.field(ti.i32, shape=(), name="n")
    with pytest.raises(ti.GradientError, match="`plain` has no gradient"):
        ti.check_grad(run, wrt=plain, loss=loss)
    with pytest.raises(ti.GradientError, match="integers have no gradient"):
        ti.check_grad(run, wrt=whole, loss=loss)
    with pytest.raises(ti.GradientError, match="gradients are checked with respect to fields, not to float"):
        ti.check_grad(run, wrt=[1.0], loss=loss)
    with pytest.raises(ti.GradientError, match="the loss must be a single number"):
        ti.check_grad(run, wrt=q, loss=q)
    with pytest.raises(ValueError, match="`order` must be 1 or 2"):
        ti.check_grad(run, wrt=q, loss=loss, order=3)
    with pytest.raises(ValueError, match='a mode is "reverse" or "forward"'):
        ti.check_grad(run, wrt=q, loss=loss, modes=["backward"])


PAIR = ti.types.struct(a=ti.f64, b=ti.f64)
NO_FIELDS = {
    "an empty one": list,
    "int": lambda: 3,
    "bool": lambda: True,
    "StructField": lambda: PAIR.field(shape=2, needs_grad=True),
    "a component of a field": lambda: ti.Vector.field(2, ti.f64, shape=2, needs_grad=True).get_scalar_field(
        0
    ),
    "a NumPy array": lambda: np.ones(2),
    "str": lambda: "reverse",
}


@pytest.mark.parametrize("kind", NO_FIELDS)
def test_what_lists_no_fields(kind):
    (_, _), loss, run = pendulums()
    given = NO_FIELDS[kind]()
    message = f"takes a field, or a list of fields, not {kind}\n"
    refused(lambda: ti.check_grad(run, wrt=given, loss=loss), f"`wrt=` {message}", __file__)
    refused(lambda: ti.Tape(loss, grad_check=given), f"`grad_check=` {message}", __file__)


def test_wrong_options_are_errors_of_the_call():
    (q, _), loss, run = pendulums()
    refused(lambda: ti.check_grad(run, wrt=q, loss=loss, order="2"), "`order` must be 1 or 2", __file__)
    refused(lambda: ti.check_grad(run, q, loss, modes="forward"), "a mode is .*, not 'f'", __file__)
    refused(lambda: ti.Tape(loss, on_overwrite=None), '`on_overwrite` is "save" or "error"', __file__)


def test_the_table_and_the_plot():
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    x, loss, run = wrong_square(1.0)
    check = ti.check_grad(run, wrt=x, loss=loss, modes=["reverse"])
    head, row = repr(check).split("\n")
    assert head.split() == ["field", "mode", "derivative", "differences", "error"]
    assert row.split()[:2] == ["x", "reverse"]
    assert row.endswith("DIFFERS")
    axes = check.plot()
    curve, tolerance = axes.get_lines()
    assert curve.get_xdata().tolist() == check[0].steps.tolist()
    assert curve.get_label() == "reverse: x"
    assert tolerance.get_ydata()[0] == check[0].tolerance
    plt.close("all")


@pytest.mark.slow
def test_a_plot_lets_a_light_or_a_dark_page_show_through():
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt
    from matplotlib.colors import to_rgb

    def luminance(color):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    x, loss, run = wrong_square(1.0)
    axes = ti.check_grad(run, wrt=x, loss=loss, modes=["reverse"]).plot()
    figure = axes.figure
    figure.canvas.draw()
    assert np.asarray(figure.canvas.buffer_rgba())[0, 0, 3] == 0
    labels = [*axes.get_xticklabels(), *axes.get_yticklabels(), axes.title, axes.xaxis.label]
    for text in (*labels, *axes.get_legend().get_texts()):
        for page in ("#ffffff", "#111111"):  # those of JupyterLab
            light, dark = sorted((luminance(text.get_color()), luminance(page)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) > 3.9
    # Jupyter puts a sheet below a transparent figure whose ticks are all light, or all dark, by this.
    ticks = (*axes.get_xticklabels(), *axes.get_yticklabels())
    assert {float(np.dot([0.299, 0.587, 0.114], to_rgb(t.get_color()))) > 0.5 for t in ticks} == {True, False}
    own = plt.subplots()[1]
    ti.check_grad(run, wrt=x, loss=loss, modes=["reverse"]).plot(own)
    assert own.title.get_color() == plt.rcParams["axes.titlecolor"].replace(
        "auto", plt.rcParams["text.color"]
    )
    plt.close("all")


def test_names_that_are_no_formulas():
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    x = ti.field(ti.f64, shape=(), needs_grad=True, name="_$\\frac{$\x1b[31m")
    loss = single("loss")

    @ti.kernel
    def square():
        loss[None] += x[None] ** 2

    x[None] = 1.0
    check = ti.check_grad(square, wrt=x, loss=loss, modes=["reverse"])
    assert "\x1b" not in repr(check)
    axes = check.plot()
    axes.figure.canvas.draw()
    (label,) = [t.get_text() for t in axes.get_legend().get_texts()]
    assert "\x1b" not in label
    plt.close("all")


def test_a_gradient_that_is_cut_has_second_derivatives_of_zero():
    x, y = single("x"), single("y")

    @ti.kernel
    def cut():
        y[None] = ti.stop_grad(x[None]) * 2.0

    x[None] = 3.0
    check = ti.check_grad(cut, wrt=x, loss=y, modes=(), order=2)
    assert [c.derivative for c in check] == [0.0]
