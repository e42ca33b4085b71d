"""Syntax colours of Python: every character is kept, each token has its class."""

import pytest

from dsim.notebook.forms.colours import pieces

CELL = """%%kernel energy --loss U  # a
# first
for i, j in ds.ndrange(N, 3):
    s = '''a
  b'''

def f(a): pass"""


def test_pieces():
    lines = pieces(CELL)
    assert lines[0] == (("nd", "%%kernel energy --loss U  # a"),)
    assert lines[1] == (("c", "# first"),)
    assert lines[2][0] == ("k", "for")
    assert ("k", "in") in lines[2]
    assert ("m", "3") in lines[2]
    assert lines[3][-1] == ("s", "'''a")
    assert lines[4] == (("s", "  b'''"),)
    assert ("nf", "f") in lines[6]


@pytest.mark.parametrize(
    "text",
    [
        CELL,
        "",
        "\n",
        "%%kernel",
        "\n\n  \n%%kernel a\n\nx = 1\n",
        "a = 1\r\nb = '\x0c'\n\tc = 2",
        "def (broken: 'unfinished\n  )) ü漢🌊 \x1b[31m",
        "\ufeffa = 1",
        "x = 1\n" * 5000,
    ],
)
def test_no_character_is_lost(text):
    assert ["".join(piece for _, piece in line) for line in pieces(text)] == text.split("\n")
