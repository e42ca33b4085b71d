"""Videos of frames: the files written, cropping, and a missing ffmpeg."""

import shutil
import subprocess
import sys
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

import dsim as ti


@pytest.fixture
def no_ffmpeg(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)


def frames(n, width=16, height=12):
    made = np.zeros((n, width, height, 3), np.uint8)
    for i in range(n):
        made[i, i] = [255, 0, 0]  # a column that goes right
    return made


def test_frames_become_a_gif(tmp_path):
    video = ti.tools.VideoManager(tmp_path / "out", framerate=10, automatic_build=False)
    video.write_frames(frames(5))
    video.make_video(mp4=False)
    with Image.open(video.get_output_filename(".gif")) as gif:
        assert (gif.size, gif.n_frames, gif.info["duration"]) == ((16, 12), 5, 100)
        gif.seek(3)
        shown = np.asarray(gif.convert("RGB"))
    assert shown[6, 3].tolist() == [254, 0, 0] or shown[6, 3].tolist() == [255, 0, 0]
    assert shown[6, 4].tolist() == [0, 0, 0]
    assert sorted(p.name for p in Path(video.get_frame_directory()).iterdir()) == [
        f"00000{i}.png" for i in range(5)
    ]
    video.clean_frames()
    assert list((tmp_path / "out" / "frames").iterdir()) == []


def test_odd_sizes_and_a_processor(tmp_path):
    class Darker:
        def process(self, img):
            return img // 2

    video = ti.tools.VideoManager(
        str(tmp_path), video_filename="run.mov", post_processor=Darker(), automatic_build=False
    )
    x = ti.Vector.field(3, ti.u8, shape=(7, 5))
    x.fill(200)
    video.write_frame(x)
    assert (video.width, video.height, video.frame_counter) == (6, 4, 1)
    assert ti.tools.imread(tmp_path / "frames" / "000000.png")[0, 0].tolist() == [100, 100, 100]
    assert video.get_output_filename(".gif") == str(tmp_path / "run.gif")
    with pytest.raises(ValueError, match=r"a frame of \(8, 4\) for a video of \(6, 4\) pixels"):
        video.write_frame(np.zeros((8, 4)))


def test_a_video_is_made_from_time_to_time(tmp_path, no_ffmpeg):
    video = ti.tools.VideoManager(tmp_path)
    video.write_frames(frames(3))
    assert not (tmp_path / "video.gif").exists()
    with pytest.warns(ti.DsimWarning, match="ffmpeg, which is not installed"):
        video.write_frame(frames(1)[0])
    with Image.open(tmp_path / "video.gif") as gif:
        assert gif.n_frames == 4


def test_without_ffmpeg_there_is_no_mp4(tmp_path, no_ffmpeg):
    video = ti.tools.VideoManager(tmp_path, automatic_build=False)
    with pytest.raises(RuntimeError, match="there are no frames"):
        video.make_video()
    video.write_frames(frames(2))
    with pytest.raises(RuntimeError, match=r'install "dsim\[video\]"; `make_video\(mp4=False\)` makes a GIF'):
        video.make_video()


def test_frames_become_an_mp4_by_the_program_that_imageio_brings(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    video = ti.tools.VideoManager(tmp_path, framerate=12, automatic_build=False)
    video.write_frames(frames(5, 64, 48))
    video.make_video(gif=False)
    back = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", video.get_output_filename(".mp4"), tmp_path / "back%d.png"]
    told = subprocess.run(back, capture_output=True, text=True, check=True).stderr
    assert "12 fps" in told
    assert len(list(tmp_path.glob("back*.png"))) == 5
    with Image.open(tmp_path / "back4.png") as image:
        red, _, blue = np.asarray(image.convert("RGB")).astype(int).mean(axis=0).T
    assert len(red) == 64
    assert (red - blue).argmax() in (2, 3), "two columns of pixels share their colours"


def test_what_ffmpeg_is_asked_for(tmp_path, monkeypatch):
    """A program in its place writes down what it was called with."""
    fake = tmp_path / "bin" / "ffmpeg"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\nfor last; do :; done\necho "$@" > "$last"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:/usr/bin:/bin")
    video = ti.tools.VideoManager(tmp_path, framerate=12, automatic_build=False)
    video.write_frames(frames(3))
    video.make_video(gif=False)
    asked = (tmp_path / "video.mp4").read_text().split()
    assert asked[asked.index("-framerate") + 1] == "12"
    assert asked[asked.index("-i") + 1] == str(tmp_path / "frames" / "%06d.png")
    assert asked[asked.index("-frames:v") + 1] == "3"
    assert not (tmp_path / "video.gif").exists()
    fake.write_text("#!/bin/sh\necho no such codec >&2\nexit 1\n")
    with pytest.raises(RuntimeError, match="ffmpeg failed: no such codec"):
        video.make_video()


def test_half_a_size(tmp_path):
    with pytest.raises(ValueError, match="both width and height"):
        ti.tools.VideoManager(tmp_path, width=16)
