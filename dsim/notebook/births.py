"""Where numbers that are not finite come from, as far as one look at the lines of a kernel tells."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dsim.diagnostics import Diagnostic, Label, Span
from dsim.notebook import figures
from dsim.notebook.cells import Cell, place
from dsim.notebook.watched import Seen
from dsim.runtime.shown import Watched

_LINES = 20  # of a statement that is looked at
_STEEP = "a slope is infinite where it is used, as of a root or a norm at 0: add a small number inside"


def of_lines(seen: Seen, loss: str | None, spoilt: Iterable[str]) -> list[Diagnostic]:
    """Where values, and where adjoints, first were not finite.

    Values: the first line whose result is not finite although what it uses is. Adjoints: the last one, as
    they are computed backwards. `spoilt` are fields that held such numbers before.
    """
    bad = [w for w in seen.results if w.nonfinite[0]]
    if bad:
        from_before = [name for name in spoilt if any(name in _used(w) for w in bad)]
        return [] if from_before else [_of_value(_first(bad))]
    back = [w for w in seen.results if w.nonfinite[1]]
    return [_of_adjoint(back[-1], loss)] if back and loss is not None else []


def _first(bad: Sequence[Watched]) -> Watched:
    """Of lines with numbers that are not finite the first that uses none of another."""
    names = {_base(w.slot.name) for w in bad}
    own = (w for w in bad if not (_used(w) & (names - {_base(w.slot.name)})))
    return next(own, bad[0])


def _base(name: str) -> str:
    return name.partition("[")[0]


def _used(w: Watched) -> set[str]:
    """The names that the line of `w` uses, with their attributes."""
    statement = _statement(w.slot.span)
    value = getattr(statement, "value", None)
    found = (n for n in ast.walk(value) if isinstance(n, ast.Name | ast.Attribute)) if value else ()
    return {ast.unparse(n) for n in found}


def _statement(span: Span) -> ast.stmt | None:
    """The statement that begins in the line of `span`, if it stands alone there."""
    for end in range(span.line, span.line + _LINES):
        text = "\n".join(span.source.line(n) for n in range(span.line, end + 1))
        try:
            return ast.parse(text.strip()).body[0]
        except (SyntaxError, IndexError):
            continue
    return None


def _of_value(w: Watched) -> Diagnostic:
    message = f"`{w.slot.name}` is not finite here, although what it is computed from is"
    here = f"{figures.count(w.nonfinite[0], 'value')} of {w.times * max(1, w.slot.size)}"
    advice = "look for a division by 0, a root or logarithm of what is not positive, or an overflow"
    return Diagnostic("nan", message, w.slot.span, here, help=advice)


def _of_adjoint(w: Watched, loss: str | None) -> Diagnostic:
    message = f"the gradient ∂{loss}/∂{w.slot.name} is not finite here, although the value is"
    here = f"{figures.count(w.nonfinite[1], 'gradient')} of {w.times * max(1, w.slot.size)}"
    return Diagnostic("nan", message, w.slot.span, here, help=_STEEP)


def of_gradients(cell: Cell, gradients: Mapping[str, np.ndarray], loss: str) -> list[Diagnostic]:
    """The gradients of fields that are not finite, at the lines that read these: nothing between was seen."""
    found = []
    for name, gradient in gradients.items():
        bad = int(np.count_nonzero(~np.isfinite(gradient)))
        if bad:
            message = f"the gradient ∂{loss}/∂{name} is not finite"
            here = f"`{name}` is read here: {bad} of {gradient.size}"
            *others, span = _readers(cell, name) or [cell.whole_line(cell.first)]
            labels = tuple(Label(s, "read here, too") for s in others)
            found.append(Diagnostic("nan", message, span, here, labels, _STEEP))
    return found


def _readers(cell: Cell, name: str) -> list[Span]:
    """Where the text of the cell reads an element of the field `name`; of each line the first place."""
    found: dict[int, Span] = {}
    for node in ast.walk(ast.parse(cell.padded)):
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Load)
            and ast.unparse(node.value) == name
        ):
            span = place(cell, node)
            found[span.line] = min(span, found.get(span.line, span), key=lambda s: s.column)
    return [found[line] for line in sorted(found)]
