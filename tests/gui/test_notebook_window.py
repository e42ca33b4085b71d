"""A `ds.GUI` in a notebook: a view of its frames, the picture that is kept, and what a page embeds."""

import base64
import html
import json
import types

import numpy as np
import pytest
from IPython.core.events import EventManager, available_events

from dsim.gui import GUI, screen
from dsim.live import shown
from dsim.live.scene.encoding import unpacked
from tests.live.conftest import wired
from tests.live.front_end import Page

__all__ = ["wired"]
BACK = 0x112F41


@pytest.fixture
def cell(monkeypatch, wired):
    """A notebook's cell: its outputs, and `end()`."""
    outputs = []

    class Handle:
        def display(self, data, raw, metadata):
            assert raw
            self.number = len(outputs)
            outputs.append([(data, metadata)])

        def update(self, data, raw, metadata):
            assert raw
            outputs[self.number].append((data, metadata))

    shell = types.SimpleNamespace(kernel=None)
    shell.events = EventManager(shell, available_events)
    for module in (screen, shown):
        monkeypatch.setattr(module, "get_ipython", lambda: shell)
    monkeypatch.setattr(shown, "DisplayHandle", Handle)
    monkeypatch.delenv(shown.PAGES_VARIABLE, raising=False)
    return types.SimpleNamespace(outputs=outputs, end=lambda: shell.events.trigger("post_run_cell", None))


def window(**options):
    gui = GUI("dots", **{"res": (40, 20), "background_color": BACK, "frames": 6, **options})
    gui.fps_limit = None
    return gui


def layers(gui):
    """The layers of the newest frame, and the arrays of each."""
    frame = gui._screen._view.recording.at(len(gui._screen._view.recording) - 1)
    told = frame.header["layers"]
    return told, [{name: unpacked(each, frame.data) for name, each in t["arrays"].items()} for t in told]


def test_frames_go_to_the_page_as_it_draws_them(cell):
    gui = window()
    gui.show()
    page = Page(gui._screen._view)
    page.shown()
    for _ in range(4):
        gui.show()
    assert list(dict.fromkeys(header["step"] for header, _ in page.frames())) == [0, 1], "two are under way"
    page.says(type="drawn", number=page.frames()[-1][0]["number"])
    assert page.frames()[-1][0]["step"] == 4, "and then the newest"
    sent = len(page.frames())
    page.hidden()
    gui.show()
    assert len(page.frames()) == sent
    page.says(type="want", frame=2)
    assert (page.frames()[-1][0]["frame"], page.frames()[-1][0]["step"]) == (2, 2)
    assert not gui.running


def test_shapes_are_layers_in_order(cell):
    gui = window()
    gui.circles([[0.25, 0.5], [0.75, 1.0]], radius=1, color=[0xFF0000, 0x0000FF])
    gui.circle([0.5, 0.5], radius=0.5, color=0xFF0000)
    gui.line([0.0, 0.5], [1.0, 0.5], radius=2, color=0x00FF00)
    gui.lines([[0.0, 0.0]], [[1.0, 1.0]], radius=2, color=0x00FF00)
    gui.line([0.0, 1.0], [1.0, 0.0], radius=1, color=0x00FF00)
    gui.triangle([0.0, 0.0], [1.0, 0.0], [0.5, 1.0], color=0xABCDEF)
    gui.show()
    told, arrays = layers(gui)
    assert [(t["kind"], t["color"], t["size"]) for t in told] == [
        ("image", None, None),
        ("points", None, 1.0),
        ("lines", "#00ff00", 4.0),
        ("lines", "#00ff00", 2.0),
        ("mesh", "#abcdef", 0.0),
    ]
    back, points, thick, thin, triangle = arrays
    assert back["colors"].tolist() == [[[0x11, 0x2F, 0x41]]]
    assert points["positions"] == pytest.approx(np.array([[10, 10], [30, 20], [20, 10]]), abs=0.01)
    assert points["sizes"].tolist() == [2.0, 2.0, 1.0]
    assert points["colors"].tolist() == [[255, 0, 0], [0, 0, 255], [255, 0, 0]]
    assert thick["positions"] == pytest.approx(np.array([[0, 10], [40, 10], [0, 0], [40, 20]]), abs=0.01)
    assert thin["positions"].shape == (2, 2)
    assert triangle["positions"] == pytest.approx(np.array([[0, 0], [40, 0], [20, 20]]), abs=0.01)


def test_an_image_covers_what_was_drawn_before(cell):
    gui = window(res=(3, 2))
    gui.circle([0.5, 0.5])
    image = np.arange(18, dtype=np.uint8).reshape(3, 2, 3)
    gui.set_image(image)
    gui.show()
    told, arrays = layers(gui)
    assert [t["kind"] for t in told] == ["image"]
    assert arrays[0]["colors"].tolist() == image.tolist()


