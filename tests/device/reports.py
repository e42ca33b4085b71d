"""Kernels that report something: faults, and prints."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import numpy as np

import dsim as ds
from tests.device.bundle import Writer
from tests.device.recording import Single, recorded

N = 1000


def _record(writer: Writer, name: str, launch: Callable[[], None], prints: list[Any] | None = None) -> None:
    ds.init(default_fp=ds.f64, debug=False)
    first = len(writer.runs)
    with recorded(writer, Single(writer, name, most=1)), redirect_stdout(io.StringIO()):
        try:
            launch()
        except ds.DsimError:
            assert prints is None
    (run,) = writer.runs[first:]
    run.launches[0].prints = prints


def record_reports(writer: Writer) -> None:
    """Adds them to a bundle. Each has one fault: which of several comes first in time, a device decides."""
    at, y, z = ds.field(ds.i32, shape=N), ds.field(ds.f64, shape=N), ds.field(ds.f64, shape=N)
    at.from_numpy(np.where(np.arange(N) == 777, 5000, np.arange(N)).astype(np.int32))
    for kernel in _faulty(at, y, z):
        _record(writer, kernel.__name__, kernel)
        assert writer.runs[-1].launches[0].fault is not None

    @ds.kernel
    def printing():
        for i in at:
            if i % 100 == 3:
                print(i, i * i)

    _record(writer, "printing", printing, [[0, [i, i * i]] for i in range(3, N, 100)])


def _faulty(at: Any, y: Any, z: Any) -> list[Any]:
    @ds.kernel
    def store_outside():
        for i in at:
            y[at[i]] = 1.0

    @ds.kernel
    def load_outside():
        for i in at:
            z[i] = y[at[i]] + 1.0

    @ds.kernel
    def violated():
        for i in at:
            assert at[i] < 4000, f"{i}: {at[i]}"
            y[i] = 2.0

    return [store_outside, load_outside, violated]
