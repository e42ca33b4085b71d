"""Machine code on disk: what one process has compiled, later ones load.

A file holds the object code of one module, under a hash of all that the code follows from, which `code.py`
computes. The folder is trusted as far as the file system vouches for it: folder and files belong to this
user, and nobody else may write them. A file that does not match its checksum is as good as absent, and
replaced. Files are written under another name first, so that processes never see a part of one. Where
the folder cannot be read or written, programs compile as they would without it; `status` gives the reason.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

VARIABLE = "DSIM_CACHE_DIR"
LIMIT = 512 << 20  # bytes
_HEAD = b"dsim machine code 1\n"
_CHECK = 32  # bytes of the checksum
_SUFFIX, _UNFINISHED = ".o", ".part"
_LOOKS = 64  # how often the size of the folder is looked at while modules of `limit` bytes are saved
_KEPT = 0.75  # of the limit, after the folder was trimmed
_AGES = 3600  # seconds after which a use is noted in a file's time, and a part of a file is left behind
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class CacheStatus(NamedTuple):
    """What `DiskCache.status` found.

    Attributes
    ----------
    folder : Path or None
        Where the files are; None when the cache is switched off.
    files, size, limit : int
        Their number, their bytes, and the most bytes that they may take.
    fault : str
        Why the folder is not used, or only read; empty when all is well.
    """

    folder: Path | None
    files: int
    size: int
    limit: int
    fault: str


class DiskCache:
    """A folder of machine code.

    Parameters
    ----------
    folder : Path or None
        The folder, made when it is first needed; None for no cache.
    limit : int
        The most bytes that its files may take, approximately.
    """

    def __init__(self, folder: Path | None, limit: int = LIMIT) -> None:
        self.folder = folder
        self.limit = limit
        self._writes = True

    def load(self, key: bytes) -> bytes | None:
        """The image saved under `key`, or None."""
        if self.folder is None:
            return None
        try:
            with _opened(self.folder) as at:
                found = _read(at, _name(key))
        except OSError:
            return None
        head = len(_HEAD) + _CHECK
        image = found[head:]
        return image if found[:head] == _HEAD + _checksum(key, image) else None

    def save(self, key: bytes, image: bytes) -> None:
        """Keeps `image` under `key`, where that is possible."""
        if self.folder is None or not self._writes or len(image) > self.limit // 8:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _opened(self.folder) as at:
                _write(at, _name(key), _HEAD + _checksum(key, image) + image)
                if self._looks(key, len(image)):
                    _trim(at, self.limit)
        except OSError:
            self._writes = False  # and asks no more: the disk may be full, or the folder read-only

    def _looks(self, key: bytes, size: int) -> bool:
        """Whether to look at the size of the folder: the more bytes are saved, the more keys ask for it.

        A full folder of small modules has 100,000 files, which take 0.3 s to look at.
        """
        return int.from_bytes(key[:4], "big") * self.limit < (_LOOKS * size) << 32

    def clear(self) -> int:
        """Removes all files, and gives back how many bytes they took.

        Raises
        ------
        OSError
            When they cannot be removed.
        """
        if self.folder is None or not self.folder.exists():
            return 0
        with _opened(self.folder) as at:
            found = list(_files(at))
            for name, _, _ in found:
                _remove(at, name)
        return sum(size for _, size, _ in found)

    def status(self) -> CacheStatus:
        """The folder as it is now; tries to write to it."""
        if self.folder is None:
            return CacheStatus(None, 0, 0, self.limit, "")
        files, fault = [], ""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _opened(self.folder) as at:
                files = [f for f in _files(at) if f[0].endswith(_SUFFIX)]
                trial = f"{secrets.token_hex(8)}{_UNFINISHED}"
                _write(at, trial, _HEAD)
                os.unlink(trial, dir_fd=at)
        except OSError as e:
            fault = e.strerror or str(e)
        return CacheStatus(self.folder, len(files), sum(size for _, size, _ in files), self.limit, fault)


def default_folder() -> Path | None:
    """The folder that `DSIM_CACHE_DIR` names, else the user's own for caches; None where it is empty."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        return Path(given).absolute() if given else None
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():  # its specification says to ignore others
        return base / "dsim"
    try:
        return Path.home() / ".cache" / "dsim"
    except RuntimeError:
        return None


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """The folder, open: what is verified is what is used, whatever happens to its path."""
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _verify(os.fstat(at), "the folder")
        yield at
    finally:
        os.close(at)


def _verify(found: os.stat_result, what: str) -> None:
    if found.st_uid != os.geteuid():
        raise PermissionError(0, f"{what} belongs to another user")
    if found.st_mode & _OTHERS_WRITE:
        raise PermissionError(0, f"other users may write to {what}")


def _name(key: bytes) -> str:
    return key.hex() + _SUFFIX


def _checksum(key: bytes, image: bytes) -> bytes:
    return hashlib.blake2b(key + image, digest_size=_CHECK).digest()


def _read(at: int, name: str) -> bytes:
    """The content of a file, whose time then tells that it was used."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        _verify(found, name)
        if not stat.S_ISREG(found.st_mode):
            raise PermissionError(0, f"{name} is not a file")
        content = file.read()
        if time.time() - found.st_mtime > _AGES:
            with contextlib.suppress(OSError):  # in a read-only file system
                os.utime(descriptor)
    return content


def _write(at: int, name: str, content: bytes) -> None:
    part = f"{secrets.token_hex(16)}{_UNFINISHED}"
    descriptor = os.open(
        part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=at
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(part, name, src_dir_fd=at, dst_dir_fd=at)
    except OSError:
        _remove(at, part)
        raise


def _files(at: int) -> Iterator[tuple[str, int, float]]:
    """The name, size and time of each file of the cache."""
    for name in os.listdir(at):
        if name.endswith((_SUFFIX, _UNFINISHED)):
            with contextlib.suppress(FileNotFoundError):  # another process trims, too
                found = os.stat(name, dir_fd=at, follow_symlinks=False)
                yield name, found.st_size, found.st_mtime


def _trim(at: int, limit: int) -> None:
    """Removes the files that were not used for longest, when all take more than `limit`."""
    found = sorted(_files(at), key=lambda file: file[2])
    total = sum(size for _, size, _ in found)
    most = limit * _KEPT if total > limit else total
    for name, size, used in found:
        unfinished = name.endswith(_UNFINISHED)  # another process writes it, or did so long ago
        if time.time() - used > _AGES if unfinished else total > most:
            _remove(at, name)
            total -= size


def _remove(at: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=at)


class CacheChoice(NamedTuple):
    """What `init` chose.

    Attributes
    ----------
    used : bool
        Whether there is a cache.
    folder : Path or None
        Its folder; None for the default one.
    limit : int
        The most bytes that its files may take.
    """

    used: bool = True
    folder: Path | None = None
    limit: int = LIMIT


class _State:
    def __init__(self) -> None:
        self.choice = CacheChoice()
        self.cache = DiskCache(None)


_STATE = _State()


def choice() -> CacheChoice:
    """What was chosen last."""
    return _STATE.choice


def choose(chosen: CacheChoice) -> None:
    """Decides where machine code is kept from now on."""
    _STATE.choice = chosen


def disk_cache() -> DiskCache:
    """The cache in force."""
    used, folder, limit = _STATE.choice
    folder = (folder or default_folder()) if used else None
    if (folder, limit) != (_STATE.cache.folder, _STATE.cache.limit):
        _STATE.cache = DiskCache(folder, limit)
    return _STATE.cache
