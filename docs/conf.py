"""How Sphinx builds the documentation (`make docs`). It fetches nothing from the net."""

import gc
import sys
from pathlib import Path
from typing import Any

from dsim._version import __version__

sys.path.insert(0, str(Path(__file__).parent))
from collect import collect

# Trees of documents are cycles that live long: Python would look for garbage in them after every 700 objects.
gc.set_threshold(200_000)

project = "dsim"
author = "the dsim contributors"
copyright = f"2026, {author}"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "formulas",
]

html_theme = "furo"
html_title = f"dsim {release}"
html_math_renderer = "drawn"  # `formulas.py`; MathJax would come from the net
exclude_patterns = ["_build", "decisions/README.md"]

# Pages are Markdown. Notebooks are run before (`played.py`), not by myst-nb.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
nb_execution_mode = "off"

autodoc_typehints = "none"  # the docstrings tell them, in NumPy's style
napoleon_google_docstring = False
copybutton_exclude = ".linenos, .gp, .go"


def setup(app: Any) -> None:
    """Sphinx calls it: pages of notebooks are copies, made before it looks for pages.

    With `-D dsim_play=0` they are not run: their views are the committed pictures.
    """
    app.add_config_value("dsim_play", default=True, rebuild="env", types=[bool])
    app.connect("builder-inited", _collect)


def _collect(app: Any) -> None:
    docs = Path(app.srcdir)
    collect(docs / "notebooks", docs.parent / "build" / "played" if app.config.dsim_play else None)
