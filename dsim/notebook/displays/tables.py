"""A table with a title and a drawing, as markup with its own styles; all text is escaped here."""

from __future__ import annotations

from collections.abc import Iterable

from dsim.notebook.tape.svg import element, shown

Rows = Iterable[tuple[str, str]]

_LEFT = "text-align:left;vertical-align:top;padding:1px 12px 1px 0;border:0;background:none"


def table(title: str, rows: Rows, drawing: str = "") -> str:
    """The whole display.

    Parameters
    ----------
    title : str
        In bold.
    rows : iterable of (str, str)
        Labels and values.
    drawing : str
        Markup, at the right or below.
    """
    lines = "".join(
        element(
            "tr",
            element("th", shown(label), scope="row", style=f"{_LEFT};font-weight:normal;opacity:0.75")
            + element("td", shown(value), style=f"{_LEFT};overflow-wrap:anywhere"),
            style="background:none",
        )
        for label, value in rows
    )
    head = element("caption", shown(title), style=f"{_LEFT};caption-side:top;font-weight:600;color:inherit")
    made = element("table", head + lines, style="border-collapse:collapse;margin:0;font-size:inherit")
    style = "display:flex;flex-wrap:wrap;gap:4px 24px;align-items:flex-start"
    return element("div", made + drawing, style=f"{style};font:13px/1.5 system-ui,sans-serif")
