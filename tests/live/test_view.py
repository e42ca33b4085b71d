"""`ds.view` with a front end that is played."""

import base64
import io
import json
import threading

import numpy as np
import pytest
from nbformat import v4
from PIL import Image

import dsim as ds
from dsim.live import moments
from dsim.live.scene.encoding import unpacked
from dsim.live.scene.layers import Lines
from dsim.tooling.notebooks import strip_widgets
from tests.live.front_end import Page

WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch):
    """No frame waits because the one before it took long on a busy machine."""
    monkeypatch.setattr(moments, "_SHARE", 0)


@pytest.fixture
def x(wired):
    made = ds.Vector.field(2, ds.f32, shape=4, name="x")
    made.from_numpy(np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32))
    return made


@pytest.fixture
def view(x):
    made = ds.view(x, bounds=[(0, 1), (0, 1)])
    yield made
    made.close()


@pytest.fixture
def page(view):
    return Page(view)


def first(sent):
    """Where the first point is in a frame."""
    header, data = sent
    return unpacked(header["layers"][0]["arrays"]["positions"], data)[0]


def test_a_page_that_appears_gets_the_present_numbers(x, page):
    x[0] = 0.5, 0.25
    assert page.frames() == []
    page.shown()
    assert page.sent[0][0] == {"type": "recorded", "count": 0}
    (frame,) = page.frames()
    assert first(frame) == pytest.approx([0.5, 0.25], abs=1e-4)
    assert (frame[0]["step"], frame[0]["text"]) == (None, "")


def test_updates_go_to_a_page_that_looks_and_costs_no_frame_else(view, page, x):
    view.update()
    assert page.frames() == []
    page.shown()
    page.says(type="drawn", number=page.frames()[-1][0]["number"])
    view.update(step=3, text="warm")
    assert [(header["step"], header["text"]) for header, _ in page.frames()] == [(None, ""), (3, "warm")]
    page.hidden()
    view.update()
    assert len(page.frames()) == 2


def test_the_last_of_many_updates_is_shown_in_the_end(view, page, x):
    page.shown()
    for step in range(50):
        x[0] = step / 100, 0.0
        view.update(step=step)
    assert [header["step"] for header, _ in page.frames()] == [None, 0]
    for _ in range(5):
        page.says(type="drawn", number=page.frames()[-1][0]["number"])
    assert [header["step"] for header, _ in page.frames()] == [None, 0, 49]
    assert first(page.frames()[-1]) == pytest.approx([0.49, 0.0], abs=1e-4)


def test_a_page_that_answers_from_another_thread_sees_the_last_update(x, wired):
    """Front ends with subshells answer while the cell runs."""
    view = ds.view(x, bounds=[(0, 1), (0, 1)])
    page, ended = Page(view), threading.Event()
    page.shown()

    def answers():
        while not ended.is_set():
            page.says(type="drawn", number=page.frames()[-1][0]["number"])

    other = threading.Thread(target=answers)
    other.start()
    for step in range(300):
        view.update(step=step)
    ended.set()
    other.join()
    for _ in range(3):
        page.says(type="drawn", number=page.frames()[-1][0]["number"])
    numbers = [header["number"] for header, _ in page.frames()]
    assert numbers == sorted(numbers)
    assert page.frames()[-1][0]["step"] == 299
    view.close()


def test_a_page_that_comes_back_keeps_the_name_of_the_step(view, page):
    view.update(step=7, text="hidden")
    page.shown()
    assert [(header["step"], header["text"]) for header, _ in page.frames()] == [(7, "hidden")]


def test_a_page_that_appears_after_a_recording_shows_its_last_frame(view, page, x):
    view.record()
    x[0] = 0.5, 0.5
    page.shown()
    assert all(first(frame) == pytest.approx([0.0, 0.0], abs=1e-4) for frame in page.frames())
    view.update()
    page.says(type="drawn", number=page.frames()[-1][0]["number"])
    assert first(page.frames()[-1]) == pytest.approx([0.5, 0.5], abs=1e-4)


def test_a_recording_is_played_frame_by_frame(view, page, x):
    for step in range(10):
        x[0] = step / 10, 0.0
        view.record()
    page.shown()
    assert page.sent[0][0]["type"] == "frame" or page.sent[0][0]["count"] == 10
    page.says(type="want", frame=4)
    header, _ = page.frames()[-1]
    assert (header["frame"], header["step"]) == (4, 4)
    assert first(page.frames()[-1]) == pytest.approx([0.4, 0.0], abs=1e-4)
    sent = len(page.frames())
    page.says(type="want", frame=10)
    page.says(type="want", frame=-1)
    assert len(page.frames()) == sent


