"""Errors for names of Taichi's that dsim does not have."""

from __future__ import annotations

from typing import NoReturn

from dsim.diagnostics.frames import outermost


class AbsentError(AttributeError):
    """A name that a module of dsim does not have; `help` names the alternative, if any."""

    help = ""


class AbsentPart:
    """What Taichi has in a module that is a function here: a use of it is an `AbsentError`.

    Examples
    --------
    >>> builder = AbsentPart("graph", "GraphBuilder", "`ds.graph(run)` records launches")
    >>> builder()
    Traceback (most recent call last):
        ...
    dsim.diagnostics.absent.AbsentError: `graph` has no `GraphBuilder`: `ds.graph(run)` records launches
    """

    def __init__(self, of: str, name: str, why: str) -> None:
        self._said, self._why = f"`{of}` has no `{name}`: {why}", why

    @outermost
    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Raises the error."""
        raise self._error()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # Python asks for it, to copy or show this
            raise AttributeError(name)
        raise self._error()

    def _error(self) -> AbsentError:
        error = AbsentError(self._said)
        error.help = self._why
        return error
