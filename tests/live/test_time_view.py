"""Views over an axis of time: steps of fields as frames, and updates while a program fills them."""

import threading

import numpy as np
import pytest
from PIL import Image

import dsim as ds
from dsim.diagnostics import DsimError
from dsim.live.scene.encoding import unpacked
from dsim.live.scene.layers import Arrows, Lines
from tests.live.conftest import wired
from tests.live.front_end import Page

__all__ = ["wired"]
pytestmark = pytest.mark.usefixtures("wired")
T, N = 6, 4


def moving(shape=(T, N), name="x"):
    """Points that go one to the right in each step."""
    x = ds.Vector.field(2, ds.f32, shape=shape, name=name)
    t, i = np.meshgrid(np.arange(T), np.arange(N), indexing="ij")
    numbers = np.stack([t, i], axis=-1)
    x.from_numpy((numbers if shape == (T, N) else numbers.swapaxes(0, 1)).astype(np.float32))
    return x


def arrays(frame, layer=0):
    return {
        name: unpacked(each, frame.data) for name, each in frame.header["layers"][layer]["arrays"].items()
    }


def positions(view, step, layer=0):
    return arrays(view.recording.at(step), layer)["positions"]


@pytest.mark.parametrize(("shape", "time"), [((T, N), 0), ((T, N), -2), ((N, T), 1)])
def test_each_step_is_a_frame(shape, time):
    view = ds.view(moving(shape), time=time)
    assert repr(view) == f"view of points of x, {T} frames"
    for step, frame in enumerate(view.recording):
        assert frame.header["step"] == step
        wanted = [[step, i] for i in range(N)]
        assert arrays(frame)["positions"] == pytest.approx(np.array(wanted), abs=1e-3)
    (left, right), (low, high) = view.scene.bounds
    assert left < 0 < T - 1 < right
    assert low < 0 < N - 1 < high


def test_colours_have_the_range_of_all_steps_and_go_along_where_they_have_the_axis():
    speed = ds.field(ds.f32, shape=(T, N), name="speed")
    speed.from_numpy(np.arange(T * N, dtype=np.float32).reshape(T, N))
    view = ds.view(moving(), time=0, color=speed)
    assert view.scene.json()["layers"][0]["shows"] == "speed"
    told = view.recording.at(2).header["layers"][0]["arrays"]["values"]
    assert (told["low"], told["high"]) == (0, T * N - 1)
    assert arrays(view.recording.at(2))["values"] == pytest.approx([8, 9, 10, 11], abs=0.1)
    same = ds.view(moving(), time=0, color=np.arange(N))
    assert arrays(same.recording.at(2))["values"] == pytest.approx([0, 1, 2, 3], abs=0.02)


def test_layers_go_along_where_their_fields_have_the_indices():
    x, v = moving(), moving(name="v")
    floor = Lines(name="floor", at=[[0.0, 0.0], [5.0, 0.0]])
    wind = Arrows(name="wind", at=x, vectors=v, scale=1.0)
    view = ds.view(x, floor, wind, time=0, arrows=v)
    kinds = [layer["kind"] for layer in view.scene.json()["layers"]]
    assert kinds == ["points", "arrows", "lines", "arrows"]
    assert positions(view, 3, 2) == pytest.approx(np.array([[0, 0], [5, 0]]), abs=1e-3)
    for layer in (1, 3):
        assert positions(view, 3, layer) == pytest.approx(np.array([[3, i] for i in range(N)]), abs=1e-3)
    assert arrays(view.recording.at(3), 3)["vectors"] == pytest.approx(np.array([[3, i] for i in range(N)]))
    assert wind.at is x, "the layer of the user is as it was"


@pytest.mark.parametrize("source", [lambda path: path, lambda path: lambda: path], ids=["array", "function"])
def test_layers_go_along_where_they_draw_what_the_view_draws(source):
    path = source(moving().to_numpy())
    edges = Lines(name="edges", at=path, indices=[[0, 1], [1, 2], [2, 3]])
    view = ds.view(path, edges, time=0, kind="points")
    for layer in (0, 1):
        assert positions(view, 3, layer) == pytest.approx(np.array([[3, i] for i in range(N)]), abs=1e-3)


