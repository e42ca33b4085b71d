"""Reports of kernels with dataclass arguments: of one program, without side effects."""

import numpy as np
import pytest

from tests.notebook.forms.living import page, told  # noqa: F401
from tests.notebook.forms.test_scrubber import live, moved, sliders  # noqa: F401
from tests.notebook.report.test_reports import validated
from tests.runtime.fields.test_tensors import Tensor

CLASSES = """\
from dataclasses import dataclass
@dataclass
class Weights:
    w: ds.types.ndarray()
@dataclass(frozen=True)
class Parts:
    weights: Weights
    f: ds.template()
    k: float
    shift: ds.types.vector(2, ds.f64)
    levels: ds.template()
@dataclass
class Whole:
    parts: Parts
"""
MADE = """\
w = np.arange(1.0, 9.0)
v = ds.ndarray(ds.f64, N, needs_grad=True)
v.fill(2.0)
p = Whole(Parts(Weights(w), y, 3.0, [0.25, 0.5], [1.0, 2.0]))
"""
CELL = """\
%%kernel weighed(p: Whole) --loss U --probe 0
for i in p.parts.f:
    e = p.parts.k * p.parts.weights.w[i] * p.parts.f[i] + p.parts.shift[1] * p.parts.levels[1]
    U[None] += e"""


@pytest.fixture
def parts(page):  # noqa: F811
    """A notebook with a dataclass `p`, of arrays, fields and numbers."""
    page.good(CLASSES + MADE)
    return page


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("p.parts.weights.w = w + 1", "`p.parts.weights.w` was redefined"),
        (
            "p.parts = Parts(Weights(2 * w), y, 3.0, [0.25, 0.5], [1.0, 2.0])",
            "`p.parts.weights.w` was redefined",
        ),
        ("p.parts.shift[1] = 4.0", "`p.parts.shift` has a different value"),
        ("p.parts.levels[1] = 4.0", "`p.parts.levels` has a different value"),
        (
            "p.parts = Parts(p.parts.weights, U, 4.0, p.parts.shift, p.parts.levels)",
            "`p.parts.f` was redefined, `p.parts.k` is 4.0, and was 3.0",
        ),
        ("p = Weights(w)", "`p` was redefined"),
        ("p = 1", "`p` was redefined"),
        ("del p", "`p` is no longer defined"),
        ("p.parts = 2", "`p.parts` was redefined"),
        ("del p.parts.weights.w", "`p.parts.weights.w` is no longer defined"),
    ],
)
def test_other_members(parts, change, said):
    found = sliders(parts.good(CELL, "weighed"))
    (before,) = moved(found["i"], 5)
    assert said in told(parts, change)
    assert moved(found["i"], 4) == []
    assert told(parts, "p = Whole(Parts(Weights(w), y, 3.0, [0.25, 0.5], [1.0, 2.0]))") == ""
    (after,) = moved(found["i"], 5)
    assert after["probe"] == before["probe"]
    assert "stale" not in validated(after)


def test_what_is_the_same_is_no_change(parts):
    parts.good(CELL, "weighed")
    assert told(parts, "p = Whole(Parts(Weights(w), y, 3.0, [0.25, 0.5], [1.0, 2.0]))") is None
    assert told(parts, "w[:] = 7.0") is None


@pytest.mark.parametrize("array", ["w", "v"])
def test_sliders_show_the_run_whatever_arrays_hold_since(parts, array):
    parts.good(f"p.parts.weights.w = {array}")
    found = sliders(parts.good(CELL, "weighed"))
    (before,) = moved(found["i"], 5)
    parts.good(f"{array}{'[:] = -7.0' if array == 'w' else '.fill(-7.0)'}", "elsewhere")
    moved(found["i"], 4)
    (after,) = moved(found["i"], 5)
    assert after["probe"] == before["probe"]
    held = parts.names[array]
    np.testing.assert_array_equal(held if array == "w" else held.to_numpy(), np.full(8, -7.0))


def test_a_report_puts_a_tensor_back(parts):
    parts.names["t"] = tensor = Tensor(np.arange(1.0, 9.0))
    parts.good(
        "%%kernel grown(t: ds.types.ndarray()) --loss U\nfor i in y:\n    t[i] *= 2.0\n    U[None] += y[i]"
    )
    np.testing.assert_array_equal(tensor.array, np.arange(1.0, 9.0))


@pytest.mark.parametrize("option", ["--loss U", "--loss U --probe 3", "--run", "--forward y"])
def test_a_report_puts_arrays_back(parts, option):
    cell = f"%%kernel grown(p: Whole) {option}\nfor i in y:\n    p.parts.weights.w[i] *= 2.0"
    ran = parts.good(cell + "\n    U[None] += p.parts.weights.w[i] * y[i]")
    np.testing.assert_array_equal(parts.names["w"], np.arange(1.0, 9.0))
    shown = {v["name"]: v["value"] for v in ran.report["probe"]["values"]}
    at = ran.report["probe"]["indices"][0]["value"]
    assert shown["p.parts.weights.w[i]"] == 2.0 * (at + 1)


@pytest.mark.slow
def test_defaults_and_members_of_their_own_class(parts):
    parts.good(
        "@dataclass\nclass Own:\n    k: float\n    own: ds.template()\nown = Own(2.0, None)\nown.own = own"
    )
    cell = "%%kernel owned(o: Own = own) --loss U\nfor i in y:\n    U[None] += o.k * y[i]"
    assert parts.good(cell, "owned").error is None
    assert told(parts, "own.k = 3.0") == "`o.k` is 3.0, and was 2.0"
    assert told(parts, "own.k = 2.0") == ""
    assert told(parts, "own = 3.0") == "`own` was redefined"
