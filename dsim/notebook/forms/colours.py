"""Syntax highlighting by Pygments: static pages do not colour `%%kernel` cells themselves.

Markup and the colours themselves are in `page.py` and `page.css`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Literal, Name, Operator, _TokenType

Pieces = tuple[tuple[str, str], ...]  # of a line: a class, empty for plain text, and the text

_LONGEST = 20_000  # the most characters that are coloured: more would take too long
_MAGIC = "%%"
_CLASSES = (  # named as Pygments does, as they stand in pages very often
    (Comment, "c"),
    (Literal.String, "s"),
    (Literal.Number, "m"),
    (Operator.Word, "k"),  # `and`, `in`
    (Keyword, "k"),
    (Name.Function, "nf"),
    (Name.Class, "nf"),
    (Name.Decorator, "nd"),
    (Name.Builtin, "nb"),
)


@lru_cache(maxsize=16)  # the slider's reports have the same texts
def pieces(text: str) -> tuple[Pieces, ...]:
    """The lines of `text`, a cell or a listing in Python, each as its pieces."""
    lines = text.split("\n")
    start = next((n for n, line in enumerate(lines) if line.strip()), 0)
    magic = lines[start].startswith(_MAGIC)
    head = lines[: start + 1] if magic else []
    body = "\n".join(lines[len(head) :])
    first = [(("nd", line),) for line in head]
    return (*first, *_python(body)) if len(lines) > len(head) else tuple(first)


def _python(text: str) -> tuple[Pieces, ...]:
    plain = tuple((("", line),) for line in text.split("\n"))
    if len(text) > _LONGEST:
        return plain
    found: list[list[tuple[str, str]]] = [[]]
    for klass, piece in _tokens(text):
        first, *others = piece.split("\n")
        found[-1].append((klass, first))
        found += [[(klass, other)] for other in others]
    lines = tuple(tuple((k, t) for k, t in _joined(line)) for line in found)
    # A lexer may drop characters that it takes for line ends: then the text stays uncoloured.
    return lines if ["".join(t for _, t in line) for line in lines] == text.split("\n") else plain


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    lexer = PythonLexer(stripnl=False, ensurenl=False)
    for kind, piece in lexer.get_tokens(text):
        yield _class(kind), piece


@cache
def _class(kind: _TokenType) -> str:
    return next((klass for parent, klass in _CLASSES if kind in parent), "")


def _joined(line: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Neighbours of one class as one piece."""
    klass, text = "", ""
    for k, t in line:
        if k == klass:
            text += t
            continue
        if text:
            yield klass, text
        klass, text = k, t
    if text:
        yield klass, text
