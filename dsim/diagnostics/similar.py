"""Names that resemble a wrong one, for messages."""

from __future__ import annotations

from collections.abc import Sequence


def similar(wrong: str, known: Sequence[str]) -> str | None:
    """The name in `known` that is most like `wrong`; None if none is like it."""
    import difflib  # noqa: PLC0415 (only a message needs it)

    return next(iter(difflib.get_close_matches(wrong, known, 1)), None)
