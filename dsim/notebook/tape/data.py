"""A tape as data: the part of a report about what was recorded. Other files draw it.

Everything but the times is the same in every run of the same program.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

import numpy as np

from dsim.diagnostics import GradientError, LaunchError, Span
from dsim.runtime.fields.fields import Field
from dsim.runtime.inspection import calls, tape_summary
from dsim.runtime.inspection.tape_summary import CallGroup
from dsim.runtime.recording.profile import Profile
from dsim.runtime.tapes.tape import Tape

POINTS = 512  # of a series
_MOST = 1000  # lines

Json = dict[str, Any]


def tape_json(tape: Tape, cell: str | None = None) -> Json:
    """What `tape` recorded, as the member ``tape`` of a report.

    Parameters
    ----------
    cell : str, optional
        The name of the source that the report is about; calls of kernels that stand there are marked.

    Returns
    -------
    dict
        ``groups`` holds the calls with repeats folded: a group repeats its calls `count` times. A call that
        is repeated inside its group, alone or with others, has the `repeats` around it there, how many of
        them it `begins`, and their product, `count`. Gradient norms, of a call that is repeated the least
        and the greatest, are there if the tape was profiled.
    """
    lines = tape_summary.lines(tape)
    fields = list(fields_of(tape, lines))
    shown = lines[:_MOST]
    return {
        "loss": tape.loss.name,
        "calls": len(tape.calls),
        "saved_bytes": tape.saved_bytes,
        "groups": _groups(shown, cell, _measured(tape)),
        "more": len(lines) - len(shown),
        "fields": [_field(f) for f in fields],
        "graph": _graph(shown, fields),
        "series": _series(tape),
        "nonfinite": _not_finite(tape),
    }


def tape_timings(tape: Tape) -> Json:
    """How long calls and adjoints took, of each kernel of the folded table and at each step of the series.

    Empty if that is not known.
    """
    profile = tape.profiled
    if profile is None:
        return {"calls_s": [], "backward_s": [], "series_s": [], "series_backward_s": []}
    lines = tape_summary.lines(tape)[:_MOST]
    at = _steps(tape)
    return {
        "calls_s": [_total(profile.seconds[line.calls]) for line in lines],
        "backward_s": [_total(profile.backward_seconds[line.calls]) for line in lines],
        "series_s": _known(profile.seconds[at]),
        "series_backward_s": _known(profile.backward_seconds[at]),
    }


def _known(seconds: np.ndarray) -> list[float | str]:
    return [] if np.isnan(seconds).all() else [number(t) for t in seconds.tolist()]


def _total(seconds: np.ndarray) -> float:
    return float(np.nansum(seconds))


# -- calls


def _groups(lines: Iterable[CallGroup], cell: str | None, profile: Profile | None) -> list[Json]:
    """Lines put together by the repeat around them; what is not repeated, with its neighbours."""
    groups: list[Json] = []
    for line in lines:
        count = line.repeats[0] if line.repeats else 1
        starts = line.begins == len(line.repeats) if line.repeats else not groups or groups[-1]["count"] > 1
        if starts:
            groups.append({"first": int(line.calls[0]), "count": count, "calls": []})
        groups[-1]["calls"].append(_call(line, cell, profile))
    return groups


def _call(line: CallGroup, cell: str | None, profile: Profile | None) -> Json:
    facts, span = line.facts, line.facts.span
    made: Json = {
        "kernel": facts.name,
        "line": None if span is None else span.line,
        "end_line": None if span is None else span.end_line,
        "cell": span is not None and span.source.file == cell,
        "file": _file(span, cell),
        "reads": list(calls.names(facts.reads)),
        "stores": list(calls.names(facts.stores)),
        "accumulates": list(calls.names(facts.accumulates)),
        "overwrites": list(line.overwrites),
        "saved_bytes": line.saved_bytes,
    }
    if profile is not None:
        made["gradient_norm"] = _ends(profile.gradient_norm[line.calls])
        made["gradient_norm_before"] = _ends(profile.gradient_norm_before[line.calls])
    inner = line.repeats[1:]
    if inner:
        made |= {"count": math.prod(inner), "repeats": list(inner), "begins": min(line.begins, len(inner))}
    return made


def _ends(values: np.ndarray) -> list[float | str]:
    """The least and the greatest; NaN if one is."""
    return [number(float(values.min())), number(float(values.max()))]


def _file(span: Span | None, cell: str | None) -> str:
    """The file's name, the same on every machine and in every run; cells go by no number."""
    if span is None or span.source.file == cell:
        return ""
    name = span.source.name
    return "another cell" if name.startswith("cell In[") else PurePath(name).name


