"""Standard output that cannot be written, as on a full disk: one error for it, wherever a command prints."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout
from typing import Any


class OutputError(Exception):
    """Standard output cannot be written.

    Parameters
    ----------
    cause : OSError
        What the system says.
    """

    def __init__(self, cause: OSError) -> None:
        super().__init__(f"the output could not be written: {cause.strerror}")
        self.has_no_reader = cause.errno == errno.EPIPE  # as behind `| head`: who reads has enough


class _Checked:
    """A stream whose failures differ from those of other files."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._failing():
            return self._stream.write(text)

    def flush(self) -> None:
        with self._failing():
            self._stream.flush()

    @contextmanager
    def _failing(self) -> Generator[None, None, None]:
        try:
            yield
        except OSError as error:
            self._discard()
            raise OutputError(error) from error

    def _discard(self) -> None:
        """Gives what is left in the buffer to nobody: Python would try again at its exit, and complain."""
        nobody = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nobody, self._stream.fileno())
        os.close(nobody)


@contextmanager
def checked_output() -> Generator[None, None, None]:
    """Within it, whoever prints to standard output gets an `OutputError` where that cannot be written.

    Raises
    ------
    OutputError
        Also at its end, when what was printed before cannot be written.
    """
    if sys.stdout is None:  # a process without any
        yield
        return
    with redirect_stdout(_Checked(sys.stdout)):
        try:
            yield
        finally:
            sys.stdout.flush()
