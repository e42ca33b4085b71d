"""`ds.plot`: what its figures show, by the numbers in their artists."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import SymLogNorm

import dsim as ds


@pytest.fixture(autouse=True)
def _figures():
    plt.switch_backend("agg")
    ds.init(default_fp=ds.f64)
    yield
    plt.close("all")


@pytest.mark.slow
def test_importing_dsim_does_not_import_matplotlib():
    code = "import sys, dsim; dsim.plot.field; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_line_a_line_for_each_number_and_given_axes():
    x = ds.field(ds.f64, shape=5, name="x")
    x.from_numpy(np.arange(5.0) ** 2)
    _, given = plt.subplots()
    assert ds.plot.field(x, given) is given
    assert given.lines[0].get_ydata().tolist() == [0, 1, 4, 9, 16]
    assert (given.get_xlabel(), given.get_ylabel()) == ("i", "x")
    v = ds.Vector.field(3, ds.f64, shape=5, name="v")
    v.from_numpy(np.arange(15.0).reshape(5, 3))
    ax = ds.plot.field(v)
    assert [line.get_ydata().tolist() for line in ax.lines] == v.to_numpy().T.tolist()
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["[0]", "[1]", "[2]"]
    assert ds.plot.field(v.get_scalar_field(1)).lines[0].get_ydata().tolist() == [1, 4, 7, 10, 13]


def test_an_image_has_the_first_index_to_the_right():
    u = ds.field(ds.f64, shape=(4, 3), name="u")
    u.from_numpy(np.arange(12.0).reshape(4, 3))
    ax = ds.plot.field(u)
    (image,) = ax.images
    assert image.get_array().tolist() == u.to_numpy().T.tolist()
    assert image.origin == "lower"
    assert len(ax.figure.axes) == 2  # with the scale of its colours


def test_vectors_on_a_grid_are_arrows():
    w = ds.Vector.field(2, ds.f64, shape=(100, 50), name="w")
    w.fill([3.0, 4.0])
    (arrows,) = [c for c in ds.plot.field(w).collections if hasattr(c, "U")]
    assert arrows.N == 25 * 13
    assert (arrows.U[0], arrows.V[0]) == (3.0, 4.0)


def test_a_gradient_has_colours_around_0():
    u = ds.field(ds.f64, shape=(4, 3), name="u", needs_grad=True)
    u.grad.from_numpy(np.arange(12.0).reshape(4, 3) - 3)
    (image,) = ds.plot.gradient(u).images
    assert (image.norm.vmin, image.norm.vmax) == (-8, 8)
    x = ds.field(ds.f64, shape=3, name="x", needs_grad=True)
    x.grad.fill(2.0)
    zero, line = ds.plot.gradient(x).lines
    assert (list(zero.get_ydata()), list(line.get_ydata())) == ([0, 0], [2, 2, 2])


def recorded(factor, steps=6):
    x = ds.field(ds.f64, shape=3, needs_grad=True)
    U = ds.field(ds.f64, shape=(), needs_grad=True)

    @ds.kernel
    def step():
        for i in x:
            x[i] = factor * x[i] + 0.0 * x[i] ** 2

    @ds.kernel
    def end():
        for i in x:
            U[None] += x[i]

    with ds.Tape(U) as tape:
        for _ in range(steps):
            step()
        end()
    return tape, x


def test_a_tape_shows_norms_and_saved_bytes():
    tape, _ = recorded(2.0)
    ax = ds.plot.tape(tape)
    assert np.allclose(ax.lines[0].get_ydata(), tape.profile().gradient_norm)
    (right,) = [a for a in ax.figure.axes if a is not ax]
    assert [bar.get_height() for bar in right.patches] == tape.calls.saved_bytes().tolist()
    assert sum(bar.get_height() for bar in right.patches) == tape.saved_bytes > 0
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["norm of the gradient", "saved bytes"]
    assert ax.get_yscale() == "linear"
    assert ds.plot.tape(recorded(30.0)[0]).get_yscale() == "log"


def test_a_trajectory_shows_each_number_and_the_norm():
    tape, x = recorded(2.0)
    found = tape.gradients(x, after=[4, 0, 2])
    ax = ds.plot.trajectory(found)
    (mesh,) = ax.collections
    assert mesh.get_array().reshape(3, 3).T.tolist() == [[32] * 3, [8] * 3, [2] * 3]
    right = next(a for a in ax.figure.axes if a.get_ylabel() == "norm")
    calls, norms = right.lines[0].get_data()
    assert (calls.tolist(), norms.tolist()) == ([0, 2, 4], [pytest.approx(n * 3**0.5) for n in (32, 8, 2)])
    assert ax.get_ylabel() == "element of x"
    tape, x = recorded(30.0)
    wide = ds.plot.trajectory(tape.gradients(x))
    assert isinstance(wide.collections[0].norm, SymLogNorm)


@pytest.mark.slow
def test_names_are_no_formulas(tmp_path):
    x = ds.field(ds.f64, shape=3, name="$\\bad$", needs_grad=True)
    for draw in (ds.plot.field, ds.plot.gradient):
        draw(x).figure.savefig(tmp_path / "x.png")


@pytest.mark.slow
def test_numbers_that_are_not_finite_are_drawn(tmp_path):
    u = ds.field(ds.f64, shape=(2, 2), needs_grad=True)
    u.grad.fill(np.nan)
    u.fill(np.inf)
    for draw in (ds.plot.field, ds.plot.gradient):
        draw(u).figure.savefig(tmp_path / "u.png")


@pytest.mark.parametrize(
    ("act", "kind", "said"),
    [
        (lambda: ds.plot.field(3), TypeError, "field takes a field or a NumPy array, not"),
        (lambda: ds.plot.gradient(np.zeros(3)), TypeError, "gradient takes a field, not"),
        (lambda: ds.plot.tape(3), TypeError, "tape takes a tape, not"),
        (lambda: ds.plot.trajectory(np.zeros(3)), TypeError, "trajectory takes what `tape.gradients"),
        (lambda: ds.plot.field(np.zeros((2, 2, 2))), ValueError, "the array has 3 axes, and 1 or 2"),
        (
            lambda: ds.plot.field(ds.field(ds.f64, shape=())),
            ValueError,
            "has 0 axes, and 1 or 2 can be drawn$",
        ),
        (
            lambda: ds.plot.field(ds.Matrix.field(2, 2, ds.f64, shape=4)),
            ValueError,
            "entries of 2×2 numbers, which cannot be drawn here",
        ),
        (lambda: ds.plot.field(ds.Vector.field(9, ds.f64, shape=4)), ValueError, "entries of 9 numbers"),
    ],
)
def test_what_cannot_be_drawn_is_refused(act, kind, said):
    with pytest.raises(kind, match=said) as caught:
        act()
    assert {entry.path.name for entry in caught.traceback} == {"test_plot.py"}
