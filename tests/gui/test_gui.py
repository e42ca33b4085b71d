"""`ds.GUI` draws as Taichi's GUI, into arrays."""

import subprocess
import sys

import numpy as np
import pytest

import dsim
from dsim.gui import GUI, hex_to_rgb, rgb_to_hex
from dsim.gui import screen as screens
from tests.refused import refused


def at(gui, x, y):
    """The colour 0xRRGGBB of the pixel at (x, y) of the unit square in what is drawn so far."""
    image = gui.get_image()
    width, height = gui.res
    return rgb_to_hex(image[min(int(x * width), width - 1), min(int(y * height), height - 1), :3] + 1e-4)


def test_a_frame_begins_with_the_background():
    gui = GUI("plain", res=(40, 20), background_color=0x112F41)
    gui.show()
    assert gui.frames[0].shape == (20, 40, 3)
    assert (gui.frames[0] == [0x11, 0x2F, 0x41]).all()


def test_a_circle_covers_its_pixels_and_no_others():
    gui = GUI(res=100)
    gui.circle([0.25, 0.75], color=0xED553B, radius=10)
    assert at(gui, 0.25, 0.75) == 0xED553B
    assert at(gui, 0.33, 0.75) == 0xED553B  # eight pixels to the right
    assert at(gui, 0.37, 0.75) == 0x000000  # twelve
    covered = (gui.get_image()[:, :, 0] > 0.4).sum()
    assert covered == pytest.approx(np.pi * 100, rel=0.05)


def test_circles_take_a_radius_and_a_colour_each():
    gui = GUI(res=100)
    gui.circles(np.array([[0.2, 0.5], [0.8, 0.5]]), radius=[4, 12], color=[0xFF0000, 0x00FF00])
    assert at(gui, 0.2, 0.5) == 0xFF0000
    assert at(gui, 0.2, 0.58) == 0x000000
    assert at(gui, 0.8, 0.58) == 0x00FF00


def test_circles_choose_from_a_palette():
    gui = GUI(res=100)
    gui.circles([[0.2, 0.5], [0.8, 0.5]], radius=5, palette=[0x0000FF, 0xFFFF00], palette_indices=[1, 0])
    assert (at(gui, 0.2, 0.5), at(gui, 0.8, 0.5)) == (0xFFFF00, 0x0000FF)
    with pytest.raises(ValueError, match="palette_indices"):
        gui.circles([[0.2, 0.5]], palette=[0x0000FF])


def test_lines_triangles_and_rectangles():
    gui = GUI(res=100)
    gui.line([0.1, 0.1], [0.9, 0.1], radius=2, color=0x00FFFF)
    assert (at(gui, 0.5, 0.1), at(gui, 0.5, 0.2)) == (0x00FFFF, 0x000000)
    gui.triangle([0.2, 0.3], [0.8, 0.3], [0.5, 0.9], color=0x068587)
    assert (at(gui, 0.5, 0.5), at(gui, 0.2, 0.8)) == (0x068587, 0x000000)
    gui.rect([0.05, 0.95], [0.95, 0.05], radius=1, color=0xFFFFFF)
    assert (at(gui, 0.5, 0.95), at(gui, 0.95, 0.5)) == (0xFFFFFF, 0xFFFFFF)


def test_no_background_is_seen_between_triangles_that_share_an_edge():
    gui = GUI(res=100)
    around = 2 * np.pi * np.arange(37) / 36
    rim = 0.5 + 0.4 * np.stack([np.cos(around), np.sin(around)], axis=-1)
    gui.triangles(np.full((36, 2), 0.5), rim[:-1], rim[1:], color=0xFFFFFF)
    place = (np.arange(100) + 0.5) / 100 - 0.5
    inside = np.hypot(place[:, None], place) < 0.37
    assert gui.get_image()[inside].min() > 0.94  # without care: 0.64