DRAWN = {
    "text": lambda gui: gui.text("score", [0.2, 0.8]),
    "a line to far away": lambda gui: gui.line([0.5, 0.5], [500.0, 1.0], radius=1),
    "a triangle to far away": lambda gui: gui.triangle([0.5, 0.5], [500.0, 1.0], [0.0, 0.0]),
    "lines of many widths": lambda gui: gui.lines(
        np.zeros((99, 2)), np.full((99, 2), 0.5), radius=np.arange(99) / 50 + 0.1
    ),
}


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
def test_what_no_layer_is_like_is_an_image_of_the_whole_frame(cell, draw):
    gui = window()
    gui.circle([0.1, 0.5], radius=2, color=0xFF0000)
    draw(gui)
    gui.show()
    told, arrays = layers(gui)
    assert [t["kind"] for t in told] == ["image"]
    assert arrays[0]["colors"].transpose(1, 0, 2)[::-1].tolist() == gui.frames[0].tolist()


def test_circles_out_of_sight_and_large_ones(cell):
    """Points of a device have a limited size, and are not drawn when their middle is outside."""
    gui = window(res=80)
    gui.circles([[-0.2, 0.5], [0.5, 0.5], [1.02, 0.5], [0.2, 0.2]], radius=[3, 30, 3, 0], color=0xFF0000)
    gui.show()
    told, arrays = layers(gui)
    assert [t["kind"] for t in told] == ["image", "mesh"]
    corners = arrays[1]["positions"].reshape(2, -1, 3, 2)
    for middle, radius, triangles in (([40, 40], 30, corners[0]), ([81.6, 40], 3, corners[1])):
        assert np.linalg.norm(triangles[:, 1:] - middle, axis=-1) == pytest.approx(radius, abs=0.01)
        a, b = (triangles[:, k] - triangles[:, 0] for k in (1, 2))
        area = np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum() / 2
        assert area == pytest.approx(np.pi * radius**2, rel=0.01)


def test_nothing_and_what_is_not_finite(cell):
    gui = window()
    gui.circles(np.zeros((0, 2)))
    gui.lines(np.zeros((0, 2)), np.zeros((0, 2)))
    gui.triangles(*np.zeros((3, 0, 2)))
    gui.circle([np.nan, 0.5], radius=2)
    gui.line([np.nan, 0.5], [0.5, 0.5])
    gui.show()
    told, arrays = layers(gui)
    assert [t["kind"] for t in told] == ["image", "lines"]
    assert np.isnan(arrays[1]["positions"][0, 0])


def test_the_notebook_keeps_a_picture_of_the_last_frame(cell):
    gui = window()
    for k in range(3):
        gui.circle([0.2 + 0.3 * k, 0.5], radius=3)
        gui.show()
    assert len(cell.outputs) == len(cell.outputs[0]) == 1
    first, _ = cell.outputs[0][0]
    assert "application/vnd.jupyter.widget-view+json" in first
    assert "image/png" not in first
    cell.end()
    last, _ = cell.outputs[0][1]
    assert last["text/plain"] == "view of dots"
    assert base64.b64decode(last["image/png"]) == screen.png(gui.frames[2])
    cell.end()
    assert len(cell.outputs[0]) == 2, "nothing has changed since"
    gui.film()
    gui.show()
    gui.film()
    cell.end()
    assert len(cell.outputs[0]) == 3
    assert b"acTL" in base64.b64decode(cell.outputs[0][2][0]["image/png"]), "an animated PNG"


def test_very_many_frames_are_thinned_and_the_page_is_told(cell, monkeypatch):
    monkeypatch.setattr(screen, "RECORDED_BYTES", 4000)
    gui = window(res=8, frames=99)
    page = Page(gui._screen._view)
    for _ in range(40):
        gui.show()
    page.shown()
    header, _ = page.frames()[-1]
    kept = len(gui._screen._view.recording)
    assert kept < 40
    assert header["note"].startswith(f"{kept} of 40 frames recorded: one in ")
    assert header["step"] == 39
    page.says(type="want", frame=kept - 1)
    assert page.frames()[-1][0]["step"] == 39


def test_a_page_gets_all_frames_when_the_cell_has_ended(cell, monkeypatch):
    monkeypatch.setenv(shown.PAGES_VARIABLE, "100000")
    gui = GUI('</iframe>"', res=(40, 20))
    gui.fps_limit = None
    for k in range(3):
        gui.circle([0.25 * k, 0.5], radius=1, color=0xFF0000)
        gui.show()
    assert cell.outputs[0][0] == ({"text/plain": 'view of </iframe>"'}, {})
    cell.end()
    data, metadata = cell.outputs[0][1]
    assert metadata == {"dsim": "player"}
    assert sorted(data) == ["image/png", "text/html", "text/plain"]
    assert data["text/html"].count("<iframe") == data["text/html"].count("</iframe>") == 1
    document = html.unescape(data["text/html"].partition('srcdoc="')[2].partition('"')[0])
    recording = json.loads(document.partition('id="dsim-recording">')[2].partition("</script>")[0])
    assert [frame["header"]["step"] for frame in recording["frames"]] == [0, 1, 2]
    for frame in recording["frames"]:
        looks = [(layer["kind"], layer["color"], layer["size"]) for layer in frame["header"]["layers"]]
        assert looks == [("image", None, None), ("points", "#ff0000", 2.0)]


def test_a_window_that_nobody_is_to_see(cell):
    gui = window(show_gui=False)
    gui.show()
    gui.film()
    cell.end()
    assert cell.outputs == []
