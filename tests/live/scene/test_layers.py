"""What each kind of layer takes, the arrays of a frame, and what is refused."""

import base64

import numpy as np
import pytest

import dsim as ds
from dsim.live.scene.encoding import unpacked
from dsim.live.scene.layers import Arrows, GridLayer, ImageLayer, Lines, Mesh, Points
from dsim.live.scene.scene import Scene

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
BOX = [(0, 1), (0, 1)]


def arrays(*layers, bounds=None):
    """The numbers of each layer in a frame."""
    frame = Scene(layers, "title", bounds).frame(1)
    return [
        {name: unpacked(each, frame.data) for name, each in layer["arrays"].items()}
        for layer in frame.header["layers"]
    ]


def vectors(n=2, count=4, **options):
    return ds.Vector.field(n, ds.f64, shape=count, **options)


def indices(layer):
    found = layer.scene()["indices"]
    return np.frombuffer(base64.b64decode(found["data"]), "<u4").reshape(found["shape"])


# -- where positions come from


def test_fields_arrays_and_functions_are_positions():
    x = vectors(name="x")
    x.from_numpy(SQUARE)
    torch_like = ds.Vector.ndarray(2, ds.f32, shape=4)
    torch_like.from_numpy(SQUARE.astype(np.float32))
    for source in (x, torch_like, SQUARE, SQUARE.tolist(), lambda: SQUARE, lambda: x, SQUARE.astype(int)):
        (found,) = arrays(Points(name="p", at=source), bounds=BOX)
        assert found["positions"] == pytest.approx(SQUARE, abs=1e-4)


def test_a_function_is_asked_anew_for_each_frame():
    moving = SQUARE.copy()
    scene = Scene([Points(name="p", at=lambda: moving)], "title", BOX)
    scene.frame(1)
    moving[0] = 0.5
    frame = scene.frame(2)
    described = frame.header["layers"][0]["arrays"]["positions"]
    assert unpacked(described, frame.data)[0] == pytest.approx([0.5, 0.5], abs=1e-4)


def test_components_and_gradients_are_values():
    x, loss = vectors(needs_grad=True), ds.field(ds.f64, shape=(), needs_grad=True)
    x.from_numpy(SQUARE)

    @ds.kernel
    def squared():
        for i in x:
            loss[None] += x[i].dot(x[i])

    with ds.ad.Tape(loss):
        squared()
    first, grad = arrays(
        Points(name="p", at=x, values=x.get_scalar_field(1)),
        Arrows(name="g", at=x, vectors=x.grad, scale=1.0),
    )
    assert first["values"].tolist() == SQUARE[:, 1].tolist()
    assert grad["vectors"].tolist() == (2 * SQUARE).tolist()


def test_positions_of_several_axes_go_with_values_of_the_same():
    at = np.stack(np.meshgrid([0.0, 1.0, 2.0], [0.0, 1.0], indexing="ij"), axis=-1)
    (found,) = arrays(Points(name="p", at=at, values=np.arange(6.0).reshape(3, 2)))
    assert found["positions"].shape == (6, 2)
    assert found["values"] == pytest.approx(np.arange(6.0), abs=0.01)
    with pytest.raises(ds.DsimError, match=r"colour of 'p' has the shape \(2, 3\), not \(3, 2\)"):
        arrays(Points(name="p", at=at, values=np.zeros((2, 3))))


def test_points_that_are_nowhere_and_values_that_are_none():
    at = SQUARE.copy()
    at[1] = np.nan, 0.5
    (found,) = arrays(Points(name="p", at=at, values=np.array([0.0, np.inf, np.nan, 2.0])), bounds=BOX)
    assert np.isnan(found["positions"][1, 0])
    assert np.isnan(found["values"]).tolist() == [False, True, True, False]
    assert found["values"][[0, 3]].tolist() == [0.0, 2.0]


def test_masked_values_are_missing():
    values = np.ma.masked_greater(np.arange(4), 2)
    (found,) = arrays(Points(name="p", at=SQUARE, values=values))
    assert np.isnan(found["values"]).tolist() == [False, False, False, True]


def test_no_points_at_all():
    (found,) = arrays(Points(name="p", at=np.zeros((0, 3)), values=np.zeros(0)))
    assert (found["positions"].shape, found["values"].shape) == ((0, 3), (0,))


