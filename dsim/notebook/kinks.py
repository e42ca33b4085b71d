"""Points without a derivative that a gradient came through, as far as one look at a kernel tells."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator, Sequence

from dsim.diagnostics import Diagnostic, Label, Span
from dsim.ir.kinks import TIE
from dsim.ir.primitives import TABLE
from dsim.notebook import figures
from dsim.runtime.shown import Kinked

_LONGEST = 60  # of an expression that is quoted
_OF_TWO = ("max", "min", "maximum", "minimum", "fmax", "fmin", "atomic_max", "atomic_min")
_CLAMPS = ("clamp", "clip")


def told(kinks: Iterable[Kinked], loss: str | None) -> list[Diagnostic]:
    """One diagnostic for each place and kind of kink; `loss` is what the gradient is of."""
    groups: dict[tuple[object, ...], list[Kinked]] = {}
    for k in kinks:
        groups.setdefault((k.slot.span, TABLE[k.slot.op].kink, k.slot.of_many), []).append(k)
    return [_told(group, loss) for group in groups.values()]


def _told(found: Sequence[Kinked], loss: str | None) -> Diagnostic:
    span, kink = found[0].slot.span, TABLE[found[0].slot.op].kink
    assert kink is not None
    times = {k.slot.calls: 0 for k in found}
    for k in found:  # two primitives in one call, as in `clamp`, run equally often
        times[k.slot.calls] = max(times[k.slot.calls], k.times)
    met = sum(k.met for k in found)
    taken = kink.taken
    if kink is TIE:
        taken = "dsim takes that of the last one" if found[0].slot.of_many else _right(span)
    message = (
        f"`{_short(span)}` has no derivative {kink.where}, and is there {_often(met, sum(times.values()))}"
    )
    message += _first(found)
    here = f"{kink.why}; {taken}"
    if loss is not None:
        rms = math.sqrt(sum(k.met * k.rms**2 for k in found) / met)
        here += f"; ∂{loss}/∂ of it is {figures.short(rms)} there"
    return Diagnostic("kink", message, span, here, labels=tuple(_calls(found)), help=kink.remedy)


def _short(span: Span) -> str:
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
    """Which operand of an extremum has its derivative taken at a tie, as the person wrote it."""
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
    return "dsim takes that of the later one" if name in _OF_TWO else "dsim takes that of one of them"
