"""The origins of numbers that are not finite, and infinite slopes at points without a derivative."""

import numpy as np
import pytest

from tests.notebook.report.test_reports import validated

# Infinite slopes at 0, of finite values.
STEEP = {
    "sqrt": "ds.sqrt({})",
    "pow": "({}) ** 0.5",
    "asin": "ds.asin(1.0 - {})",
    "acos": "ds.acos(1.0 - {})",
    "nested": "ds.exp(2.0 * ds.sqrt({}))",
}
# 0 where y is 1, a kink at which dsim chooses the derivative 0.
CHOSEN = {
    "abs": "abs(y[i] - 1.0)",
    "max": "max(y[i] - 1.0, 0.0)",
    "min": "-min(1.0 - y[i], 0.0)",
    "norm": "ds.Vector([y[i] - 1.0, 0.0]).norm()",
    "clamp": "ds.math.clamp(0.0, y[i] - 1.0, 5.0)",
    "relu": "relu(y[i] - 1.0)",
    "select": "ds.select(y[i] > 1.0, y[i] - 1.0, 0.0)",
    "both": "ds.select((y[i] > 1.0) & (i < 100), y[i] - 1.0, 0.0)",
    "ternary": "(0.2 * ds.exp(y[i]) - 0.2 * ds.exp(1.0) if y[i] > 1.0 else 0.0)",
}
# 0 there, independent of y.
FLAT = {
    "far": "ds.select(y[i] > 1.1, y[i] - 1.0, 0.0)",
    "below": "max(0.5 - y[i], 0.0)",
    "step": "(ds.floor(y[i] + 0.3) - ds.floor(y[i] + 0.3))",
    "whole": "0.0 * float(int(y[i]))",
}


@pytest.fixture
def notebook(notebook):
    """Of the eight numbers `y` the third and the fourth are 1, none is less."""
    notebook.good("y.from_numpy(np.array([1.75, 1.5, 1.0, 1.0, 1.25, 1.5, 1.75, 1.9]))")
    notebook.good("@ds.func\ndef relu(a):\n    if a < 0.0:\n        a = 0.0\n    return max(a, 0.0)")
    return notebook


def told(ran):
    """Code, underlined text, and how often, of what a report says."""
    return sorted(
        (d["code"], d["text"][d["column"] : d["end_column"]], d["message"].rpartition(": ")[2])
        for d in validated(ran.report)["diagnostics"]
        if d["code"] != "unreached"
    )


def cells(inner_ones):
    """All in one cell, in each slope at least one: as they are, and with names for all parts."""
    root, *others = STEEP.values()
    expressions = [(root, inner) for inner in inner_ones]
    expressions += [(outer, inner) for outer in others for inner in (inner_ones[0], inner_ones[-1])]
    head = "%%kernel k --loss U\nfor i in y:\n"
    plain = "".join(f"    U[None] += {outer.format(inner)}\n" for outer, inner in expressions)
    named = "".join(
        f"    a{n} = {inner}\n    b{n} = {outer.format(f'a{n}')}\n    U[None] += b{n}\n"
        for n, (outer, inner) in enumerate(expressions)
    )
    return head + plain, head + named


@pytest.mark.slow
def test_what_is_told_does_not_depend_on_names(notebook):
    plain, named = map(notebook.good, cells(list(CHOSEN.values())))
    gradient = notebook.names["y"].grad.to_numpy()
    np.testing.assert_array_equal(gradient[2:4], [0, 0])
    assert np.isfinite(gradient).all()
    assert told(plain) == told(named)
    found = told(plain)
    assert len(found) == len(CHOSEN) + 2 * (len(STEEP) - 1)
    assert {code for code, *_ in found} == {"infinite-slope"}
    assert {often for *_, often in found} == {"2 of 8 times, first at i = 2"}


@pytest.mark.slow
def test_where_the_gradient_is_0_nothing_is_told(notebook):
    for cell in cells(list(FLAT.values())):
        assert told(notebook.good(cell)) == []
        gradient = notebook.names["y"].grad.to_numpy()
        np.testing.assert_array_equal(gradient[2:4], [0, 0])
        assert np.isfinite(gradient).all()


@pytest.mark.slow
def test_what_is_not_taken_is_not_told(notebook):
    """Values that are not finite, named or not, in branches that nobody takes."""
    for line in (
        "U[None] += ds.select(y[i] > 1.0, ds.log(y[i] - 1.0), 2.0)",
        "a = ds.log(y[i] - 1.0)\n    U[None] += ds.select(y[i] > 1.0, a, 2.0)",
        "a = 1.0 / (y[i] - 1.0)\n    if y[i] > 1.0:\n        U[None] += a",
    ):
        assert told(notebook.good(f"%%kernel k --loss U\nfor i in y:\n    {line}")) == []


