"""The formats of numbers in reports."""

import math

import numpy as np
import pytest

from dsim.notebook.report import figures


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.123456, "0.123"),
        (-10.44, "-10.4"),
        (-0.0, "0"),
        (1e-12, "1e-12"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (123456789, "123456789"),
        (True, "True"),
        (np.float32(0.1), "0.1"),
        (np.array([0.12, -0.4]), "(0.12, -0.4)"),
        (np.array([[1.0, 2.0], [3.0, 4.5]]), "((1, 2), (3, 4.5))"),
        (np.array([1, 2]), "(1, 2)"),
    ],
)
def test_short(value, text):
    assert figures.short(value) == text


def test_plain_is_what_json_has():
    assert figures.plain(1 / 3) == 0.333333
    assert figures.plain(np.array([[1.0, math.nan], [math.inf, -math.inf]])) == [
        [1.0, "nan"],
        ["inf", "-inf"],
    ]
    assert figures.plain(np.int64(2**60)) == 2**60
    assert figures.plain(np.array(2.5)) == 2.5
    assert figures.plain(np.array(True)) is True


def test_sizes_and_counts():
    assert [figures.size(n) for n in (8, 2048, 3 * 2**20, 5 * 2**30)] == [
        "8 bytes",
        "2 KiB",
        "3 MiB",
        "5 GiB",
    ]
    assert (figures.count(1, "field"), figures.count(2, "field")) == ("1 field", "2 fields")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.123456, "0.123"),
        (np.array([1.0, 2.0, 3.0, 4.0]), "(1, 2, 3, 4)"),
        (np.array([[1.0, 2.0], [3.0, 4.5]]), "((1, 2), (3, 4.5))"),
        (np.array([3.0, 0, 0, 0, 4.0]), "(3, 0, 0, …) 5 numbers, norm 5"),
        (np.diag([2.0, 2.0, 1.0]), "((2, 0, 0), …) 3×3, norm 3"),
        (np.ones((2, 8)), "((1, 1, 1, …), …) 2×8, norm 4"),
        (np.ones((9, 1)), "((1), …) 9×1, norm 3"),
        (np.full((3, 3), 1e200), "((1e+200, 1e+200, 1e+200), …) 3×3, norm 3e+200"),
        (np.zeros((3, 3)), "0 (3×3)"),
        (np.zeros(9), "0 (9)"),
        (np.full((3, 3), math.nan), "((nan, nan, nan), …) 3×3, norm nan"),
    ],
)
def test_brief(value, text):
    assert figures.brief(value) == text


def test_listed():
    assert [figures.listed("xvC"[:n]) for n in (1, 2, 3)] == ["x", "x and v", "x, v and C"]
