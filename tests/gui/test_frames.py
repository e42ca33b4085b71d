"""Frames of a `ds.GUI`: their number, the frames kept, and films."""

import numpy as np
import PIL.Image
import pytest
from matplotlib import image as pictures

from dsim.gui import GUI, window


def test_a_show_starts_a_new_frame():
    gui = GUI(res=16, frames=3)
    gui.circle([0.5, 0.5], radius=4)
    gui.show()
    assert gui.frame == 1
    assert gui.get_image()[:, :, :3].max() == 0


@pytest.mark.parametrize(("setting", "frames"), [(None, 50), ("7", 7)])
def test_running_ends_after_some_frames(monkeypatch, setting, frames):
    monkeypatch.delenv("DSIM_GUI_FRAMES", raising=False)
    if setting is not None:
        monkeypatch.setenv("DSIM_GUI_FRAMES", setting)
    gui = GUI(res=8)
    while gui.running:
        gui.show()
    assert gui.frame == len(gui.frames) == frames


def test_a_program_can_end_its_own_loop():
    gui = GUI(res=8)
    gui.running = False
    assert not gui.running
    with GUI(res=8) as other:
        assert other.running
    assert not other.running


@pytest.mark.parametrize("wanted", [(), (GUI.ESCAPE,), (GUI.PRESS,), ((GUI.PRESS, GUI.ESCAPE),)], ids=str)
def test_escape_is_pressed_after_the_last_frame(wanted):
    gui = GUI(res=8, frames=2)
    while not gui.get_event(*wanted):
        gui.show()
    assert gui.frame == 2
    assert (gui.event.type, gui.event.key) == (GUI.PRESS, GUI.ESCAPE)
    assert not gui.get_event()


def test_escape_waits_for_the_one_who_asks_for_it():
    gui = GUI(res=8, frames=1)
    gui.show()
    assert not gui.get_event((GUI.PRESS, "r"), GUI.RELEASE)
    assert [event.key for event in gui.get_events(GUI.PRESS)] == [GUI.ESCAPE]


def test_show_saves_a_picture(tmp_path):
    gui = GUI(res=(24, 12), background_color=0x123456)
    gui.show(tmp_path / "frame.png")
    saved = np.round(pictures.imread(tmp_path / "frame.png")[:, :, :3] * 255).astype(np.uint8)
    np.testing.assert_array_equal(saved, gui.frames[0])


def test_a_film_has_all_frames(tmp_path):
    gui = GUI(res=(40, 20), background_color=0x112F41, frames=4)
    while gui.running:
        gui.circle([0.2 + 0.2 * gui.frame, 0.5], color=0xED553B, radius=3)
        gui.show()
    gui.film(tmp_path / "dot.png", fps=25)
    with PIL.Image.open(tmp_path / "dot.png") as film:
        assert (film.n_frames, film.size, film.info["loop"]) == (4, (40, 20), 0)
        for k, frame in enumerate(gui.frames):
            film.seek(k)
            assert film.info["duration"] == 40
            shown = np.asarray(film.convert("RGB")).astype(int)
            assert np.abs(shown - frame).max() <= 8  # of 256, by the choice of colours
            assert tuple(shown[10, 8 + 8 * k]) == (0xED, 0x55, 0x3B)


def test_of_very_many_frames_the_newest_are_kept(monkeypatch):
    monkeypatch.setattr(window, "KEPT_BYTES", 3 * 8 * 8 * 3)
    gui = GUI(res=8)
    for k in range(3):
        gui.clear(k)
        gui.show()
    gui.clear(3)
    with pytest.warns(UserWarning, match="keeps its newest 3 frames"):
        gui.show()
    gui.clear(4)
    gui.show()  # said once
    assert gui.frame == 5
    assert [int(f[0, 0, 2]) for f in gui.frames] == [2, 3, 4]


def test_a_film_of_no_frames():
    with pytest.raises(ValueError, match="no frames for a film"):
        GUI(res=8).film()