def test_an_arrow_has_a_shaft_and_a_head():
    gui = GUI(res=100)
    gui.arrow([0.1, 0.5], [0.8, 0.0], radius=1.5)
    assert at(gui, 0.5, 0.5) == 0xFFFFFF
    assert (gui.get_image()[78:88, :, 0] > 0.5).sum() > (gui.get_image()[48:58, :, 0] > 0.5).sum()


def test_text_starts_at_its_upper_left_corner():
    gui = GUI(res=100)
    gui.text("$M$", [0.5, 0.5], font_size=30)
    lit = np.argwhere(gui.get_image()[:, :, 0] > 0.5)
    assert lit[:, 0].min() >= 48
    assert lit[:, 1].max() <= 52


def test_later_shapes_lie_over_earlier_ones():
    gui = GUI(res=60)
    gui.line([0.0, 0.5], [1.0, 0.5], radius=5, color=0x111111)
    gui.circle([0.5, 0.5], color=0x222222, radius=10)
    assert at(gui, 0.5, 0.5) == 0x222222
    gui.line([0.0, 0.5], [1.0, 0.5], radius=5, color=0x333333)
    assert at(gui, 0.5, 0.5) == 0x333333


def test_an_image_is_indexed_right_and_up():
    gui = GUI(res=(30, 20))
    image = np.zeros((30, 20, 3), np.float32)
    image[25, 2] = [1.0, 0.0, 0.0]
    gui.set_image(image)
    np.testing.assert_array_equal(gui.get_image()[:, :, :3], image)
    gui.show()
    assert gui.frames[0][20 - 1 - 2, 25].tolist() == [255, 0, 0]


def test_grey_images_and_bytes():
    gui = GUI(res=8)
    gui.set_image(np.full((8, 8), 0.5))
    assert at(gui, 0.5, 0.5) == 0x7F7F7F
    gui.set_image(np.full((8, 8, 4), 200, np.uint8))
    assert at(gui, 0.5, 0.5) == 0xC8C8C8
    with pytest.raises(ValueError, match=r"\(8, 9\) does not fit"):
        gui.set_image(np.zeros((8, 9)))


def test_nobody_is_at_the_window():
    gui = GUI(res=8)
    assert not gui.get_event(GUI.PRESS, GUI.ESCAPE)
    assert list(gui.get_events()) == []
    assert gui.event is None
    assert not gui.is_pressed(GUI.LEFT, "a")
    assert gui.get_cursor_pos() == (0.0, 0.0)


def test_wrong_shapes_are_refused():
    gui = GUI(res=8)
    with pytest.raises(ValueError, match=r"\(n, 2\)"):
        gui.circles([1.0])
    with pytest.raises(ValueError, match="3 colours for 2 shapes"):
        gui.circles([[0.1, 0.1], [0.2, 0.2]], color=[1, 2, 3])
    with pytest.raises(ValueError, match="3 radii for 2 shapes"):
        gui.circles([[0.1, 0.1], [0.2, 0.2]], radius=[1, 2, 3])
    with pytest.raises(ValueError, match=r"\(n, 2\), not \(1, 4\)"):
        gui.circles(np.zeros(4))
    with pytest.raises(ValueError, match="a number such as 0xED553B, not 'red'"):
        gui.circles(np.zeros((2, 2)), color="red")
    for index in (-1, 2):
        with pytest.raises(ValueError, match="palette_indices go from 0 to 1"):
            gui.circles(np.zeros((2, 2)), palette=[0xFF, 0xFF00], palette_indices=[0, index])
    with pytest.raises(ValueError, match="0xFFFFFF"):
        gui.circle([0.5, 0.5], color=0x1000000)


def test_colours_there_and_back():
    assert hex_to_rgb(0x3366CC).tolist() == pytest.approx([0.2, 0.4, 0.8])
    assert rgb_to_hex((0.2, 0.4, 0.8)) == 0x3366CC
    channels = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0.0, 0.0])
    for several in (channels, list(channels)):
        assert rgb_to_hex(several).tolist() == [0xFF0000, 0xFF00]


