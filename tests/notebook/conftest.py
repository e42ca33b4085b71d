"""The notebooks of `cells.py` as fixtures."""

from tests.notebook.cells import empty, notebook

__all__ = ["empty", "notebook"]
