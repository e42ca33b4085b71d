"""A tape as JSON: its content, deterministic and small."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dsim as ti
from dsim.notebook.tape import tape_html, tape_json, tape_text, tape_timings
from dsim.notebook.tape.data import POINTS, thinned
from tests.notebook.tape.tapes import HOSTILE, particles


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_groups():
    made = tape_json(particles(700))
    assert (made["loss"], made["calls"], made["saved_bytes"], made["more"]) == ("loss", 2101, 22400, 0)
    many, one = made["groups"]
    assert (many["first"], many["count"], one["first"], one["count"]) == (0, 700, 2100, 1)
    assert [c["kernel"] for c in many["calls"]] == ["clear", "scatter", "gather"]
    (end,) = one["calls"]
    assert end["end_line"] - end["line"] == 2
    end.update(line=0, end_line=0, file="")
    assert end == {
        "kernel": "total",
        "line": 0,
        "end_line": 0,
        "cell": False,
        "file": "",
        "reads": ["x"],
        "stores": [],
        "accumulates": ["loss"],
        "overwrites": [],
        "saved_bytes": 0,
    }
    gather = many["calls"][2]
    assert (gather["accumulates"], gather["overwrites"]) == (["v", "x"], ["x"])
    assert gather["saved_bytes"] == 22400  # of all its calls together


def test_calls_of_the_cell():
    tape = particles()
    calls = [c for g in tape_json(tape)["groups"] for c in g["calls"]]
    assert calls[0]["file"] == "tapes.py"
    name = tape.calls.facts(0).span.source.name
    calls = [c for g in tape_json(tape, name)["groups"] for c in g["calls"]]
    assert all(c["cell"] for c in calls)
    assert not any(c["cell"] for g in tape_json(tape, "cell [1]")["groups"] for c in g["calls"])


def test_what_is_not_repeated_is_one_group():
    x, y, loss = (ti.field(ti.f64, shape=(), needs_grad=True, name=name) for name in ("x", "y", "loss"))
    with ti.Tape(loss) as tape:
        x[None] = 1.0
        y.copy_from(x)
        for _ in range(3):
            x[None] = 2.0
            for _ in range(5):
                y[None] = 1.0
        loss[None] = 3.0
    groups = tape_json(tape)["groups"]
    assert [(g["first"], g["count"], len(g["calls"])) for g in groups] == [(0, 1, 2), (2, 3, 2), (20, 1, 1)]
    assert groups[1]["calls"][1]["count"] == 5


def test_what_repeats_together_inside_of_a_group():
    x, y, loss = (ti.field(ti.f64, shape=(), needs_grad=True, name=name) for name in ("x", "y", "loss"))
    with ti.Tape(loss) as tape:
        for _ in range(3):
            for _ in range(5):
                x[None] = 2.0
                for _ in range(4):
                    y[None] = 1.0
            loss[None] = 3.0
    (group,) = tape_json(tape)["groups"]
    assert group["count"] == 3
    inner = [(c.get("repeats"), c.get("begins"), c.get("count")) for c in group["calls"]]
    assert inner == [([5], 1, 5), ([5, 4], 1, 20), (None, None, None)]


def test_fields_and_graph():
    made = tape_json(particles())
    names = [f["name"] for f in made["fields"]]
    assert names == ["x", "v", "grid", "loss"]
    assert made["fields"][0] == {
        "name": "x",
        "dtype": "f64",
        "shape": [4],
        "entry_shape": [],
        "needs_grad": True,
        "bytes": 32,
    }
    nodes = made["graph"]["nodes"]
    assert [n["name"] for n in nodes] == ["x", "v", "grid", "loss", "clear", "scatter", "gather", "total"]
    assert [n["id"] for n in nodes] == list(range(8))
    edges = {(nodes[e["from"]]["name"], nodes[e["to"]]["name"], e["kind"]) for e in made["graph"]["edges"]}
    assert edges == {
        ("clear", "grid", "stores"),
        ("x", "scatter", "reads"),
        ("scatter", "grid", "accumulates"),
        ("grid", "gather", "reads"),
        ("v", "gather", "reads"),
        ("gather", "v", "accumulates"),
        ("gather", "x", "accumulates"),
        ("x", "total", "reads"),
        ("total", "loss", "accumulates"),
    }


def test_series():
    tape = particles(1000)
    series = tape_json(tape)["series"]
    assert series["gradient_norm"] == []
    assert len(series["step"]) == len(series["saved_bytes"]) <= POINTS
    tape.profile()
    series = tape_json(tape)["series"]
    assert len(series["step"]) == len(series["gradient_norm"]) == len(series["saved_bytes"]) <= POINTS
    norms = tape.profile().gradient_norm
    np.testing.assert_allclose(series["gradient_norm"], norms[series["step"]], rtol=1e-5)
    assert series["step"][0] == 0
    assert series["step"][-1] == 3000


@pytest.mark.parametrize("count", [0, 1, 512, 513, 5000])
def test_thinning_keeps_peaks_and_dips(count):
    values = np.sin(np.arange(count) * 0.1)
    for at in range(0, count, 97):
        spoilt = values.copy()
        spoilt[at] = 7.0
        kept = thinned(spoilt, POINTS)
        assert len(kept) <= POINTS
        assert at in kept
        spoilt[at] = np.nan
        assert at in thinned(spoilt, POINTS)


def test_numbers_that_json_does_not_have():
    x, loss = (ti.field(ti.f64, shape=(), needs_grad=True, name=name) for name in ("x", "loss"))

    @ti.kernel
    def root():
        loss[None] += ti.sqrt(x[None])

    @ti.kernel
    def scale():
        x[None] = 1.0 * x[None]

    with ti.Tape(loss) as tape:
        scale()
        root()
    assert tape_json(tape)["nonfinite"] is None
    tape.profile()
    made = tape_json(tape)
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert made["series"]["gradient_norm"] == ["inf", 1.0]
    assert made["nonfinite"] == {"call": 1, "kernel": "root", "field": "x.grad", "line": None}


def test_what_find_nan_has_found():
    x, loss = (ti.field(ti.f64, shape=(), needs_grad=True, name=name) for name in ("x", "loss"))

    @ti.kernel
    def logarithm():
        loss[None] += ti.log(x[None])

    tape = ti.Tape(loss, find_nan=True)

    def record():
        with tape:
            logarithm()

    with pytest.raises(ti.NonFiniteError):
        record()
    found = tape_json(tape)["nonfinite"]
    assert (found["call"], found["kernel"], found["field"]) == (0, "logarithm", "loss")
    assert found["line"] == tape.not_finite.span.line


def test_names_stay_what_they_are():
    made = tape_json(particles(names=HOSTILE))
    assert [f["name"] for f in made["fields"]] == [*HOSTILE, "loss"]
    assert json.loads(json.dumps(made)) == made


def test_timings_stand_apart():
    tape = particles(5)
    nothing = {"calls_s": [], "backward_s": [], "series_s": [], "series_backward_s": []}
    assert tape_timings(tape) == nothing
    tape = particles(5, profile=True)
    timings = tape_timings(tape)
    assert len(timings["calls_s"]) == len(timings["backward_s"]) == 4
    assert all(t > 0 for t in timings["calls_s"])
    steps = len(tape_json(tape)["series"]["step"])
    assert [len(timings["series_s"]), len(timings["series_backward_s"])] == [steps, steps]
    assert sum(timings["series_s"]) == pytest.approx(sum(timings["calls_s"]), rel=1e-4)
    other = particles(5)
    other.profile()
    assert tape_timings(other)["series_s"] == []  # an earlier call cannot be measured
    assert len(tape_timings(other)["series_backward_s"]) == steps
    assert tape_json(other) == tape_json(tape)


SAME = """
import json
import dsim as ti
ti.init(default_fp=ti.f64)
from dsim.notebook.tape import *
from tests.notebook.tape.tapes import particles
tape = measured(particles(40))
print(tape_text(tape))
print(tape_html(tape))
print(json.dumps(tape_json(tape)))
"""


@pytest.mark.slow
def test_two_processes_say_the_same():
    folder = Path(__file__).parents[3]
    said = [
        subprocess.run(
            [sys.executable, "-c", SAME],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert "particles" not in said[0].split("\n")[0]


def test_a_tape_of_nothing():
    loss = ti.field(ti.f64, shape=(), needs_grad=True, name="loss")
    tape = ti.Tape(loss)
    made = tape_json(tape)
    assert (made["calls"], made["groups"], made["series"]["step"]) == (0, [], [])
    assert "0 calls" in tape_html(tape)
    assert tape_text(tape) == "tape of `loss`: 0 calls"
