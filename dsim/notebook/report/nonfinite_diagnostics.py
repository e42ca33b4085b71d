"""Origins of non-finite values: the lines where they first appear, as far as probes of lines tell."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import cached_property

from dsim.diagnostics import Diagnostic, Label, Span
from dsim.notebook.report import figures, kink_notes
from dsim.notebook.report.subject import Subject
from dsim.notebook.report.watched import Observation
from dsim.notebook.running.runs import NonfiniteCounts
from dsim.runtime.launching.probe_buffers import Born, WatchedLine

_LINES = 20  # of a statement that is looked at
_OTHERS = 3  # places that are told beside the first one
_STEEP = (
    "a slope is infinite where it is used, such as that of a root or a norm at 0: add a small number inside"
)
_VALUE = "look for a division by 0, a root or logarithm of a number that is not positive, or an overflow"


class NonfiniteDiagnostics:
    """Says where what is not finite comes from.

    A number that nothing uses, as that of a branch which is not taken, is no fault.

    Parameters
    ----------
    subject : Subject
        What is reported about.
    seen : Observation
        A look at all lines.
    fields : NonfiniteCounts
        What the run left in fields.
    loss : str or None
        What gradients are of; None in forward mode.
    look : callable
        Looks again, at each primitive: that is for when there is something to find.
    """

    def __init__(
        self,
        subject: Subject,
        seen: Observation,
        fields: NonfiniteCounts,
        loss: str | None,
        look: Callable[[], list[Born]],
    ) -> None:
        self._subject, self._seen, self._fields = subject, seen, fields
        self._of = "the tangent" if loss is None else f"the gradient ∂{loss}/∂"  # and behind it, of what
        self._loss = loss
        self._look = look

    @cached_property
    def _born(self) -> list[Born]:
        return self._look()

    @cached_property
    def _steep(self) -> list[Born]:
        return [b for b in self._born if b.derivatives]

    def told(self) -> list[Diagnostic]:
        """The first place of values; without one, that of gradients, as they are computed backwards."""
        if not (self._fields.born or self._fields.derivatives):
            return []
        bad = [w for w in self._seen.results if w.nonfinite[0]]
        if any(name in _used(w) for name in self._fields.before for w in bad):
            return []  # they were there before
        made = [b for b in self._born if b.values]
        if made or bad:
            return [self._of_value(made, _first(bad) if bad else None)]
        return self._of_slopes()

    def ended(self) -> list[Diagnostic]:
        """Where such gradients come to points without a derivative, and perhaps go no further."""
        if self._fields.born or not any(k.infinite for k in self._seen.kinks):
            return []
        return kink_notes.infinite(self._seen.kinks, self._steep, not self._fields.derivatives)

    def _of_value(self, made: Sequence[Born], w: WatchedLine | None) -> Diagnostic:
        inside = [b for b in made if w is None or _stands_in(b, w.slot.span)]
        if inside:
            b = inside[0]
            message = f"`{kink_notes.short(b.slot.span)}` is not finite here, although its operands are"
            return _diagnostic(b, message, b.values, _VALUE, made)
        assert w is not None
        message = f"`{w.slot.name}` is not finite here, although its operands are"
        here = f"{figures.count(w.nonfinite[0], 'value')} of {w.times * max(1, w.slot.size)}"
        return Diagnostic("nan", message, w.slot.span, here, help=_VALUE)

    def _of_slopes(self) -> list[Diagnostic]:
        if self._steep:
            b = self._steep[0 if self._loss is None else -1]
            text = f"`{kink_notes.short(b.slot.span)}`"
            message = f"{self._of} of {text} is finite, and that of what it is computed from is not"
            if self._loss is None:
                message = f"{self._of} of what {text} is computed from is finite, and that of it is not"
            return [_diagnostic(b, message, b.derivatives, _STEEP, self._steep)]
        lines = [w for w in self._seen.results if w.nonfinite[1]]
        return [self._of_line(lines[-1])] if lines else self._of_fields()

    def _of_line(self, w: WatchedLine) -> Diagnostic:
        message = f"{self._of} of `{w.slot.name}` is not finite here, although the value is"
        here = f"{figures.count(w.nonfinite[1], 'gradient')} of {w.times * max(1, w.slot.size)}"
        return Diagnostic("nan", message, w.slot.span, here, help=_STEEP)

    def _of_fields(self) -> list[Diagnostic]:
        """At the lines that read the fields: nothing between was seen."""
        found = []
        for name, (bad, size) in self._fields.derivatives.items():
            message = f"{self._of} of `{name}` is not finite"
            *others, span = _readers(self._subject, name) or [self._subject.place]
            labels = tuple(Label(s, "read here, too") for s in others)
            here = f"`{name}` is read here: {bad} of {size}"
            found.append(Diagnostic("nan", message, span, here, labels, _STEEP))
        return found


def _diagnostic(b: Born, message: str, count: int, advice: str, every: Sequence[Born]) -> Diagnostic:
    """What is to say of `b`; of `every` one of its kind the next ones are shown, too."""
    labels = [Label(call, "called here") for call in reversed(b.slot.calls)]
    others = dict.fromkeys(other.slot.span for other in every if other.slot.span != b.slot.span)
    labels += [Label(span, "the same here") for span in list(others)[:_OTHERS]]
    return Diagnostic("nan", message, b.slot.span, f"{count} of {b.times} times", tuple(labels), advice)


def _stands_in(b: Born, line: Span) -> bool:
    """Whether a primitive stands in the statement that begins in `line`, or is called there."""
    statement = _statement(line)
    last = line.end_line if statement is None else line.line + (statement.end_lineno or 1) - 1
    places = (s for s in (b.slot.span, *b.slot.calls) if s.source.file == line.source.file)
    return any(line.line <= s.line <= last for s in places)


def _first(bad: Sequence[WatchedLine]) -> WatchedLine:
    """Of lines with numbers that are not finite the first that uses none of another."""
    names = {_base(w.slot.name) for w in bad}
    own = (w for w in bad if not (_used(w) & (names - {_base(w.slot.name)})))
    return next(own, bad[0])


def _base(name: str) -> str:
    return name.partition("[")[0]


def _used(w: WatchedLine) -> set[str]:
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


def _readers(subject: Subject, name: str) -> list[Span]:
    """Where the text reads an element of the field `name`; of each line the first place."""
    found: dict[int, Span] = {}
    for node in ast.walk(subject.tree):
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Load)
            and ast.unparse(node.value) == name
        ):
            span = subject.span(node)
            found[span.line] = min(span, found.get(span.line, span), key=lambda s: s.column)
    return [found[line] for line in sorted(found)]
