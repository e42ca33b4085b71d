"""A widget that steps through a tape call by call."""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets

from dsim.diagnostics import GradientError, LaunchError
from dsim.notebook.tape.charts import Chart, charts
from dsim.notebook.tape.data import fields_of
from dsim.notebook.tape.html import STYLE
from dsim.notebook.tape.score import score
from dsim.notebook.tape.svg import BLUE, Marker, shown
from dsim.notebook.widget_column import WidgetColumn
from dsim.runtime.inspection import tape_summary
from dsim.runtime.inspection.calls import RecordedCall
from dsim.runtime.tapes.tape import Tape

_MOST_LINES = 40  # of a kernel's text


class TapeView:
    """The calls and fields of a tape as a drawing, a chart, and a slider over the calls.

    Attributes
    ----------
    widget : Widget
        What to display.
    call : IntSlider
        The selected call.
    chart : ToggleButtons
        What is drawn over the calls.
    measure : Button
        Measures times and gradients again.
    """

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._lines = tape_summary.lines(tape)
        self._charts: dict[str, Chart] = {}
        last = max(0, len(tape.calls) - 1)
        wide = widgets.Layout(width="640px")
        self.call = widgets.IntSlider(0, 0, last, description="call", continuous_update=True, layout=wide)
        self.chart = widgets.ToggleButtons(options=[], style={"button_width": "auto"})
        self.measure = widgets.Button(description="Measure again", tooltip="run backwards once more")
        self._said = widgets.Label()
        self._drawing, self._picture, self._details = (widgets.HTML() for _ in range(3))
        fields = list(fields_of(tape, self._lines))
        count = f"<p><b>tape of {shown(tape.loss.name)}</b>: {len(tape.calls):,} calls</p>"
        drawn = score(self._lines, fields) if self._lines else ""
        self._drawing.value = f'{STYLE}<div class="dsim-tape">{count}{drawn}</div>'
        row = widgets.HBox(
            [self.chart, self.measure, self._said], layout=widgets.Layout(flex_flow="row wrap")
        )
        self.widget = WidgetColumn([self._drawing, row, self._picture, self.call, self._details])
        self.widget.told = repr(tape)
        self.call.observe(self._moved, "value")
        self.chart.observe(self._moved, "value")
        self.measure.on_click(self._measured)
        if tape.profiled is None:
            self._measured()
        else:
            self._drawn()

    def _measured(self, _: Any = None) -> None:
        """Runs backwards again; where values have changed since, shows what was recorded."""
        before = self._tape.profiled
        try:
            self._tape.profile(again=True)
        except (GradientError, LaunchError) as error:
            self._said.value = f"Not measured: {error.diagnostics[0].message}."
            self.measure.disabled = before is None
        self._drawn()

    def _drawn(self) -> None:
        self._charts = {c.name: c for c in charts(self._tape, self._lines, times=True)}
        chosen = self.chart.value
        self.chart.options = list(self._charts)
        self.chart.value = chosen if chosen in self._charts else next(iter(self._charts), None)
        self._moved()

    def _moved(self, _: Any = None) -> None:
        """Shows the call that the slider is at."""
        if not len(self._tape.calls):
            return
        call = self._tape.calls[self.call.value]
        found = self._charts.get(self.chart.value or "")
        mark = Marker(float(call.index), call.kernel, BLUE)
        self._picture.value = "" if found is None else f'<div class="dsim-tape">{found.svg(mark)}</div>'
        self._details.value = f'<div class="dsim-tape">{_details(call)}</div>'


def view(tape: Tape) -> widgets.Widget:
    """A widget that steps through `tape`: drawing, charts, and a slider over its calls."""
    return TapeView(tape).widget


def _details(call: RecordedCall) -> str:
    """All facts about a call, and the source of its kernel."""
    rows = [
        ("reads", ", ".join(call.reads)),
        ("stores", ", ".join(call.stores)),
        ("adds to", ", ".join(call.accumulates)),
        ("saved", f"{call.saved_bytes:,} bytes of {', '.join(call.overwrites)}" if call.saved_bytes else ""),
        ("gradient after", _number(call.gradient_norm)),
        ("gradient before", _number(call.gradient_norm_before)),
        ("forward", _time(call.seconds)),
        ("backward", _time(call.backward_seconds)),
    ]
    given = call.arguments if call.span is None else f"({call.arguments})"
    head = f"<p><b>{call.index:,}: {shown(call.kernel)}</b>{' ' * (call.span is None)}{shown(given)}</p>"
    cells = "".join(f"<tr><th>{name}</th><td>{shown(value)}</td></tr>" for name, value in rows if value)
    return f"{head}<table>{cells}</table>{_text(call)}"


def _text(call: RecordedCall) -> str:
    span = call.span
    if span is None:
        return ""
    numbers = range(span.line, min(span.end_line, span.line + _MOST_LINES) + 1)
    lines = (f"{n:>4}  {shown(span.source.line(n))}" for n in numbers)
    where = f"<p>{shown(span.source.name)}, line {span.line}</p>"
    return f"{where}<pre style='margin: 0; background: none; color: inherit'>{chr(10).join(lines)}</pre>"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _time(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e6:,.1f} µs"
