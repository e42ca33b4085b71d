"""Points without a derivative that a gradient came through, as far as one look at a kernel tells."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator, Sequence

from dsim.diagnostics import Diagnostic, Label, Span
from dsim.ir.kinks import BORDER, TIE
from dsim.notebook.report import figures
from dsim.runtime.launching.probe_buffers import Born, Kinked

_LONGEST = 60  # of an expression that is quoted
_OF_TWO = ("max", "min", "maximum", "minimum", "fmax", "fmin", "atomic_max", "atomic_min")
_CLAMPS = ("clamp", "clip")


def told(kinks: Iterable[Kinked], loss: str | None) -> list[Diagnostic]:
    """One diagnostic for each place and kind of kink; `loss` is what the gradient is of."""
    # In most programs both branches of a choice meet where what it compares is equal.
    met = (k for k in kinks if k.met and not k.infinite and k.slot.kink is not BORDER)
    return [_told(group, loss) for group in _groups(met)]


def _groups(kinks: Iterable[Kinked]) -> list[list[Kinked]]:
    groups: dict[tuple[object, ...], list[Kinked]] = {}
    for k in kinks:
        groups.setdefault((k.slot.span, k.slot.kink, k.slot.of_many), []).append(k)
    return list(groups.values())


def _told(found: Sequence[Kinked], loss: str | None) -> Diagnostic:
    kink, met = found[0].slot.kink, sum(k.met for k in found)
    span = found[0].slot.span
    often = _often(met, _times(found)) + _first(found)
    message = f"`{short(span)}` has no derivative {kink.where}, and is there {often}"
    here = f"{kink.why}; {_taken(found[0])}"
    if loss is not None:
        rms = math.sqrt(sum(k.met * k.rms**2 for k in found) / met)
        here += f"; ∂{loss}/∂ of it is {figures.short(rms)} there"
    return Diagnostic("kink", message, span, here, labels=tuple(_calls(found)), help=kink.remedy)


def infinite(kinks: Iterable[Kinked], steep: Iterable[Born], lost: bool) -> list[Diagnostic]:
    """One diagnostic for each place to which a gradient comes that is not finite, though there is none there.

    `steep` are the primitives that made them. If none is `lost`, they are told of where they are seen.
    """
    found = (k for k in kinks if k.infinite and (lost or k.slot.kink is not BORDER))
    return [_infinite(group, tuple(steep)) for group in _groups(found)]


def _infinite(found: Sequence[Kinked], steep: Sequence[Born]) -> Diagnostic:
    kink, span = found[0].slot.kink, found[0].slot.span
    often = _often(sum(k.infinite for k in found), _times(found)) + _first(found)
    what = f"`{short(span)}`, which has no derivative"
    if kink is BORDER:
        what = f"the result of `{short(span)}`"
    message = f"an infinite gradient reaches {what} {kink.where}: {often}"
    slopes = (Label(b.slot.span, "from a slope that is not finite here") for b in steep)
    labels = (*_calls(found), *dict.fromkeys(slopes))
    return Diagnostic("infinite-slope", message, span, f"{kink.why}; {_taken(found[0])}", labels, kink.remedy)


def _times(found: Iterable[Kinked]) -> int:
    times: dict[tuple[Span, ...], int] = {}
    for k in found:  # two primitives in one call, as in `clamp`, run equally often
        times[k.slot.calls] = max(times.get(k.slot.calls, 0), k.times)
    return sum(times.values())


def _taken(k: Kinked) -> str:
    if k.slot.kink is not TIE:
        return k.slot.kink.taken
    return "dsim takes that of the last one" if k.slot.of_many else _right(k.slot.span)


def short(span: Span) -> str:
    """The text at `span`, or its beginning."""
    text = span.text
    return text if len(text) <= _LONGEST and span.line == span.end_line else f"{text[:_LONGEST].rstrip()} …"


def _often(met: int, times: int) -> str:
    if met == times:
        return f"all {met} times" if met > 1 else "the one time that it runs"
    return f"{met} of {times} times"


def _first(found: Iterable[Kinked]) -> str:
    """The first iteration that it was met in, of the first loop."""
    inside = [k for k in found if k.slot.loops]
    if not inside:
        return ""
    names = inside[0].slot.loops
    where = min(k.where for k in inside if k.slot.loops == names)
    return f", first at {', '.join(f'{name} = {at}' for name, at in zip(names, where, strict=True))}"


def _calls(found: Iterable[Kinked]) -> Iterator[Label]:
    """Where the funcs were called that it stands in, each place once."""
    for span in dict.fromkeys(call for k in found for call in reversed(k.slot.calls)):
        yield Label(span, "called here")


def _right(span: Span) -> str:
    """Which operand of an extremum has its derivative taken at a tie, as the user wrote it."""
    try:
        call = ast.parse(span.text.strip(), mode="eval").body
    except SyntaxError:
        call = None
    if not isinstance(call, ast.Call):
        return "dsim takes that of one of them"
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
    if name in _CLAMPS and call.args:
        return f"dsim takes that of `{ast.unparse(call.args[0])}`, as between the bounds"
    if name in _OF_TWO and len(call.args) == 2:
        return f"dsim takes that of the right operand, `{ast.unparse(call.args[1])}`"
    return "dsim takes that of the later one" if name in _OF_TWO else "dsim uses that of one of them"
