"""`ds.adjoint_view` with a front end that is played."""

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image

import dsim as ds
from dsim.live.scene.encoding import unpacked
from dsim.notebook.displays.trajectories import trajectory_bundle
from tests.live.front_end import Page

N = 5


def taped(x, factor=0.5, steps=4, weight=1.0):
    """The trajectory of `x` under a step that multiplies it; the loss is a weighted sum of squares."""
    loss = ds.field(ds.f64, shape=(), needs_grad=True, name="loss")
    single = x.entry_shape == ()

    @ds.kernel
    def times():
        for i in ds.grouped(x):
            x[i] *= factor

    @ds.kernel
    def total():
        for i in ds.grouped(x):
            if ds.static(single):
                loss[None] += weight * x[i] ** 2
            else:
                loss[None] += weight * (x[i] * x[i]).sum()

    with ds.Tape(loss) as tape:
        found = tape.trajectory(x)
        for _ in range(steps):
            times()
        total()
    return found


def points(**options):
    x = ds.Vector.field(2, ds.f64, shape=N, needs_grad=True, name="x")
    x.from_numpy(np.linspace(0.1, 1.0, 2 * N).reshape(N, 2))
    return taped(x, **options)


def numbers(shape, **options):
    x = ds.field(ds.f64, shape=shape, needs_grad=True, name="x")
    x.from_numpy(np.linspace(0.1, 1.0, int(np.prod(shape))).reshape(shape))
    return taped(x, **options)


def arrays(view, frame):
    """The arrays of each layer of a frame, by name of the layer."""
    header, data = frame
    layers = zip(view.scene.layers, header["layers"], strict=True)
    return {
        layer.name: {name: unpacked(each, data) for name, each in told["arrays"].items()}
        for layer, told in layers
    }


def wanted(page, number):
    page.says(type="want", frame=number)
    return page.frames()[-1]


def test_frames_have_the_state_and_the_negative_gradient_of_their_step(wired):
    found = points()
    view = ds.adjoint_view(found)
    page = Page(view)
    page.shown()
    for number in (0, 3, 5):
        drawn = arrays(view, wanted(page, number))
        assert drawn["x"]["positions"] == pytest.approx(found.states[number], abs=1e-3)
        arrows = drawn["−∂loss/∂x"]["vectors"]
        adjoint = found.adjoints[number]
        lengths = np.linalg.norm(adjoint, axis=1)
        if lengths.any():
            assert arrows / np.linalg.norm(arrows, axis=1).max() == pytest.approx(
                -adjoint / lengths.max(), abs=1e-5
            )
        else:
            assert not arrows.any()
    assert wanted(page, 3)[0]["text"] == f"call 3 · ‖∂loss/∂x‖ = {found.norms[3]:.3g}"
    view.close()


def test_a_grid_is_beside_its_heat(wired):
    found = numbers((4, 3))
    view = ds.adjoint_view(found)
    page = Page(view)
    page.shown()
    drawn = arrays(view, wanted(page, 2))
    assert drawn["x"]["values"] == pytest.approx(found.states[2], abs=0.005)
    header = page.frames()[-1][0]["layers"][1]["arrays"]["values"]
    most = abs(found.adjoints[2]).max()
    assert (header["low"], header["high"]) == (-most, most), "white is 0"
    assert drawn["∂loss/∂x"]["values"] == pytest.approx(found.adjoints[2], abs=most / 100)
    assert [layer["shows"] for layer in view.scene.json()["layers"][:2]] == ["x", "∂loss/∂x"], "the legend"
    boxes = [layer["box"] for layer in view.scene.json()["layers"][:2]]
    assert boxes[0] == [[0.0, 4.0], [0.0, 3.0]]
    assert boxes[1][0][0] > 4.0
    assert [layer["backward"] for layer in view.scene.json()["layers"]] == [False, True, False]
    view.close()


@pytest.mark.parametrize("shape", [(), (6,)], ids=["0-D", "1-D"])
def test_numbers_with_less_than_two_axes_are_points(wired, shape):
    found = numbers(shape)
    view = ds.adjoint_view(found)
    page = Page(view)
    page.shown()
    drawn = arrays(view, wanted(page, 1))
    assert len(drawn["x"]["positions"]) == (6 if shape else 1)
    arrows = drawn["−∂loss/∂x"]["vectors"]
    assert not arrows[:, 0].any()
    assert np.all(np.sign(arrows[:, 1]) == -np.sign(found.adjoints[1].ravel()))
    view.close()


def test_points_of_three_dimensions_and_what_joins_them(wired):
    x = ds.Vector.field(3, ds.f32, shape=3, needs_grad=True, name="x")
    x.from_numpy(np.eye(3, dtype=np.float32))
    view = ds.adjoint_view(taped(x), indices=[[0, 1, 2]])
    assert [layer.kind for layer in view.scene.layers] == ["mesh", "points", "points", "arrows"]
    assert view.scene.json()["dimensions"] == 3