def test_headers_tell_how_much_is_recorded(view, page):
    page.shown()
    view.record()
    assert page.frames()[-1][0]["recorded"] == 1


def test_messages_of_no_kind_are_passed_over(page):
    page.says(type="other")
    page.says()
    page.widget._handle_msg({"content": {"data": {"method": "custom", "content": [1]}}, "buffers": []})


def test_what_a_person_does_is_heard(view, page):
    heard = []
    for act in ("drag", "paint", "pick"):
        view.on(act, heard.append)
        page.says(type=act, layer=0, index=2)
    assert [message["type"] for message in heard] == ["drag", "paint", "pick"]
    with pytest.raises(ds.DsimError, match="a view hears of drag, paint, pick, not of 'drawn'"):
        view.on("drawn", heard.append)


# -- what it shows


def test_names_come_from_fields(wired, x):
    speed = ds.field(ds.f32, shape=4, name="speed")
    assert repr(ds.view(x, arrows=x)) == "view of points of x, arrows of x"
    assert repr(ds.view(x, color=speed)) == "view of points of x"
    assert ds.view(x).scene.title == "x"
    assert ds.view(x, title="A <b>").scene.json()["title"] == "A <b>"
    assert repr(ds.view(np.zeros((3, 2)))) == "view of points"

    def cloud():
        return x

    assert repr(ds.view(cloud)) == "view of points of cloud"


def test_what_is_drawn_follows_from_the_shape(x):
    grid = np.zeros((5, 4))
    for given, options, kinds in (
        (x, {}, ["points"]),
        (grid, {}, ["grid"]),
        (x, {"indices": [[0, 1]]}, ["lines"]),
        (x, {"indices": [[0, 1, 2]]}, ["mesh"]),
        (x, {"kind": "lines"}, ["lines"]),
        (grid, {"arrows": np.zeros((5, 4, 2))}, ["grid", "arrows"]),
        (np.zeros((5, 3)), {"kind": "grid"}, ["grid"]),
    ):
        assert [layer.kind for layer in ds.view(given, **options).scene.layers] == kinds


def test_two_axes_of_a_field_of_numbers_are_a_grid_however_long_they_are():
    numbers = ds.field(ds.f32, shape=(5, 3))
    spins = ds.Vector.field(2, ds.f32, shape=(4, 2))
    for given, kind in (
        (numbers, "grid"),
        (spins, "points"),
        (spins.get_scalar_field(0), "grid"),
        (np.zeros((5, 3)), "points"),
    ):
        assert ds.view(given).scene.layers[0].kind == kind
    for entry in (ds.Matrix.field(2, 2, ds.f32, shape=5), ds.Vector.field(4, ds.f32, shape=5)):
        with pytest.raises(ds.DsimError, match="needs positions, or numbers with two axes"):
            ds.view(entry)


def test_the_legend_names_what_the_colours_show(x):
    height = ds.field(ds.f32, shape=x.shape, name="height")
    looks = [layer["shows"] for layer in ds.view(x, color=height).scene.json()["layers"]]
    assert looks == ["height"]
    assert ds.view(x, color=height.to_numpy()).scene.json()["layers"][0]["shows"] == "x"


def test_arrows_of_a_grid_begin_in_the_middle_of_its_cells():
    made = ds.view(np.zeros((3, 2)), kind="grid", arrows=np.ones((3, 2, 2)))
    frame = made.scene.frame(1)
    at = unpacked(frame.header["layers"][1]["arrays"]["positions"], frame.data)
    assert at == pytest.approx(np.array([[i + 0.5, j + 0.5] for i in range(3) for j in range(2)]), abs=1e-3)