def test_one_place_of_a_line_is_underlined(notebook):
    (d,) = validated(
        notebook.good(
            "%%kernel k --loss U\nfor i in y:\n    p = y[i]\n    U[None] += p + 2.0 * ds.log(p - 1.0) * p"
        ).report
    )["diagnostics"]
    assert d["text"][d["column"] : d["end_column"]] == "ds.log(p - 1.0)"
    assert (d["code"], d["line"], d["label"]) == ("nan", 4, "2 of 8 times")
    assert d["message"] == "`ds.log(p - 1.0)` is not finite here, although its operands are"


def test_one_place_of_a_slope_is_underlined(notebook):
    ran = notebook.good(
        "%%kernel k --loss U\nfor i in y:\n    p = y[i] - 1.0\n    U[None] += p + ds.sqrt(p) * p + ds.sqrt(p)"
    )
    (d,) = validated(ran.report)["diagnostics"]
    assert d["text"][d["column"] : d["end_column"]] == "ds.sqrt(p)"
    assert (d["column"], d["label"]) == (36, "2 of 8 times")
    assert d["message"] == (
        "the gradient ∂U/∂ of `ds.sqrt(p)` is finite, and that of what it is computed from is not"
    )
    assert "        ^^^^^^^^^^ 2 of 8 times" in ran.form("plain")


@pytest.mark.slow
def test_in_forward_mode(notebook):
    cell = "%%kernel k --forward y\nfor i in y:\n    U[None] += 2.0 * ds.sqrt(y[i] - 1.0)"
    (d,) = validated(notebook.good(cell).report)["diagnostics"]
    assert d["text"][d["column"] : d["end_column"]] == "ds.sqrt(y[i] - 1.0)"
    assert d["message"] == (
        "the tangent of what `ds.sqrt(y[i] - 1.0)` is computed from is finite, and that of it is not"
    )
    chosen = "%%kernel k --forward y\nfor i in y:\n    U[None] += abs(ds.sqrt(y[i] - 1.0))"
    (d,) = validated(notebook.good(chosen).report)["diagnostics"]
    assert (d["code"], d["message"].rpartition(": ")[2]) == ("infinite-slope", "2 of 8 times, first at i = 2")


@pytest.mark.slow
def test_in_a_func_of_another_cell(notebook):
    notebook.good("@ds.func\ndef root(a):\n    return ds.sqrt(a) * 2.0")
    for line in ("U[None] += 3.0 * root(y[i] - 1.0)", "a = root(y[i] - 1.0)\n    U[None] += 3.0 * a"):
        (d,) = validated(notebook.good(f"%%kernel k --loss U\nfor i in y:\n    {line}").report)["diagnostics"]
        assert d["code"] == "nan"
        assert d["text"][d["column"] : d["end_column"]] == "root(y[i] - 1.0)"
        (r,) = d["related"]
        assert (r["text"].strip(), r["text"][r["column"] : r["end_column"]], r["label"]) == (
            "return ds.sqrt(a) * 2.0",
            "ds.sqrt(a)",
            "2 of 8 times",
        )


@pytest.mark.slow
def test_a_maximum_over_iterations(notebook):
    """Of two values that tie for the greatest, behind an infinite slope, one counts."""
    notebook.good("top = ds.field(ds.f64, shape=(), needs_grad=True)")
    cell = (
        "%%kernel k --loss U\nfor i in range(2):\n    ds.atomic_max(top[None], y[i + 2] - 1.0)\n"
        "for i in range(1):\n    U[None] += ds.sqrt(top[None])"
    )
    codes = {d["code"] for d in validated(notebook.good(cell).report)["diagnostics"]}
    assert codes >= {"infinite-slope"}


def test_what_was_there_before_is_not_born(notebook):
    notebook.good("y[3] = float('nan')")
    ran = notebook.good("%%kernel k --loss U\nfor i in y:\n    a = y[i] * 2.0\n    U[None] += a")
    assert told(ran) == []


@pytest.mark.slow
def test_the_places_of_the_slopes_are_told(notebook):
    ran = notebook.good(
        "%%kernel k --loss U\nfor i in y:\n    a = abs(y[i] - 1.0)\n    U[None] += ds.sqrt(a)"
    )
    (d,) = validated(ran.report)["diagnostics"]
    assert (d["level"], d["line"]) == ("warning", 3)
    assert d["label"] == "it is -1 below and 1 above; dsim takes 0"
    assert [(r["line"], r["label"]) for r in d["related"]] == [(4, "from a slope that is not finite here")]