@pytest.mark.slow
def test_matplotlib_is_imported_only_for_drawing():
    asked = "print('matplotlib' in sys.modules)"
    program = f"import sys, dsim; {asked}; dsim.GUI; {asked}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\nTrue\n"
    assert {"GUI", "kernel"} <= set(dir(dsim))


# ------------------------------------------------------------------ values on a grid


def test_heads_of_arrows():
    """The ends of the two lines of a head, of the length and the angle that are asked for."""
    gui = GUI(res=200)
    gui.arrow([0.5, 0.1], [0.0, 0.8], radius=2, tip_scale=0.5, angle=90)
    assert (at(gui, 0.7, 0.9), at(gui, 0.3, 0.9)) == (0xFFFFFF, 0xFFFFFF)
    assert at(gui, 0.6, 0.8) == 0x000000
    gui.clear()
    gui.arrow([0.5, 0.1], [0.0, 0.8], radius=2)
    tip = 0.2 * 0.8 / np.sqrt(2)
    assert (at(gui, 0.49 + tip, 0.91 - tip), at(gui, 0.51 - tip, 0.91 - tip)) == (0xFFFFFF, 0xFFFFFF)


def test_a_field_of_points():
    gui = GUI(res=100)
    radius = np.zeros((4, 2))
    radius[3, 0], radius[0, 1] = 5, 8
    gui.point_field(radius, color=0xFF00FF)
    assert at(gui, 0.875, 0.25) == at(gui, 0.125, 0.75) == 0xFF00FF
    assert at(gui, 0.125, 0.25) == at(gui, 0.875, 0.75) == 0x000000
    with pytest.raises(ValueError, match=r"two axes, not the shape \(3,\)"):
        gui.point_field(np.ones(3))


def test_a_field_of_arrows():
    gui = GUI(res=100)
    along = np.zeros((2, 2, 2))
    along[1, 0] = [0.0, 0.3]
    gui.arrow_field(along, radius=2, color=0x00FF00, tip_scale=0.1)
    assert at(gui, 0.75, 0.45) == 0x00FF00
    assert at(gui, 0.25, 0.45) == 0x000000
    with pytest.raises(ValueError, match=r"\(columns, rows, 2\), not \(2, 2, 3\)"):
        gui.arrow_field(np.ones((2, 2, 3)))


@pytest.mark.slow
def test_the_longest_vector_of_a_field_takes_a_tenth():
    gui = GUI(res=200)
    v = dsim.Vector.field(2, dsim.f32, shape=(20, 10))
    v[10, 5] = [70.0, 0.0]
    v[0, 5] = [35.0, 0.0]
    v[3, 3] = [9.0, 9.0]  # between the arrows
    gui.vector_field(v, arrow_spacing=5, color=0x00FF00)
    green = [round(i / 200, 3) for i in range(200) if gui.get_image()[i, 100, 1] > 0.9]
    assert min(green) == 0.0
    assert max(x for x in green if x < 0.4) == pytest.approx(0.05, abs=0.01)
    assert min(x for x in green if x > 0.4) == pytest.approx(0.5, abs=0.01)
    assert max(green) == pytest.approx(0.6, abs=0.01)
    gui.vector_field(np.zeros((4, 4, 2)))  # nothing has a length


def test_a_contour_plot():
    gui = GUI(res=(40, 20))
    values = dsim.field(dsim.f32, shape=(40, 20))
    values.from_numpy(np.linspace(0, 4, 40, dtype=np.float32)[:, None].repeat(20, 1))
    gui.contour(values)
    assert at(gui, 0.01, 0.5) == 0x0C0786  # the dark end of the colours
    assert at(gui, 0.5, 0.5) == at(gui, 0.99, 0.5) == 0xEFF821  # whatever is over 1
    gui.contour(values, normalize=True)
    assert at(gui, 0.99, 0.5) == 0xEFF821
    assert at(gui, 0.5, 0.5) not in (0x0C0786, 0xEFF821)
    gui.contour(np.full((40, 20), 7.0), normalize=True)
    assert at(gui, 0.5, 0.5) == 0x0C0786


