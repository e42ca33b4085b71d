"""Taichi's `GUI` without a window: it draws images, which a script saves and a notebook shows.

It imports views and what is below, and nothing of notebooks. Begin with `window.py`, then `canvas.py`.
"""

from dsim.gui.colors import hex_to_rgb, rgb_to_hex
from dsim.gui.window import GUI

__all__ = ["GUI", "hex_to_rgb", "rgb_to_hex"]
