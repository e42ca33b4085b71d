"""Launches in a file, with what they were given and what they gave: for machines without dsim.

A bundle is a ZIP of PTX, of arrays in NumPy's format, and of ``bundle.json``, which says how they belong
together. Reading and writing need NumPy alone.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


@dataclass
class Entry:
    """A `GridKernel` of a module, and the most threads of its blocks."""

    name: str
    kind: str
    threads: int
    shared_bytes: int
    block_bytes: int
    sums: int
    pool: bool


@dataclass
class Module:
    """A kernel in grid form.

    Attributes
    ----------
    ptx : str
        The name of its text in the bundle.
    words : int
        The length of its frame.
    params : int
        The slot of its first parameter.
    memories : list of int
        The slots of the addresses of its memories.
    results : list
        What it returns: for each a slot and a type of NumPy's; or None for a constant.
    """

    name: str
    ptx: str
    words: int
    params: int
    memories: list[int]
    results: list[tuple[int, str] | None]
    entries: list[Entry]
    prints: bool


@dataclass
class Launch:
    """A launch of a module on buffers of its run.

    Attributes
    ----------
    params : str
        The bytes of its parameters, in hexadecimal digits.
    results : str or None
        The name of an array of what it returns.
    fault : list or None
        The number of the fault that it ends with, among its module's, and the bits of the reported values.
    prints : list or None
        The rows that it prints, in any order.
    unit : float
        What deviations of its results are measured in.
    uploads : list
        What the host writes before: for each the number of a buffer and the name of its values; None: zeros.
    """

    module: int
    params: str
    buffers: list[int]
    results: str | None = None
    fault: list[Any] | None = None
    prints: list[Any] | None = None
    unit: float = 1.0
    uploads: list[tuple[int, str | None]] = field(default_factory=list)


@dataclass
class Buffer:
    """An array of a run.

    Attributes
    ----------
    before : str or None
        The name of its values before the run; None: zeros.
    after : str or None
        The name of those after it; None: it is not compared.
    every : int
        Of the flattened values after the run, every how many-th are kept.
    unit : float
        What deviations are measured in: about the largest number that its values are computed from.
    """

    dtype: str
    shape: list[int]
    before: str | None = None
    after: str | None = None
    every: int = 1
    unit: float = 1.0


@dataclass
class Run:
    """Launches one after the other, on buffers that stay on the device in between.

    Attributes
    ----------
    tolerance : dict
        By a dtype's name, how far a value may be off, in units of its buffer.
    moved : int
        The least number of bytes that its launches read and write, where it is counted.
    seconds : float
        How long the processor took that recorded it; 0 where that was not measured.
    timed : bool
        Whether it is worth timing.
    """

    label: str
    tolerance: dict[str, float]
    buffers: list[Buffer] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    moved: int = 0
    seconds: float = 0.0
    timed: bool = False


class Writer:
    """Writes a bundle; equal texts, arrays and modules are written once.

    Parameters
    ----------
    slots : dict
        The slots of a frame that all modules have, by name.
    """

    def __init__(self, path: Path, slots: dict[str, int]) -> None:
        self.path = path
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self._slots = slots
        self._written: set[str] = set()
        self._numbers: dict[str, int] = {}
        self.modules: list[Module] = []
        self.runs: list[Run] = []

    def text(self, text: str) -> str:
        """The name of a text."""
        return self._put("ptx", text.encode())

    def array(self, array: np.ndarray) -> str:
        """The name of an array."""
        file = io.BytesIO()
        np.save(file, array, allow_pickle=False)
        return self._put("arrays", file.getvalue())

    def _put(self, folder: str, content: bytes) -> str:
        name = f"{folder}/{hashlib.blake2b(content, digest_size=12).hexdigest()}"
        if name not in self._written:
            self._written.add(name)
            self._zip.writestr(name, content)
        return name

    def module(self, module: Module) -> int:
        """The number of a module."""
        key = repr(module)
        if key not in self._numbers:
            self._numbers[key] = len(self.modules)
            self.modules.append(module)
        return self._numbers[key]

    def close(self) -> None:
        """Writes the index, and closes the file."""
        index = {
            "slots": self._slots,
            "modules": [asdict(m) for m in self.modules],
            "runs": [asdict(r) for r in self.runs],
        }
        self._zip.writestr("bundle.json", json.dumps(index))
        self._zip.close()


class Bundle:
    """A bundle that was written.

    Attributes
    ----------
    slots : dict
    modules : list of Module
    runs : list of Run
    """

    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path)
        index = json.loads(self._zip.read("bundle.json"))
        self.slots: dict[str, int] = index["slots"]
        self.modules = [_module(m) for m in index["modules"]]
        self.runs = [_run(r) for r in index["runs"]]
        self.array = cache(self._array)

    def text(self, name: str) -> str:
        """A text."""
        return self._zip.read(name).decode()

    def _array(self, name: str) -> np.ndarray:
        return np.load(io.BytesIO(self._zip.read(name)), allow_pickle=False)


def _module(index: dict[str, Any]) -> Module:
    return Module(**{**index, "entries": [Entry(**e) for e in index["entries"]]})


def _run(index: dict[str, Any]) -> Run:
    buffers = [Buffer(**b) for b in index["buffers"]]
    return Run(**{**index, "buffers": buffers, "launches": [Launch(**x) for x in index["launches"]]})
