"""Numbers as reports have them."""

import math

import numpy as np
import pytest

from dsim.notebook import figures


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
