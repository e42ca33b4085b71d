"""The error of a command: the problem and the next step."""

from __future__ import annotations


class ToolError(Exception):
    """An error that ends a command.

    Parameters
    ----------
    message : str
        The problem, in one sentence or a few lines.
    help : str
        The next step.
    """

    def __init__(self, message: str, *, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help

    def __str__(self) -> str:
        """The message, and below it the next step."""
        return f"{self.message}\nhelp: {self.help}" if self.help else self.message