# -- fields


def fields_of(tape: Tape, lines: Iterable[CallGroup]) -> dict[Field, None]:
    """The fields of a tape, in the order in which they were made; the loss is the last."""
    used = {f for line in lines for f in line.facts.fields}
    found = dict.fromkeys(sorted(used, key=lambda f: (f.root.number, f.derivative)))
    found.pop(tape.loss, None)
    return {**found, tape.loss: None}


def _field(field: Field) -> Json:
    return {
        "name": field.name,
        "dtype": field.dtype.name,
        "shape": list(field.shape),
        "entry_shape": list(field.entry_shape),
        "needs_grad": field.needs_grad,
        "bytes": 0 if field.buffer is None else field.buffer.nbytes,
    }


def _graph(lines: Iterable[CallGroup], fields: list[Field]) -> Json:
    """Fields and lines of the folded table as nodes, and what each line does with which field as edges."""
    at = {f: n for n, f in enumerate(fields)}
    nodes: list[Json] = [{"id": n, "kind": "field", "name": f.name} for f, n in at.items()]
    edges: list[Json] = []
    for line in lines:
        here = len(nodes)
        nodes.append({"id": here, "kind": "call", "name": line.facts.name, "first": int(line.calls[0])})
        edges += [{"from": at[f], "to": here, "kind": "reads"} for f in line.facts.reads]
        edges += [{"from": here, "to": at[f], "kind": "stores"} for f in line.facts.stores]
        edges += [{"from": here, "to": at[f], "kind": "accumulates"} for f in line.facts.accumulates]
    return {"nodes": nodes, "edges": edges}


# -- numbers


def _series(tape: Tape) -> Json:
    at, norms = _steps(tape), _norms(tape)
    return {
        "step": at.tolist(),
        "gradient_norm": [] if norms is None else [number(v) for v in norms[at].tolist()],
        "saved_bytes": tape.calls.saved_bytes()[at].tolist(),
    }


def _norms(tape: Tape) -> np.ndarray | None:
    profile = _measured(tape)
    return None if profile is None else profile.gradient_norm


def _measured(tape: Tape) -> Profile | None:
    """The profile, if what it has of the way back was measured."""
    profile = tape.profiled
    return None if profile is None or np.isnan(profile.backward_seconds).all() else profile


def _steps(tape: Tape) -> np.ndarray:
    """The calls that are points of the series."""
    saved, norms = tape.calls.saved_bytes(), _norms(tape)
    if norms is None:
        return thinned(saved, POINTS)
    return np.union1d(thinned(norms, POINTS // 2), thinned(saved, POINTS // 2))


def thinned(values: np.ndarray, points: int) -> np.ndarray:
    """Where to look at `values` so that at most `points` of them show every peak and every dip."""
    count = len(values)
    if count <= points:
        return np.arange(count)
    edges = np.linspace(0, count, points // 2 + 1).astype(np.int64)
    shown = np.where(np.isnan(values), np.inf, values)  # a NaN is a peak
    found = {0, count - 1}
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        found |= {begin + int(shown[begin:end].argmin()), begin + int(shown[begin:end].argmax())}
    at = np.array(sorted(found))
    return at if len(at) <= points else np.delete(at, [1, len(at) - 2][: len(at) - points])


def number(value: float) -> float | str:
    """`value` as JSON has it: with six digits, and what is not finite as a string."""
    return float(f"{value:.6g}") if math.isfinite(value) else str(value)


def _not_finite(tape: Tape) -> Json | None:
    """The first number that is not finite, as far as someone has looked for it."""
    what = tape.not_finite
    if what is not None:
        line = None if what.span is None else what.span.line
        call = len(tape.calls) if what.call is None else what.call  # it would have been the next one
        return {"call": call, "kernel": what.kernel, "field": what.field, "line": line}
    call = None if tape.profiled is None else tape.profiled.first_not_finite
    if call is None:
        return None
    facts = tape.calls.facts(call)
    return {"call": call, "kernel": facts.name, "field": _spoilt(tape, call, facts.fields), "line": None}


def _spoilt(tape: Tape, call: int, fields: Iterable[Field]) -> str:
    """The gradient that is not finite before a call."""
    for field in fields:
        try:
            values = tape.gradient(field, after=call - 1 if call else None)
        except (GradientError, LaunchError):
            continue
        if not np.isfinite(values).all():
            return f"{field.name}.grad"
    return ""
