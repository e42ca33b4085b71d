"""Images in files: orientation, values, and errors."""

import numpy as np
import pytest
from PIL import Image

import dsim as ti
from dsim.gui import images


def test_the_first_axis_goes_right_and_the_second_up(tmp_path):
    img = np.zeros((4, 3, 3), np.uint8)
    img[3, 0] = [255, 0, 0]  # right, at the bottom
    img[0, 2] = [0, 0, 255]  # left, at the top
    ti.tools.imwrite(img, tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as found:
        assert found.size == (4, 3)
        assert found.getpixel((3, 2)) == (255, 0, 0)
        assert found.getpixel((0, 0)) == (0, 0, 255)
    np.testing.assert_array_equal(ti.tools.imread(str(tmp_path / "a.png")), img)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_what_is_written_is_read(tmp_path, channels):
    img = np.random.default_rng(1).integers(0, 256, (5, 7, channels), dtype=np.uint8)
    ti.tools.imwrite(img, tmp_path / "a.png")
    np.testing.assert_array_equal(ti.tools.imread(tmp_path / "a.png"), img)
    assert ti.tools.imread(tmp_path / "a.png", channels=1).shape == (5, 7, 1)


def test_fields_floats_and_wide_integers(tmp_path):
    x = ti.Vector.field(3, ti.f32, shape=(2, 2))
    x[0, 0], x[1, 1] = [0.5, 2.0, -1.0], [float("nan"), 1.0, 0.0]
    ti.tools.imwrite(x, tmp_path / "a.png")
    assert ti.tools.imread(tmp_path / "a.png")[[0, 1], [0, 1]].tolist() == [[128, 255, 0], [0, 255, 0]]
    ti.tools.imwrite(np.array([[0, 0xABCD]], np.uint16), tmp_path / "b.png")
    assert ti.tools.imread(tmp_path / "b.png")[0, :, 0].tolist() == [0, 0xAB]
    ti.tools.imwrite(np.ones((2, 2, 2)), tmp_path / "c.png")
    assert ti.tools.imread(tmp_path / "c.png")[0, 0].tolist() == [255, 255, 0]


def test_another_size():
    x = ti.field(ti.i32, shape=(2, 2))
    x.from_numpy(np.array([[1, 2], [3, 4]]))
    assert ti.tools.imresize(x, 2).tolist() == [[1, 2], [3, 4]]
    assert ti.tools.imresize(np.arange(24).reshape(4, 3, 2), 2, 1).tolist() == [[[0, 1]], [[12, 13]]]


def test_what_is_no_image(tmp_path):
    with pytest.raises(ValueError, match=r"this has shape \(4,\)"):
        ti.tools.imwrite(np.zeros(4), tmp_path / "a.png")
    with pytest.raises(TypeError, match="floats or unsigned integers, not int64"):
        ti.tools.imwrite(np.zeros((2, 2), np.int64), tmp_path / "a.png")
    with pytest.raises(ValueError, match="1, 3 or 4 channels, not 2"):
        ti.tools.imread("a.png", channels=2)
    with pytest.raises(ValueError, match="at least one pixel"):
        ti.tools.imresize(np.zeros((2, 2)), 0)
    with pytest.raises(AttributeError, match="has no attribute 'imsave'"):
        _ = ti.tools.imsave


def test_a_notebook_shows_it_below_the_cell(monkeypatch):
    shown = []
    monkeypatch.setattr(images, "in_notebook", lambda: True)
    monkeypatch.setattr(images, "display", shown.append)
    ti.tools.imshow(np.ones((3, 2)), "white")
    assert [(p.size, p.getpixel((0, 0))) for p in shown] == [((3, 2), 255)]


def test_tools_that_are_out_of_scope_say_so():
    with pytest.raises(AttributeError, match=r"such as meshio"):
        _ = ti.tools.write_vtk
