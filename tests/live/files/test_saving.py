"""Views in files."""

import shutil
import subprocess
import sys

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

import dsim as ds
from dsim.runtime.state.notices import DsimWarning


@pytest.fixture
def view():
    at = np.zeros((1, 2))
    made = ds.view(lambda: at, bounds=[(0, 1), (0, 1)], color="#ff00ff", size=60)
    for step in range(3):
        at[0] = step / 2, 0.5
        made.record()
    at[0] = 0.5, 1.0
    return made


def middle(picture):
    """Where the magenta is, as a fraction of the width and of the height from above."""
    pixels = np.asarray(picture.convert("RGB")).astype(int)
    rows, columns = np.nonzero((pixels[..., 0] > 200) & (pixels[..., 1] < 60) & (pixels[..., 2] > 200))
    return columns.mean() / pixels.shape[1], rows.mean() / pixels.shape[0]


def test_a_picture_has_the_present_numbers(view, tmp_path):
    view.save(tmp_path / "now.PNG")
    with Image.open(tmp_path / "now.PNG") as picture:
        assert (picture.format, picture.size) == ("PNG", (640, 480))
        across, down = middle(picture)
    assert across == pytest.approx(0.5, abs=0.1)
    assert down < 0.2


@pytest.mark.slow
def test_a_gif_has_the_frames(view, tmp_path):
    view.save(str(tmp_path / "run.gif"), rate=10)
    with Image.open(tmp_path / "run.gif") as gif:
        assert (gif.n_frames, gif.info["duration"], gif.info["loop"]) == (3, 100, 0)
        found = []
        for number in range(3):
            gif.seek(number)
            found.append(middle(gif)[0])
    assert found[0] < found[1] < found[2]
    assert found[1] == pytest.approx(0.5, abs=0.05)
    assert [path.name for path in tmp_path.iterdir()] == ["run.gif"]


@pytest.mark.slow
def test_an_mp4_has_the_frames(view, tmp_path):
    view.save(tmp_path / "run.mp4", rate=5)
    ffmpeg = shutil.which("ffmpeg") or imageio_ffmpeg.get_ffmpeg_exe()
    command = [ffmpeg, "-i", tmp_path / "run.mp4", tmp_path / "%d.png"]
    subprocess.run(command, check=True, capture_output=True)
    assert len([*tmp_path.glob("*.png")]) == 3
    with Image.open(tmp_path / "3.png") as last:
        assert last.size == (640, 480)


def test_without_ffmpeg_there_is_a_gif(view, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ds.DsimError, match=r"(?s)ffmpeg, which is not installed.*dsim\[video\].*\.gif"):
        view.save(tmp_path / "run.mp4")
    assert [*tmp_path.iterdir()] == []


def test_a_video_needs_a_recording(tmp_path):
    with pytest.raises(ds.DsimError, match=r"(?s)no recording for a video.*help: `record\(\)`"):
        ds.view(np.zeros((2, 2))).save(tmp_path / "run.gif")


@pytest.mark.parametrize("name", ["run.gif", "run.html", "now.png"])
@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), "fast", None])
def test_a_rate_that_is_none(view, tmp_path, rate, name):
    with pytest.raises(ds.DsimError, match="`rate` is a number of frames per second"):
        view.save(tmp_path / name, rate=rate)


@pytest.mark.parametrize("name", ["run.gif", "run.html", "now.png"])
def test_a_folder_that_is_not_there(view, tmp_path, name):
    with pytest.raises(ds.DsimError, match=r"(?s)there is no folder '.*pictures'.*help: .*mkdir\(\)"):
        view.save(tmp_path / "pictures" / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["run.avi", "run", ".png"])
def test_names_of_other_kinds(view, tmp_path, name):
    with pytest.raises(ds.DsimError, match=r"a view is saved as \.png, \.gif, \.mp4, \.html"):
        view.save(tmp_path / name)


def test_a_warning_names_the_line_that_saves(tmp_path):
    random = np.random.default_rng(0)
    at = random.random((100, 2))
    made = ds.view(at)
    for _ in range(4):
        at[...] = random.random((100, 2))
        made.record()
    with pytest.warns(DsimWarning, match="the page has 2 of 4 frames") as heard:
        made.save(tmp_path / "run.html", budget=2000)
    assert heard[0].filename == __file__


@pytest.mark.slow
@pytest.mark.parametrize(("step", "written"), [(np.int64(7), 7), (np.float32(0.5), 0.5), (2**70, 2**70)])
def test_a_step_may_be_any_number(view, tmp_path, step, written):
    view.record(step=step, text="last")
    assert list(view.recording)[-1].header["step"] == written
    for name in ("run.html", "run.gif"):
        view.save(tmp_path / name)
