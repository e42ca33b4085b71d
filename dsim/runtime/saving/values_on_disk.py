"""Values in files, for checkpoints that do not fit into memory."""

from __future__ import annotations

import shutil
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.places import caller


class Files:
    """Files in a folder of their own, which goes with this object.

    Parameters
    ----------
    directory : Path
        Where that folder is made.
    """

    def __init__(self, directory: Path) -> None:
        self._around = directory
        with _explained(directory):
            made = tempfile.mkdtemp(prefix="dsim-checkpoints-", dir=directory)
        self._own = Path(made)
        self._number = 0
        self.close = weakref.finalize(self, shutil.rmtree, made, ignore_errors=True)

    def write(self, values: np.ndarray) -> ValuesOnDisk:
        """Writes values to another file."""
        self._number += 1
        return ValuesOnDisk(self._own / f"{self._number}.npy", self._around, values)


class ValuesOnDisk:
    """Values in a file.

    Raises
    ------
    GradientError
        When the file cannot be written, or read again, and when another program has changed it.
    """

    __slots__ = ("_directory", "_path", "_sum")

    def __init__(self, path: Path, directory: Path, values: np.ndarray) -> None:
        self._path, self._directory, self._sum = path, directory, _checksum(values)
        with _explained(directory):
            np.save(path, values)

    def read(self) -> np.ndarray:
        """The values."""
        with _explained(self._directory):
            try:
                values = np.asarray(np.load(self._path))
            except (ValueError, EOFError):  # NumPy takes what it does not know for pickled objects
                values = None
            if values is None or _checksum(values) != self._sum:
                raise ValueError("a file there has changed")
            return values

    def delete(self) -> None:
        """Deletes the file."""
        self._path.unlink(missing_ok=True)


def _checksum(values: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(values).data)


@contextmanager
def _explained(directory: Path) -> Iterator[None]:
    """Says of an error of the system what it means for a tape."""
    try:
        yield
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"the folder `{directory}` cannot keep the states: {reason}"
        advice = "pass as `directory` one that exists, may be written to, and has room for them"
        raise GradientError(Diagnostic("memory", message, caller(), "here", help=advice)) from None
