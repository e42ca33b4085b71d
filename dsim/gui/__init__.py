"""Taichi's `GUI` without a window: it draws images, which a script saves and a notebook shows."""

from dsim.gui.colors import hex_to_rgb, rgb_to_hex
from dsim.gui.window import GUI

__all__ = ["GUI", "hex_to_rgb", "rgb_to_hex"]
