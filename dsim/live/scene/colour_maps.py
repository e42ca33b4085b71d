"""Colour maps by name, as the bytes that the page looks colours up in."""

from __future__ import annotations

import base64
import difflib
from functools import cache

import matplotlib as mpl
import numpy as np

from dsim.live.scene.numbers import refused

COLOURS = 256


@cache
def colour_map(name: str) -> str:
    """The 256 colours of matplotlib's map `name`: red, green and blue of each, in base64.

    Raises
    ------
    DsimError
        When matplotlib has no map of that name.
    """
    if name not in mpl.colormaps:
        close = difflib.get_close_matches(name, mpl.colormaps, 1)
        advice = f"did you mean {close[0]!r}?" if close else "matplotlib lists them in `matplotlib.colormaps`"
        raise refused(f"there is no colour map {name!r}", advice)
    colours = mpl.colormaps[name](np.linspace(0.0, 1.0, COLOURS), bytes=True)
    return base64.b64encode(colours[:, :3].tobytes()).decode()
