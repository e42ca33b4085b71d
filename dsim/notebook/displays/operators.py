"""Jacobians in a notebook, as `linearize` gives them: shape, and the fields of rows and columns."""

from __future__ import annotations

from dsim.notebook.displays.tables import table
from dsim.notebook.report import figures
from dsim.runtime.fields.fields import Field
from dsim.runtime.transforms.linear_operator import Linearization
from dsim.runtime.transforms.selection import Selection


def operator_bundle(J: Linearization) -> dict[str, str]:
    """The forms of a Jacobian; no product is computed."""
    rows = [
        ("shape", f"{J.shape[0]:,} × {J.shape[1]:,}"),
        ("type", f"{J.dtype}"),
        ("rows", _names(J.out)),
        ("columns", _names(J.wrt)),
    ]
    if J.compression is not None:
        colours = figures.count(J.compression.colours, "colour")
        rows.append(("last sparse matrix", f"by {colours}"))
    rows.append(("products", "J @ v by forward mode, J.T @ w by a backward sweep"))
    return {"text/plain": repr(J), "text/html": table("Jacobian of a run", rows)}


def _names(selection: Selection) -> str:
    leaves = zip(selection.leaves, selection.shapes, strict=True)
    return ", ".join(f"{f.name if isinstance(f, Field) else 'an array'} {shape}" for f, shape in leaves)