def test_limits_of_the_layer_are_those_of_every_frame():
    (found,) = arrays(Points(name="p", at=SQUARE, values=np.array([-1.0, 0.0, 5.0, 20.0]), limits=(0, 10)))
    assert found["values"] == pytest.approx([0.0, 0.0, 5.0, 10.0], abs=0.03)


# -- the other kinds


def test_an_image_has_a_colour_for_each_pixel():
    mixed = np.zeros((3, 2, 3))
    mixed[2, 0] = 1.0, 0.5, -1.0
    mixed[0, 1] = np.nan, 1.0, 2.0
    mixed[1, 1] = 0.5, 0.5, np.inf
    image = ImageLayer(name="i", pixels=lambda: mixed)
    (found,) = arrays(image)
    assert found["colors"].dtype == np.uint8
    assert found["colors"][2, 0].tolist() == [255, 128, 0]
    assert found["colors"][0, 1].tolist() == found["colors"][1, 1].tolist() == [128, 128, 128]
    assert Scene([image], "i", None).frame(0).header["note"] == "2 of 6 pixels of i are not finite"
    assert Scene([image], "i", None).bounds == [[0.0, 3.0], [0.0, 2.0]]
    same = ds.view(found["colors"], kind="image").scene.layers[0]
    assert "note" not in ds.view(found["colors"], kind="image").scene.frame(0).header
    assert arrays(same)[0]["colors"].tolist() == found["colors"].tolist()
    white = ds.Vector.field(3, ds.f32, shape=(4, 2))
    white.fill(1.0)
    assert (arrays(ds.view(white, kind="image").scene.layers[0])[0]["colors"] == 255).all()


@pytest.mark.parametrize("pixels", [np.zeros((3, 2)), np.zeros((3, 2, 4)), np.zeros((3, 2, 3), np.int32)])
def test_what_is_no_image(pixels):
    with pytest.raises(ds.DsimError, match=r"(?s)the image 'i' takes red, green and blue.*help:.*uint8"):
        arrays(ImageLayer(name="i", pixels=pixels))


def test_a_grid_has_its_first_axis_first():
    (found,) = arrays(GridLayer(name="g", values=np.arange(6).reshape(3, 2)))
    assert found["values"].shape == (3, 2)
    assert found["values"].tolist() == pytest.approx(np.arange(6).reshape(3, 2), abs=0.02)
    assert Scene([GridLayer(name="g", values=np.zeros((3, 2)))], "g", None).bounds == [[0.0, 3.0], [0.0, 2.0]]


def test_a_function_for_a_grid_is_asked_once_a_frame():
    asked = []
    scene = Scene([GridLayer(name="g", values=lambda: asked.append(1) or np.eye(3))], "g", None)
    asked.clear()
    scene.frame(1)
    assert asked == [1]


def test_arrows_are_scaled_to_a_tenth_of_the_picture_or_as_told():
    wind = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 1.0], [np.nan, 1.0]])
    (found,) = arrays(Arrows(name="w", at=SQUARE, vectors=wind), bounds=[(0, 2), (0, 1)])
    assert np.linalg.norm(found["vectors"][0]) == pytest.approx(0.2)
    (found,) = arrays(Arrows(name="w", at=SQUARE, vectors=wind, scale=2.0))
    assert found["vectors"][:3].tolist() == (2 * wind[:3]).tolist()
    (found,) = arrays(Arrows(name="w", at=SQUARE, vectors=np.zeros((4, 2))))
    assert not found["vectors"].any()


def test_arrows_too_long_for_32_bits_give_no_warning():
    (found,) = arrays(Arrows(name="w", at=SQUARE, vectors=np.full((4, 2), 1e308), scale=10.0))
    assert np.isinf(found["vectors"]).all()


def test_lines_join_neighbours_along_the_last_axis():
    assert indices(Lines(name="l", at=SQUARE)).tolist() == [[0, 1], [1, 2], [2, 3]]
    two = np.zeros((2, 3, 2))
    assert indices(Lines(name="l", at=two)).tolist() == [[0, 1], [1, 2], [3, 4], [4, 5]]
    assert indices(Lines(name="l", at=np.zeros((1, 2)))).shape == (0, 2)
    assert indices(Lines(name="l", at=np.zeros((0, 2)))).shape == (0, 2)


