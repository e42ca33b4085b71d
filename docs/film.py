"""A small moving picture of what a notebook's views have recorded: for the gallery."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image

from dsim.live.files.drawn import png
from dsim.live.files.videos import write_gif
from dsim.live.view import View

FRAMES, SIZE = 48, (320, 240)
RATE = 12.0  # frames per second


def write_film(results: Iterable[Any], path: str | Path) -> None:
    """Writes a GIF of the view that has recorded the most frames; nothing where none has several.

    Parameters
    ----------
    results : iterable
        What cells have returned, views among it.
    path : str or Path
        The file.
    """
    recorded = [each for each in results if isinstance(each, View) and len(each.recording) > 1]
    if not recorded:
        return
    best = max(recorded, key=lambda view: len(view.recording))
    scene, count = best.scene.json(), len(best.recording)
    chosen = sorted({round(k * (count - 1) / (FRAMES - 1)) for k in range(FRAMES)})
    with TemporaryDirectory() as folder:
        images = [Path(folder, f"{number}.png") for number in chosen]
        for image, number in zip(images, chosen, strict=True):
            frame = best.recording.at(number)
            assert frame is not None
            with Image.open(io.BytesIO(png(scene, frame))) as drawn:
                drawn.resize(SIZE, Image.Resampling.LANCZOS).save(image)
        write_gif(images, path, RATE)
