"""What a panel of widgets says, and does not offer any more, when its kernel has ended."""

from __future__ import annotations

import ipywidgets as widgets

_TEXT = "Its kernel was restarted or shut down: this shows what it knew last. Run the cell again."
# ipywidgets gives this class to what has no kernel any more, in each page.
_ENDED = ".jupyter-widgets-disconnected"
_STYLE = f"""
.dsim-disconnected {{ display: none }}
{_ENDED} .dsim-disconnected {{ display: block }}
.dsim-column {_ENDED}:is(.widget-button, .widget-slider) {{ opacity: 0.5; pointer-events: none }}
"""


def when_disconnected() -> widgets.HTML:
    """The last child of a panel of the class ``dsim-column``: not seen while there is a kernel."""
    return widgets.HTML(f'<div class="dsim-disconnected" role="status">{_TEXT}</div><style>{_STYLE}</style>')
