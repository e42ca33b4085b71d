"""The notebook of `living.py` as a fixture."""

from tests.notebook.forms.living import page

__all__ = ["page"]
