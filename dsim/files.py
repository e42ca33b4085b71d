"""Files that are written whole or not at all: a full disk, an error or a stop leaves the file of before."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Generator[Path, None, None]:
    """A file beside `path` to write to: after a block without an error it takes the place of `path`.

    It has the same suffix. What is no file, such as a pipe, is written to itself, as is a file in a folder
    where no other can be made.

    Raises
    ------
    OSError
        When the file cannot be written; it names `path`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     page = Path(folder, "page.html")
    ...     with replaced(page) as beside:
    ...         _ = beside.write_text("<p>done</p>")
    ...     page.read_text()
    '<p>done</p>'
    """
    target = Path(path).resolve()  # a link stays, and what it leads to is replaced
    there = target.exists()
    if (there and not target.is_file()) or not os.access(target.parent, os.W_OK):
        yield target
        return
    beside = target.with_name(f".{os.getpid()}.{threading.get_ident()}.{target.name}")
    try:
        yield beside
        if there:
            shutil.copymode(target, beside)
        beside.replace(target)
    except OSError as error:
        if error.filename == str(beside) or (error.filename is None and error.errno is not None):
            error.filename = str(path)
        raise
    finally:
        beside.unlink(missing_ok=True)
