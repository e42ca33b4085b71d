"""Numbered images become a GIF by Pillow, and an MP4 by ffmpeg."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from PIL import Image

from dsim.files import replaced


def write_gif(images: Sequence[Path], path: str | Path, framerate: float) -> None:
    """Encodes images as a GIF that begins again when it has ended.

    Parameters
    ----------
    images : sequence of Path
        The frames.
    path : str or Path
        The file to write.
    framerate : float
        Frames per second.
    """
    frames = [Image.open(image).convert("P", palette=Image.Palette.ADAPTIVE) for image in images]
    with replaced(path) as beside:
        frames[0].save(beside, save_all=True, append_images=frames[1:], duration=1000.0 / framerate, loop=0)


def write_mp4(ffmpeg: str, pattern: Path, count: int, path: str | Path, framerate: float) -> None:
    """Encodes images as an MP4.

    Parameters
    ----------
    ffmpeg : str
        The program, as `find_ffmpeg` finds it.
    pattern : Path
        The names of the images, such as ``%06d.png``, numbered from 0.
    count : int
        How many there are.
    path : str or Path
        The file to write.
    framerate : float
        Frames per second.

    Raises
    ------
    RuntimeError
        When ffmpeg fails.
    """
    command = [
        ffmpeg, "-loglevel", "error", "-y", "-framerate", str(framerate),
        "-i", str(pattern), "-frames:v", str(count),
        "-c:v", "libx264", "-crf", "1", "-pix_fmt", "yuv420p",
    ]  # fmt: skip
    with replaced(path) as beside:
        done = subprocess.run([*command, str(beside)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"ffmpeg failed: {done.stderr.strip() or done.returncode}")


def find_ffmpeg() -> str | None:
    """The path of ffmpeg: on the PATH, or the one that imageio-ffmpeg installs."""
    found = shutil.which("ffmpeg")
    if found is None:
        with suppress(ImportError, RuntimeError):  # not installed, or without a binary for this system
            found = import_module("imageio_ffmpeg").get_ffmpeg_exe()
    return found
