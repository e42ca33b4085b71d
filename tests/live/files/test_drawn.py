"""Scenes drawn by matplotlib."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from PIL import Image

from dsim.live.files.drawn import figure, png, still
from dsim.live.scene.layers import Arrows, GridLayer, ImageLayer, Lines, Mesh, Points
from dsim.live.scene.scene import Scene

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
CUBE = np.concatenate([np.c_[SQUARE, np.zeros(4)], np.c_[SQUARE, np.ones(4)]])
TRIANGLES = [[0, 1, 2], [0, 2, 3]]
KINDS = {
    "points": lambda at, **looks: Points(name="p", at=at, **looks),
    "arrows": lambda at, **looks: Arrows(name="a", at=at, vectors=at - 0.5, **looks),
    "lines": lambda at, **looks: Lines(name="l", at=at, **looks),
    "mesh": lambda at, **looks: Mesh(name="m", at=at, indices=TRIANGLES, **looks),
}


def pixels(*layers, bounds=None, title="t", **said):
    made = Scene(layers, title, bounds)
    with Image.open(io.BytesIO(png(made.json(), made.frame(1, **said)))) as picture:
        return np.asarray(picture.convert("RGB"))


def count(picture, colour):
    wanted = np.array(to_rgb(colour)) * 255
    return int((np.abs(picture.astype(float) - wanted) < 12).all(-1).sum())


@pytest.mark.parametrize("at", [SQUARE, CUBE], ids=["2", "3"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_in_one_colour(kind, at):
    around = [(-0.5, 1.5)] * at.shape[1]
    assert count(pixels(KINDS[kind](at, color="#ff00ff", size=4), bounds=around), "#ff00ff") > 20 or (
        kind == "mesh" and at is CUBE
    )


@pytest.mark.slow
def test_what_a_notebook_keeps_is_the_picture_in_few_colours():
    values = np.add.outer(np.arange(80.0), np.arange(60.0))
    made = Scene([GridLayer(name="g", values=values)], "t", None)
    frame = made.frame(1)
    whole, few = png(made.json(), frame), still(made.json(), frame)
    assert len(few) < len(whole) / 2
    with Image.open(io.BytesIO(whole)) as right, Image.open(io.BytesIO(few)) as kept:
        assert (kept.mode, kept.size) == ("P", right.size)
        different = np.abs(np.asarray(kept.convert("RGB"), int) - np.asarray(right.convert("RGB"), int))
    assert different.mean() < 1.0


def test_no_background_is_seen_between_triangles_that_share_an_edge():
    around = 2 * np.pi * np.arange(36) / 36
    fan = np.concatenate([[[0.0, 0.0]], np.stack([np.cos(around), np.sin(around)], axis=-1)])
    rim = np.arange(36) + 1
    joined = np.stack([np.zeros(36, int), rim, np.roll(rim, -1)], axis=-1)
    picture = pixels(Mesh(name="m", at=fan, indices=joined, color="#000000"), bounds=[(-0.6, 0.6)] * 2)
    middle = picture[180:320, 250:390]
    assert middle.max() < 16  # without care: 88


@pytest.mark.parametrize("at", [SQUARE, CUBE], ids=["2", "3"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_in_the_colours_of_its_map_with_a_legend(kind, at):
    values = np.linspace(-1, 1, len(at))
    values[1] = np.nan
    made = Scene([KINDS[kind](at, values=values)], "t", None)
    drawn = figure(made.json(), made.frame(1))
    _, legend = drawn.axes
    assert legend.get_ylim() == (-1.0, 1.0)
    assert legend.get_ylabel() == kind[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", [np.full((4, 2), np.nan), np.full((4, 3), np.inf)], ids=["2", "3"])
def test_what_is_nowhere_is_not_drawn(kind, at):
    pixels(KINDS[kind](at), bounds=[(0, 1)] * at.shape[1])


def test_axis_0_of_a_grid_is_x_and_axis_1_goes_up():
    values = np.zeros((4, 3))
    values[3, 2] = 1.0  # above right
    made = Scene([GridLayer(name="g", values=values, limits=(0, 1))], "t", None)
    axes = figure(made.json(), made.frame(1)).axes[0]
    (image,) = axes.get_images()
    assert image.origin == "lower"
    assert tuple(image.get_extent()) == (0, 4, 0, 3)
    assert np.asarray(image.get_array())[2, 3].tolist() != np.asarray(image.get_array())[0, 0].tolist()


def test_axis_0_of_an_image_is_x_and_axis_1_goes_up():
    colours = np.zeros((4, 3, 3), np.uint8)
    colours[3, 2] = 255, 0, 255  # above right
    picture = pixels(ImageLayer(name="i", pixels=colours))
    rows, columns = np.nonzero((picture == [255, 0, 255]).all(-1))
    assert len(rows) > 500
    assert rows.max() < picture.shape[0] / 2
    assert columns.min() > picture.shape[1] / 2


def test_layers_go_from_the_back_to_the_front():
    area = Mesh(name="m", at=SQUARE, indices=TRIANGLES, color="#00ff00")
    dots = Points(name="p", at=SQUARE * 0.5 + 0.25, color="#ff00ff", size=20)
    assert count(pixels(area, dots), "#ff00ff") > 500
    assert count(pixels(dots, area), "#ff00ff") == 0


def test_text_of_people_is_text():
    """A dollar begins no formula."""
    title, name = r"$\frac{ </script>", r"a $x_ { name"
    layer = Points(name=name, at=SQUARE, values=SQUARE[:, 0])
    made = Scene([layer], title, None)
    drawn = figure(made.json(), made.frame(1, step=3, text="$$"))
    assert drawn.get_suptitle() == rf"{title}   step 3   $$"
    assert drawn.axes[1].get_ylabel() == name
    png(made.json(), made.frame(1, step=3, text="$$"))


def test_no_figure_is_left_open():
    before = plt.get_fignums()
    pixels(Points(name="p", at=SQUARE))
    assert plt.get_fignums() == before


LONG = ["a title of many words " * 6, "W" * 300, "one " + "ﬁeld/" * 60]


@pytest.mark.parametrize("title", LONG, ids=["words", "letters", "a path"])
@pytest.mark.parametrize("shape", [(4, 40), (40, 4)], ids=["tall", "wide"])
def test_a_long_title_is_in_the_picture(title, shape):
    made = Scene([GridLayer(name="g", values=np.zeros(shape))], title, None)
    drawn = figure(made.json(), made.frame(1))
    canvas = FigureCanvasAgg(drawn)
    canvas.draw()
    told = drawn.texts[0].get_window_extent(canvas.get_renderer())
    assert told.x0 >= 0
    assert told.x1 <= drawn.bbox.width
    assert told.y1 <= drawn.bbox.height
    assert told.y0 >= drawn.axes[0].get_window_extent().y1
