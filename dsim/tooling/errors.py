"""What a command says when it cannot go on: what is wrong, and the next step."""

from __future__ import annotations


class ToolError(Exception):
    """A command that cannot go on.

    Parameters
    ----------
    message : str
        What is wrong, in one sentence or a few lines.
    help : str
        What to do about it.
    """

    def __init__(self, message: str, *, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help

    def __str__(self) -> str:
        """The message, and below it the next step."""
        return f"{self.message}\nhelp: {self.help}" if self.help else self.message
