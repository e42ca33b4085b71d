"""`VideoManager`: frames as numbered images, encoded as a GIF by Pillow and as an MP4 by ffmpeg."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dsim.gui.images import imwrite
from dsim.live.files.videos import find_ffmpeg, write_gif, write_mp4
from dsim.runtime.fields.fields import Field
from dsim.runtime.state.notices import DsimWarning

_NAME = "%06d.png"
_NO_FFMPEG = (
    "an MP4 needs the program ffmpeg, which is not installed\n"
    'help: pip install "dsim[video]"; `make_video(mp4=False)` makes a GIF'
)


class Processor(Protocol):
    """A filter applied to frames before they are written."""

    def process(self, img: NDArray[Any]) -> NDArray[Any]:
        """The frame to write instead of `img`."""
        ...


class VideoManager:
    """Writes frames to a folder, and encodes a video of them.

    Parameters
    ----------
    output_dir : str or Path
        The folder for the video; the frames go to its subfolder ``frames``.
    video_filename : str, optional
        The video's name, without extension; ``video`` by default.
    width, height : int, optional
        The size of the frames; that of the first one by default.
    post_processor : object, optional
        Its method ``process(img)`` returns the frame to write.
    framerate : int
        Frames per second.
    automatic_build : bool
        Whether a video is also encoded after 4, 8, 16 and so on frames.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     video = VideoManager(folder, framerate=24, automatic_build=False)
    ...     for i in range(3):
    ...         video.write_frame(np.full((16, 16, 3), i / 2))
    ...     video.make_video(mp4=False)
    ...     print(sorted(p.name for p in Path(folder).iterdir()))
    ['frames', 'video.gif']
    """

    def __init__(
        self,
        output_dir: str | Path,
        video_filename: str | None = None,
        width: int | None = None,
        height: int | None = None,
        post_processor: Processor | None = None,
        framerate: int = 24,
        automatic_build: bool = True,
    ) -> None:
        if (width is None) != (height is None):
            raise ValueError("give both width and height of a video, or none of them")
        self.directory = Path(output_dir)
        self.frame_directory = self.directory / "frames"
        self.frame_directory.mkdir(parents=True, exist_ok=True)
        self.video_filename = video_filename
        self.width, self.height = width, height
        self.post_processor = post_processor
        self.framerate = framerate
        self.automatic_build = automatic_build
        self.frame_counter = 0
        self._next_build = 4

    def get_output_filename(self, suffix: str) -> str:
        """The path of the video with this extension."""
        return str(self.directory / (Path(self.video_filename or "video").stem + suffix))

    def get_frame_directory(self) -> str:
        """The folder of the frames."""
        return str(self.frame_directory)

    def write_frame(self, img: Any) -> None:
        """Writes the next frame, an image as for `imwrite`; cropped to even width and height.

        Raises
        ------
        ValueError
            When its size differs from that of the video.
        """
        values = img.to_numpy() if isinstance(img, Field) else np.asarray(img)
        values = values[: values.shape[0] // 2 * 2, : values.shape[1] // 2 * 2]
        if self.post_processor is not None:
            values = self.post_processor.process(values)
        if self.width is None:
            self.width, self.height = values.shape[:2]
        if values.shape[:2] != (self.width, self.height):
            raise ValueError(
                f"a frame of {values.shape[:2]} for a video of {(self.width, self.height)} pixels"
            )
        imwrite(values, self.frame_directory / (_NAME % self.frame_counter))
        self.frame_counter += 1
        if self.automatic_build and self.frame_counter == self._next_build:
            self._next_build *= 2
            self._build(mp4=True, gif=True, must=False)

    def write_frames(self, images: Iterable[Any]) -> None:
        """Writes several frames."""
        for img in images:
            self.write_frame(img)

    def clean_frames(self) -> None:
        """Removes the written images; keeps the video."""
        for path in self._written():
            path.unlink(missing_ok=True)

    def make_video(self, mp4: bool = True, gif: bool = True) -> None:
        """Encodes the video of all frames so far.

        Raises
        ------
        RuntimeError
            When there are no frames; for an MP4 also when there is no ffmpeg, or when it fails.
        """
        if not self.frame_counter:
            raise RuntimeError("there are no frames for a video: write some with `write_frame`")
        self._build(mp4, gif, must=True)

    def _written(self) -> list[Path]:
        return [self.frame_directory / (_NAME % i) for i in range(self.frame_counter)]

    def _build(self, mp4: bool, gif: bool, must: bool) -> None:
        if gif:
            write_gif(self._written(), self.get_output_filename(".gif"), self.framerate)
        if mp4 and (found := find_ffmpeg()):
            path, pattern = self.get_output_filename(".mp4"), self.frame_directory / _NAME
            write_mp4(found, pattern, self.frame_counter, path, self.framerate)
        elif mp4 and must:
            raise RuntimeError(_NO_FFMPEG)
        elif mp4:
            warnings.warn(_NO_FFMPEG, DsimWarning, stacklevel=4)