def test_corners_are_pairs_and_triples_in_rows_or_one_after_the_other():
    assert indices(Lines(name="l", at=SQUARE, indices=[[0, 2], [1, 3]])).tolist() == [[0, 2], [1, 3]]
    assert indices(Mesh(name="m", at=SQUARE, indices=[0, 1, 2, 0, 2, 3])).tolist() == [[0, 1, 2], [0, 2, 3]]
    triangles = ds.Vector.field(3, ds.i32, shape=2)
    triangles.from_numpy(np.array([[0, 1, 2], [0, 2, 3]]))
    assert indices(Mesh(name="m", at=SQUARE, indices=triangles)).tolist() == [[0, 1, 2], [0, 2, 3]]


# -- what is refused


LIMITS = "`limits` are a lower and a higher number"


def drawn(layer):
    scene = Scene([layer], "title", None)
    scene.json()
    scene.frame(1)


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (lambda: Points(name="p", at=np.zeros(4)), r"'p' takes vectors of 2 or 3 numbers, not .* \(4,\)"),
        (lambda: Points(name="p", at=np.zeros((4, 4))), r"'p' takes vectors of 2 or 3 numbers"),
        (lambda: Points(name="p", at=np.zeros((4, 2), complex)), r"'p' takes real numbers, not complex128"),
        (lambda: Points(name="p", at=None), r"'p' takes real numbers, not object"),
        (lambda: Points(name="p", at=[[1, 2], [3]]), r"'p' takes a field or an array, not"),
        (lambda: Points(name="p", at=SQUARE, values=[1.0, 2.0]), r"colour of 'p' has the shape \(2,\), not"),
        (lambda: Points(name="p", at=SQUARE, color="no"), "there is no colour 'no'"),
        (lambda: Points(name="p", at=SQUARE, size=0), "`size` is a number of pixels, not 0"),
        (lambda: Points(name="p", at=SQUARE, size=np.inf), "`size` is a number of pixels, not inf"),
        (lambda: Points(name="p", at=SQUARE, size="big"), "`size` is a number of pixels, not 'big'"),
        (lambda: Points(name="p", at=SQUARE, limits=(1, 0)), LIMITS),
        (
            lambda: Points(name="p", at=SQUARE, limits=(0, np.nan)),
            LIMITS,
        ),
        (lambda: Points(name="p", at=SQUARE, limits=3), LIMITS),
        (
            lambda: Points(name="p", at=SQUARE, values=SQUARE[:, 0], colormap="virids"),
            "did you mean 'viridis",
        ),
        (
            lambda: GridLayer(name="g", values=np.zeros(3)),
            r"'g' takes an array with two axes, not one",
        ),
        (lambda: Arrows(name="a", at=SQUARE, vectors=SQUARE[:2]), "'a' has 2 arrows for 4 positions"),
        (lambda: Arrows(name="a", at=SQUARE, vectors=np.zeros((4, 3))), "'a' takes vectors of 2 numbers"),
        (lambda: Mesh(name="m", at=SQUARE), "the mesh 'm' needs the corners"),
        (lambda: Mesh(name="m", at=SQUARE, indices=[[0, 1]]), "corners of 'm' are 3 whole numbers each"),
        (lambda: Mesh(name="m", at=SQUARE, indices=[0, 1]), "corners of 'm' are 3 whole numbers each"),
        (
            lambda: Mesh(name="m", at=SQUARE, indices=[[0.0, 1.0, 2.0]]),
            "3 whole numbers each, not",
        ),
        (
            lambda: Mesh(name="m", at=SQUARE, indices=[[0, 1, 4]]),
            "corners of 'm' name the position 4",
        ),
        (lambda: Lines(name="l", at=SQUARE, indices=[[0, -1]]), "corners of 'l' name the position -1"),
    ],
)
def test_what_is_refused(layer, message):
    with pytest.raises(ds.DsimError, match=message) as refused:
        drawn(layer())
    assert str(refused.value).count("help:") == 1


def test_positions_that_lines_join_stay():
    at = SQUARE
    scene = Scene([Lines(name="l", at=lambda: at)], "l", BOX)
    scene.json()
    at = SQUARE[:2]
    with pytest.raises(ds.DsimError, match="'l' joins 4 positions, and has only 2 now"):
        scene.frame(1)