def test_grids_images_arrays_and_functions():
    grid = ds.field(ds.f32, shape=(T, 3, 2), name="u")
    grid.from_numpy(np.arange(T * 6, dtype=np.float32).reshape(T, 3, 2))
    view = ds.view(grid, time=0)
    assert arrays(view.recording.at(4))["values"] == pytest.approx(24 + np.arange(6).reshape(3, 2), abs=0.1)
    pixels = np.random.default_rng(0).integers(0, 256, (T, 3, 2, 3)).astype(np.uint8)
    image = ds.view(pixels, kind="image", time=0)
    assert arrays(image.recording.at(5))["colors"].tolist() == pixels[5].tolist()
    states = [np.zeros((N, 2)) for _ in range(T)]
    listed = ds.view(lambda: np.array(states), time=0, bounds=[(0, 9), (0, 9)])
    states.append(np.full((N, 2), 7.0))
    listed.png()
    assert len(listed.recording) == T + 1
    assert positions(listed, T) == pytest.approx(np.full((N, 2), 7.0), abs=1e-3)


def test_updates_show_a_run_while_it_fills_the_steps():
    x = moving()
    view = ds.view(x, time=0)
    page = Page(view)
    page.shown()
    for step in (0, 3):
        view._moments._rested = 0.0  # time has passed
        view.update(step=step, text="runs")
        header, _ = page.frames()[-1]
        assert (header["step"], header["recorded"], header["renewed"]) == (step, step + 1, True)
        assert header["text"] == "runs"
        page.says(type="drawn", number=header["number"])
    page.says(type="want", frame=5)
    assert page.frames()[-1][0]["step"] == 3, "the later steps are not there yet"
    view._moments._rested = 0.0
    view.update()
    assert page.frames()[-1][0]["recorded"] == T
    page.says(type="want", frame=5)
    assert page.frames()[-1][0]["step"] == 5
    for step in (-1, T, 0.5):
        with pytest.raises(DsimError, match=f"there are {T} steps, none with the number {step}"):
            view.update(step=step)


def test_a_page_sees_the_numbers_of_the_last_update():
    """What it asks for in a thread of its own, while a cell writes, is from one moment."""
    x = moving()
    view = ds.view(x, time=0, bounds=[(0, 100), (0, 100)])
    page = Page(view)
    page.shown()
    x.fill(50.0)
    asked = threading.Thread(target=page.says, kwargs={"type": "want", "frame": 2})
    asked.start()
    asked.join()
    header, data = page.frames()[-1]
    found = unpacked(header["layers"][0]["arrays"]["positions"], data)
    assert found == pytest.approx(np.array([[2, i] for i in range(N)]), abs=0.02)
    view._moments._rested = 0.0
    page.says(type="drawn", number=page.frames()[0][0]["number"])
    view.update()
    page.says(type="want", frame=2)
    header, data = page.frames()[-1]
    assert unpacked(header["layers"][0]["arrays"]["positions"], data) == pytest.approx(50.0, abs=0.02)


@pytest.mark.slow
def test_a_run_is_saved_as_it_is(tmp_path):
    x = moving()
    view = ds.view(x, time=0, bounds=[(0, 9), (0, 9)])
    x.fill(8.0)
    view.save(tmp_path / "x.gif")
    view.save(tmp_path / "x.png")
    view.save(tmp_path / "x.html")
    with Image.open(tmp_path / "x.gif") as moving_picture:
        assert moving_picture.n_frames == T
    assert (tmp_path / "x.html").read_text(encoding="utf-8").count('"order":') == T
    assert positions(view, 0) == pytest.approx(8.0, abs=1e-3)


def test_a_view_over_time_follows_an_exploration():
    path = ds.Vector.field(2, ds.f32, shape=(T, 1), name="path")

    @ds.kernel
    def throw(speed: float):
        for t in range(T):
            path[t, 0] = ds.Vector([speed * t, 0.0])

    def run(speed=1.0):
        throw(speed)

    view = ds.view(path, time=0, bounds=[(0, 20), (0, 20)])
    seen = ds.explore(run, picture=view)
    seen.set(speed=2.0)
    assert positions(view, 5)[0, 0] == pytest.approx(10.0, abs=0.01)


REFUSED = {
    "`time` is one of 2 axes, not 2": lambda: ds.view(moving(), time=2),
    "`time` is one of 2 axes, not 'x'": lambda: ds.view(moving(), time="x"),
    "`time` is one of 2 axes, not True": lambda: ds.view(moving(), time=True),
    "the axis 0 of time has no steps": lambda: ds.view(np.zeros((0, 4, 2)), time=0),
    "`time` is the axis of a field, and `x` is a layer": lambda: ds.view(
        Lines(name="a", at=np.zeros((2, 2))), time=0
    ),
    "'speed' has 3 steps, not 6": lambda: ds.view(
        moving(), time=0, color=ds.field(ds.f32, shape=(3, N), name="speed")
    ),
    "a view over time has its frames": lambda: ds.view(moving(), time=0).record(),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_what_has_no_steps_is_refused(wrong):
    with pytest.raises(DsimError) as refusal:
        REFUSED[wrong]()
    assert wrong in str(refusal.value)