def test_more_layers_are_in_front(x):
    assert [layer.name for layer in ds.view(x, Lines(name="edge", at=x)).scene.layers] == ["x", "edge"]


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (np.zeros(3), {}, r"array of shape \(3,\) needs positions, or two axes"),
        (np.zeros((3, 2)), {"kind": "cloud"}, "one of points, grid, image, lines, mesh, not 'cloud'"),
        (np.zeros((3, 4, 3)), {"kind": "image", "size": 3}, "`size` means nothing for an image"),
        (np.zeros((3, 4, 3)), {"kind": "image", "color": "red"}, "`color` means nothing for an image"),
        (np.zeros((3, 4)), {"color": "red"}, "`color` means nothing for a grid"),
        (np.zeros((3, 4)), {"size": 3}, "`size` means nothing for a grid"),
        (np.zeros((3, 4)), {"indices": [0, 1], "kind": "grid"}, "`indices` means nothing for a grid"),
        (np.zeros((3, 2)), {"indices": [0, 1], "kind": "points"}, "`indices` means nothing for points"),
        (np.zeros((3, 2)), {"kind": "mesh"}, "needs the corners of its triangles"),
        (np.zeros((3, 2)), {"color": np.zeros(2)}, r"has the shape \(2,\), not \(3,\)"),
        (np.zeros((3, 2)), {"indices": [[0, 7]]}, "name the position 7"),
        (np.zeros((3, 2)), {"color": np.zeros(3), "colormap": "none"}, "there is no colour map 'none'"),
        ("x", {}, "a view takes real numbers"),
        (np.zeros((0, 5)), {}, r"'grid' has no cells: its shape is \(0, 5\)"),
        (np.zeros((3, 2)), {"budget": -1}, "`budget` is a number of bytes, not -1"),
        (np.zeros((3, 2)), {"budget": "1 MB"}, "`budget` is a number of bytes, not '1 MB'"),
    ],
)
def test_what_a_view_refuses_at_once(given, options, message):
    with pytest.raises(ds.DsimError, match=message):
        ds.view(given, **options)


@pytest.mark.parametrize(
    "given",
    [
        np.zeros((0, 2)),
        np.zeros((1, 3)),
        np.zeros((1, 1)),
        np.full((3, 2), np.nan),
        np.array([[np.inf, 1.0]]),
    ],
    ids=["empty", "one point", "one cell", "nan", "infinite"],
)
def test_what_has_no_extent_is_drawn_too(wired, given):
    view = ds.view(given)
    page = Page(view)
    page.shown()
    assert len(page.frames()) == 1
    assert "image/png" in view._repr_mimebundle_()[0]
    view.close()


def test_a_page_is_told_of_bounds_that_grow():
    x = ds.Vector.field(2, ds.f32, shape=4, name="x")
    view = ds.view(x)
    before = view.widget.scene["bounds"]
    x.from_numpy(np.array([[5.0, 1.0], [6.0, 2.0], [7.0, 3.0], [8.0, 4.0]], np.float32))
    view.record()
    assert view.widget.scene["bounds"] == view.scene.bounds != before


def test_its_output_is_a_widget_a_picture_and_text(view):
    view.record()
    data, _ = view._repr_mimebundle_()
    assert data["text/plain"] == "view of points of x"
    assert data[WIDGET]["model_id"] == view.widget.model_id
    with Image.open(io.BytesIO(base64.b64decode(data["image/png"]))) as picture:
        assert picture.size == (640, 480)
    json.dumps(data)


def test_pages_of_notebooks_have_the_picture(view):
    data, _ = view._repr_mimebundle_()
    output = v4.new_output("display_data", dict(data))
    notebook = v4.new_notebook(cells=[v4.new_code_cell(outputs=[output])])
    assert set(strip_widgets(notebook).cells[0].outputs[0].data) == {"text/plain", "image/png"}


def test_the_page_s_half_knows_the_scene_without_a_kernel(view):
    """What a notebook saves of a widget is enough to show it."""
    state = view.widget.get_state()
    assert state["scene"] == view.scene.json()
    assert "export default" in state["_esm"]


def test_what_is_held_is_shown_again_whatever_the_field_has_become(view, page, x):
    x[0] = 0.25, 0.0
    view.hold("held")
    x[0] = 0.75, 0.0
    page.shown()
    for header, data in page.frames():
        at = unpacked(header["layers"][0]["arrays"]["positions"], data)[0]
        assert (header["text"], round(float(at[0]), 3)) == ("held", 0.25)
    view.update()
    page.hidden()
    page.shown()
    header, data = page.frames()[-1]
    assert unpacked(header["layers"][0]["arrays"]["positions"], data)[0][0] == pytest.approx(0.75, abs=1e-3)
