"""What the page is told once: layers, maps, and the box around them."""

import base64
import json

import matplotlib as mpl
import numpy as np
import pytest

import dsim as ds
from dsim.live.scene.encoding import unpacked
from dsim.live.scene.layers import GridLayer, Lines, Points
from dsim.live.scene.scene import Scene

CLOUD = np.array([[0.0, 10.0], [4.0, 12.0], [np.nan, 99.0], [np.inf, 11.0]])


def scene(*layers, bounds=None):
    return Scene(layers, "a title", bounds)


def test_a_scene_is_json():
    layers = (
        Points(name="p", at=CLOUD, color="tomato", size=np.float32(3)),
        GridLayer(name="g", values=np.eye(2)),
    )
    found = json.loads(json.dumps(scene(*layers, bounds=np.array([[0, 1], [0, 2]])).json(), allow_nan=False))
    assert (found["version"], found["title"], found["dimensions"]) == (1, "a title", 2)
    assert found["bounds"] == [[0.0, 1.0], [0.0, 2.0]]
    points, grid = found["layers"]
    assert (points["kind"], points["name"], points["color"], points["map"]) == (
        "points",
        "p",
        "#ff6347",
        None,
    )
    assert (points["size"], points["limits"]) == (3.0, None)
    assert (grid["kind"], grid["map"]) == ("grid", "viridis")
    assert list(found["maps"]) == ["viridis"]


def test_maps_are_256_colours():
    values = np.arange(4.0)
    found = scene(Points(name="p", at=CLOUD, values=values, colormap="magma")).json()["maps"]["magma"]
    colours = np.frombuffer(base64.b64decode(found), np.uint8).reshape(256, 3)
    assert colours[[0, 128, 255]].tolist() == [
        list(mpl.colormaps["magma"](k, bytes=True)[:3]) for k in (0, 128, 255)
    ]


def test_a_frame_is_json_and_bytes():
    frame = scene(Points(name="p", at=CLOUD)).frame(7, step=3, text="</script>")
    header = json.loads(json.dumps(frame.header, allow_nan=False))
    assert (header["number"], header["step"], header["text"]) == (7, 3, "</script>")
    assert frame.nbytes == len(frame.data) + len(json.dumps(frame.header))


def test_the_box_is_that_of_finite_positions_with_a_margin():
    (low_x, high_x), (low_y, high_y) = scene(Points(name="p", at=CLOUD)).bounds
    assert (low_x, high_x) == pytest.approx((-4.45, 4.0 + 4.45), abs=9)
    assert low_x < 0.0
    assert high_x > 4.0
    assert low_y < 10.0
    assert high_y > 99.0


@pytest.mark.parametrize(
    "at", [np.zeros((1, 2)), np.full((3, 3), 1e20), np.full((1, 3), -1e20), np.zeros((0, 2))]
)
def test_a_box_is_never_empty(at):
    assert all(low < high for low, high in scene(Points(name="p", at=at)).bounds)


def test_positions_at_the_ends_of_numbers():
    at = np.array([[-1.7e308, 0.0], [1.7e308, 1.0]])
    made = scene(Points(name="p", at=at, values=at[:, 0]))
    json.dumps([made.json(), made.frame(1).header], allow_nan=False)


def test_a_grid_fills_its_box():
    assert scene(GridLayer(name="g", values=np.zeros((4, 3)))).bounds == [[0.0, 4.0], [0.0, 3.0]]


@pytest.mark.parametrize(
    "bounds",
    [
        [],
        [(0, 1)],
        [(0, 1)] * 4,
        [(0, 1), (1, 1)],
        [(0, 1), (2, 1)],
        [(0, 1), (0, np.inf)],
        [0, 1],
        3,
        [(0, 1), ("a", "b")],
        [(0, 1), (0, np.nan)],
    ],
)
def test_bounds_that_are_none(bounds):
    with pytest.raises(ds.DsimError, match=r"(?s)`bounds` are 2 or 3 pairs.*help: bounds="):
        scene(Points(name="p", at=CLOUD), bounds=bounds)


def test_bounds_of_other_dimensions():
    with pytest.raises(ds.DsimError, match="`bounds` are of 3 dimensions, what is drawn is not"):
        scene(Points(name="p", at=CLOUD), bounds=[(0, 1)] * 3)


def test_layers_of_2_and_of_3_dimensions():
    with pytest.raises(ds.DsimError, match="these layers are of 2 and of 3 dimensions"):
        scene(Points(name="p", at=CLOUD), Points(name="q", at=np.zeros((2, 3))))


def test_no_layers():
    with pytest.raises(ds.DsimError, match="there is nothing to draw"):
        scene()


def test_bounds_around_a_single_point_are_a_guess():
    at = np.zeros((3, 2))
    made = scene(Points(name="p", at=at))
    made.frame(0)
    assert made.bounds[0] == made.bounds[1]
    at[:] = [[5.0, 1.0], [7.0, 1.5], [6.0, 2.0]]
    frame = made.frame(1)
    np.testing.assert_allclose(made.bounds, [[4.9, 7.1], [0.9, 2.1]])
    assert "note" not in frame.header


def test_bounds_grow_when_most_positions_have_left_them():
    at = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    made = scene(Points(name="p", at=at))
    before = made.bounds
    at[0] = [-9.0, 0.0]
    note = made.frame(0).header["note"]
    assert note == "1 of 3 points of p are outside of the picture, which `bounds=` makes larger"
    assert made.bounds is before
    at[1] = [3.0, 0.0]
    frame = made.frame(1)
    np.testing.assert_allclose(made.bounds, [[-9.6, 3.6], [-0.6, 1.6]])
    assert "note" not in frame.header
    places = unpacked(frame.header["layers"][0]["arrays"]["positions"], frame.data)
    np.testing.assert_allclose(places, at, atol=1e-3)


def test_bounds_that_are_given_stay():
    at = np.array([[0.0, 0.0], [1.0, 1.0]])
    made = scene(Points(name="p", at=at), bounds=[(0, 1), (0, 1)])
    at[0] = [9.0, 9.0]
    assert "note" not in made.frame(0).header
    at[1] = [np.nan, 9.0]
    assert "1 of 1 points of p are outside of the picture" in made.frame(1).header["note"]
    assert made.bounds == [[0.0, 1.0], [0.0, 1.0]]


def test_positions_that_are_not_finite_are_counted():
    at = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    made = scene(Points(name="p", at=at), Lines(name="q", at=at))
    assert "note" not in made.frame(0).header
    at[0, 1] = np.inf
    assert made.frame(1).header["note"] == (
        "1 of 3 points of p are not finite, so not drawn · 1 of 3 corners of q are not finite, so not drawn"
    )
    at[:] = np.nan
    assert made.frame(2).header["note"].startswith("3 of 3 points of p are not finite, so not drawn")
    assert "note" not in scene(Points(name="p", at=at, gaps=True), bounds=[(0, 1)] * 2).frame(0).header