def test_a_contour_plot_is_interpolated():
    gui, same = GUI(res=(31, 21)), GUI(res=(31, 21))
    coarse = np.array([[0.0, 0.5], [0.25, 0.75]])
    x, y = np.meshgrid(np.linspace(0, 1, 31), np.linspace(0, 1, 21), indexing="ij")
    gui.contour(coarse)
    same.contour(0.25 * x + 0.5 * y)
    np.testing.assert_allclose(gui.get_image(), same.get_image(), atol=2 / 255)
    with pytest.raises(ValueError, match=r"two axes, not the shape \(2, 2, 2\)"):
        gui.contour(np.zeros((2, 2, 2)))


@pytest.mark.parametrize(
    ("img", "color"),
    [
        (np.full((8, 8), 0x80, np.uint8), 0x808080),
        (np.full((8, 8), 0x80FF, np.uint16), 0x808080),
        (np.full((8, 8, 1), 0x80FFFFFF, np.uint32), 0x808080),
        (np.full((8, 8, 2), [1.0, 0.0]), 0xFF0000),
        (np.full((8, 8, 2), [0, 65535], np.uint16), 0x00FF00),
        (np.full((8, 8, 3), [0.0, 2.0, -1.0], np.float32), 0x00FF00),
        (np.full((8, 8, 4), [0.0, 0.0, 1.0, 0.0], np.float16), 0x0000FF),
        (np.full((8, 8), np.nan), 0x000000),
    ],
)
def test_images_of_every_kind(img, color):
    gui = GUI(res=8)
    gui.set_image(img)
    assert at(gui, 0.5, 0.5) == color


def test_images_in_fields():
    gui = GUI(res=8)
    x = dsim.field(dsim.u16, shape=(8, 8, 2))
    x.fill(0xFFFF)
    gui.set_image(x)
    assert at(gui, 0.5, 0.5) == 0xFFFF00
    v = dsim.Vector.field(3, dsim.f64, shape=(8, 8))
    v.fill(1.0)
    gui.set_image(v)
    assert at(gui, 0.5, 0.5) == 0xFFFFFF
    with pytest.raises(TypeError, match="floats or unsigned integers, not int32"):
        gui.set_image(np.zeros((8, 8), np.int32))


# ------------------------------------------------------------------ events and controls


def test_keys_that_are_held_down():
    gui = GUI(res=8, frames=1)
    assert not gui.has_key_event()
    gui.show()
    assert gui.has_key_event()
    assert not gui.is_pressed(GUI.ESCAPE)
    assert gui.get_key_event() == GUI.Event(GUI.PRESS, GUI.ESCAPE)
    assert gui.is_pressed("a", GUI.ESCAPE)
    gui.key_pressed = {"Shift_L"}
    assert gui.is_pressed(GUI.SHIFT)
    assert not gui.is_pressed(GUI.CTRL)


def test_whoever_waits_for_a_key_gets_escape():
    assert GUI(res=8).get_key_event().key == GUI.ESCAPE


def test_controls_without_a_screen():
    gui = GUI(res=8, frames=2)
    radius, x = gui.slider("Radius", 1, 50, step=1), gui.label("x")
    assert (radius.value, x.value, gui.button("OK"), gui.button("OK", "ok")) == (
        1,
        0,
        "WidgetButton_OK",
        "ok",
    )
    radius.value += 2.5
    x.value = -0.05
    assert (radius.value, x.value) == (3.5, -0.05)
    assert not gui.has_key_event()


