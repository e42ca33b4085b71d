"""A view in a file: a picture, a video of its recording, or a page that plays it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dsim.files import replaced
from dsim.live.files.drawn import png
from dsim.live.files.standalone import page
from dsim.live.files.videos import find_ffmpeg, write_gif, write_mp4
from dsim.live.scene.numbers import refused
from dsim.live.scene.scene import ViewFrame

_KINDS = ".png", ".gif", ".mp4", ".html"
PageParts = tuple[
    dict[str, Any], Sequence[ViewFrame], int
]  # scene, frames, and the bytes that these may take
_NAME = "%06d.png"


def save(
    path: str | Path,
    scene: dict[str, Any],
    recorded: Iterable[ViewFrame],
    present: Callable[[], ViewFrame],
    page_parts: Callable[[int], PageParts],
    *,
    rate: float,
    budget: int,
) -> None:
    """Writes a view to a file; see `View.save`.

    Parameters
    ----------
    path : str or Path
        The file.
    scene : dict
        What the page is told once.
    recorded : iterable of ViewFrame
        The recording.
    present : callable
        Makes a frame of the present numbers.
    page_parts : callable
        Takes a number of bytes, and gives what a page has.
    rate : float
        Frames of a video per second.
    budget : int
        Bytes of the frames of a page.
    """
    if not isinstance(path, str | Path):
        raise refused(f"a view is saved as a file with a name, not {path!r}", 'save("picture.png")')
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in _KINDS:
        raise refused(f"a view is saved as {', '.join(_KINDS)}, not as {path.name!r}", 'save("picture.png")')
    if not isinstance(rate, Real) or not 0 < rate <= 1000:
        raise refused(f"`rate` is a number of frames per second, not {rate!r}", "rate=30")
    if not path.parent.is_dir():
        raise refused(f"there is no folder {str(path.parent)!r}", f"Path({str(path.parent)!r}).mkdir()")
    if kind == ".png":
        picture = png(scene, present())
        with replaced(path) as beside:
            beside.write_bytes(picture)
    elif kind == ".html":
        told, frames, left = page_parts(budget)
        with replaced(path) as beside:
            beside.write_text(page(told, frames or [present()], left), encoding="utf-8")
    else:
        _write_video(path, kind, scene, [*recorded], rate)


def _write_video(
    path: Path, kind: str, scene: dict[str, Any], frames: Sequence[ViewFrame], rate: float
) -> None:
    if not frames:
        advice = "`record()` keeps a frame of the view, `update()` does not"
        raise refused("there is no recording for a video", advice)
    ffmpeg = find_ffmpeg() if kind == ".mp4" else ""
    if ffmpeg is None:
        message = "an MP4 needs the program ffmpeg, which is not installed"
        raise refused(message, 'pip install "dsim[video]"; a name that ends with .gif needs nothing more')
    with TemporaryDirectory() as folder:
        images = [Path(folder, _NAME % number) for number in range(len(frames))]
        for image, frame in zip(images, frames, strict=True):
            image.write_bytes(png(scene, frame))
        if kind == ".gif":
            write_gif(images, path, rate)
        else:
            write_mp4(ffmpeg, Path(folder, _NAME), len(images), path, rate)
