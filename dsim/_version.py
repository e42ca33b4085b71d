"""The version, in the one place from which the package and its wheel both take it."""

__version__ = "0.1.0.dev0"