def test_controls_in_a_notebook(monkeypatch):
    shown = []
    monkeypatch.setattr(screens, "display", shown.append)
    monkeypatch.setattr(screens, "current", screens.NotebookScreen)
    gui = GUI(res=8)
    radius, x, ok = gui.slider("Radius", 1, 50, step=0.5), gui.label("x"), gui.button("OK")
    assert [type(w).__name__ for w in shown] == ["FloatSlider", "FloatText", "Button"]
    assert (shown[0].min, shown[0].max, shown[0].step, radius.value) == (1.0, 50.0, 0.5, 1.0)
    shown[0].value = 7.0
    x.value = 3.0
    assert (radius.value, shown[1].value, shown[1].disabled) == (7.0, 3.0, True)
    shown[2].click()
    assert [event.key for event in gui.get_events(GUI.PRESS)] == [ok]


def test_there_is_no_window_of_taichis():
    with pytest.raises(AttributeError, match=r"draw with the methods of `GUI`"):
        _ = GUI(res=8).core
    with pytest.raises(AttributeError, match=r"'GUI' object has no attribute 'circl'$"):
        _ = GUI(res=8).circl


@pytest.mark.parametrize("res", [-1, 0, (640, -2), "640", (1, 2, 3), float("nan"), None])
def test_a_window_without_pixels_is_refused(res):
    refused(lambda: GUI(res=res), "`res` is a width and a height in pixels", __file__)


@pytest.mark.parametrize("name", ["a.xyz", "a"])
def test_a_format_that_no_picture_has_is_refused(tmp_path, name):
    gui = GUI(res=8)
    refused(lambda: gui.show(tmp_path / name), f"no format of pictures has names such as '{name}'", __file__)
    refused(lambda: dsim.tools.imwrite(np.zeros((2, 2)), tmp_path / name), "no format of pictures", __file__)
    assert gui.frame == 0
    assert not list(tmp_path.iterdir())


def test_a_number_of_frames_that_is_none_is_refused(monkeypatch):
    monkeypatch.setenv("DSIM_GUI_FRAMES", "many")
    refused(lambda: GUI(res=8), "DSIM_GUI_FRAMES is a number of frames, not 'many'", __file__)


DRAWN = {
    "colours": (lambda g: g.circles([[0, 0]] * 2, color=[0, 1, 2]), "3 colours for 2 shapes"),
    "a colour": (lambda g: g.circle([0, 0], color="red"), "a number such as 0xED553B, not 'red'"),
    "too bright": (lambda g: g.circle([0, 0], color=0x1000000), "from 0x000000 to 0xFFFFFF"),
    "a palette": (lambda g: g.circles([[0, 0]], palette=[0]), "a palette needs palette_indices"),
    "an index": (lambda g: g.circles([[0, 0]], palette=[0], palette_indices=[1]), "go from 0 to 0"),
    "radii": (lambda g: g.circles([[0, 0]], radius=[1, 2]), "2 radii for 1 shapes"),
    "positions": (lambda g: g.circles([1.0]), "positions have the shape"),
    "ends": (lambda g: g.lines([[0, 0]], [[0, 0], [1, 1]]), "begin at 1 places and end at 2"),
    "an image": (lambda g: g.set_image(np.zeros((2, 3))), "does not fit a picture of"),
    "contours": (lambda g: g.contour(np.zeros(3)), "a contour plot has two axes"),
    "no film": (lambda g: g.film(), "there are no frames for a film"),
    "no channels": (lambda g: dsim.tools.imwrite(np.zeros(3), "a.png"), "an image has two axes"),
    "no pixels": (lambda g: dsim.tools.imresize(np.zeros((2, 2)), 0), "at least one pixel"),
}


@pytest.mark.parametrize("what", DRAWN)
def test_what_cannot_be_drawn_quotes_the_line(what):
    act, message = DRAWN[what]
    gui = GUI(res=8)
    refused(lambda: act(gui), message, __file__)