def test_a_click_follows_a_particle_and_another_click_leaves_it(wired):
    found = points()
    view = ds.adjoint_view(found)
    page = Page(view)
    page.shown()
    assert view.widget.followed == {}
    page.says(type="pick", layer=1, index=2)
    assert view.widget.followed["name"] == "x[2]"
    assert view.widget.followed["norms"] == pytest.approx(np.linalg.norm(found.adjoints[:, 2], axis=1))
    frame = wanted(page, 1)
    assert arrays(view, frame)["followed"]["positions"] == pytest.approx(found.states[1, 2:3], abs=1e-3)
    adjoint = ", ".join(f"{n:.3g}" for n in found.adjoints[1, 2])
    assert frame[0]["text"].endswith(f"x[2]: ∂loss/∂x = ({adjoint})")
    page.says(type="pick", layer=2, index=2)
    assert view.widget.followed == {}
    assert np.isnan(arrays(view, wanted(page, 1))["followed"]["positions"]).all()
    page.says(type="pick", layer=1, index=N)
    page.says(type="pick", layer=9, index=0)
    assert view.widget.followed == {}
    view.close()


def test_a_cell_is_followed_in_both_grids(wired):
    found = numbers((4, 3))
    view = ds.adjoint_view(found)
    page = Page(view)
    page.shown()
    page.says(type="pick", layer=1, index=7)
    assert view.widget.followed["name"] == "x[2, 1]"
    places = arrays(view, wanted(page, 0))["followed"]["positions"]
    right = view.scene.json()["layers"][1]["box"][0][0]
    assert places == pytest.approx(np.array([[2.5, 1.5], [2.5 + right, 1.5]]), abs=0.01)
    view.close()


def test_an_element_is_followed_from_python(wired):
    found = numbers((4, 3))
    view = ds.adjoint_view(found)
    view.follow((-1, 0))
    assert view.widget.followed["name"] == "x[3, 0]"
    view.follow(None)
    assert view.widget.followed == {}
    with pytest.raises(ds.GradientError, match="`x` has no element"):
        view.follow(4)
    single = ds.adjoint_view(numbers(()))
    single.follow(())
    assert single.widget.followed["name"] == "x[None]"


def test_the_chart_has_norms_and_what_they_say_as_plain_json(wired):
    found = points(factor=1e3, steps=3)
    chart = ds.adjoint_view(found).scene.json()["chart"]
    assert chart["steps"] == [0, 1, 2, 3, 4]
    assert chart["norms"] == pytest.approx(found.norms.tolist())
    assert chart["norms"][4] == 0.0
    assert chart["told"] == " · ".join(found.summary)
    assert "exploding" in chart["told"]
    bad = numbers((3,), weight=float("inf"))
    chart = ds.adjoint_view(bad).scene.json()["chart"]
    assert chart["norms"][:2] == [None, None]
    json.dumps(chart, allow_nan=False)


def test_a_widget_that_is_made_again_still_follows(wired):
    view = ds.adjoint_view(points())
    view.follow(1)
    assert view.widget.followed["name"] == "x[1]"
    view.unshown()
    assert view.widget.followed["name"] == "x[1]"
    view.close()


@pytest.mark.slow
def test_its_output_is_a_widget_a_picture_and_text_and_a_trajectory_has_the_same(wired):
    found = points()
    for data, _ in (ds.adjoint_view(found)._repr_mimebundle_(), trajectory_bundle(found)):
        assert data["text/plain"].startswith("view of the adjoint of `x` over 6 calls, 0 to 5")
        assert "application/vnd.jupyter.widget-view+json" in data
        with Image.open(io.BytesIO(base64.b64decode(data["image/png"]))) as picture:
            assert picture.size == (1000, 600)


@pytest.mark.slow
def test_states_without_a_picture_have_their_norms(wired):
    F = ds.Matrix.field(2, 2, ds.f64, shape=3, needs_grad=True, name="F")
    F.from_numpy(np.ones((3, 2, 2)))
    found = taped(F)
    with pytest.raises(ds.DsimError, match=r"(?s)of shape \(3, 2, 2\) have no picture.*`plot\(\)`"):
        ds.adjoint_view(found)
    data = trajectory_bundle(found)
    assert set(data) == {"text/plain", "image/png"}
    assert data["text/plain"] == repr(found)


@pytest.mark.slow
def test_pages_and_videos_have_all_steps(wired, tmp_path):
    view = ds.adjoint_view(points(), title="<b>{0}</b>")
    view.save(tmp_path / "x.html")
    text = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert '"chart"' in text
    assert "<b>{0}</b>" not in text
    view.save(tmp_path / "x.gif")
    with Image.open(tmp_path / "x.gif") as video:
        assert video.n_frames == 6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ds.adjoint_view(np.zeros((3, 2))), "`adjoint_view` takes a trajectory, not"),
        (lambda: ds.adjoint_view(points(), bounds=[(0, 1)]), "`bounds` are 2 or 3 pairs"),
        (lambda: ds.adjoint_view(numbers((4, 3)), indices=[[0, 1]]), "`indices` join positions"),
        (lambda: ds.adjoint_view(numbers((4, 3)), colormap="none"), "there is no colour map 'none'"),
        (lambda: ds.adjoint_view(points()).record(), "has its frames"),
    ],
)
def test_what_it_refuses(wired, make, message):
    with pytest.raises(ds.DsimError, match=message):
        make()
