"""Writes a bundle for a machine with a device: `python -m tests.device FILE`; see `replay.py`."""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from pathlib import Path

import dsim as ds
from dsim.backends.llvm import frame
from dsim.backends.llvm.grid import slots
from tests.corpus.matrix import REALS, Trial
from tests.corpus.program import PROGRAMS
from tests.device.bundle import Writer
from tests.device.recording import LEFT_OUT, Single, recorded
from tests.device.reports import record_reports
from tests.device.timed import SIZES, record_timed

SLOTS = {
    "status": frame.STATUS,
    "fault": frame.FAULT,
    "values": frame.VALUES,
    "pool": slots.POOL,
    "pool size": slots.POOL_SIZE,
    "sums": slots.SUMS,
    "prints": slots.PRINTS,
    "prints size": slots.PRINT_WORDS,
    "prints used": slots.PRINT_USED,
}
_MOST = 2  # launches of a kernel that are recorded


def record_program(writer: Writer, name: str, real: str) -> None:
    """Adds the launches of a program of the corpus, of its tangents and of its gradient."""
    trial = Trial(name, real)
    with recorded(writer, Single(writer, f"{name}, {real}", _MOST)):
        trial.values(trial.start)
        trial.tangents()
        trial.gradient()


def main() -> int:
    """How many programs could not be recorded."""
    parser = argparse.ArgumentParser(prog="python -m tests.device", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", help="programs whose name contains this")
    parser.add_argument("--no-timed", action="store_true", help="no runs for timing")
    parser.add_argument("--seconds", action="store_true", help="how long those take here, for comparison")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ds.DsimWarning)
    writer, failed = Writer(options.file, SLOTS), 0
    for name in (n for n in PROGRAMS if (options.only or "") in n):
        for real in REALS:
            try:
                record_program(writer, name, real)
            except Exception:  # noqa: BLE001 (whatever it is, the others are recorded)
                failed += 1
                print(f"{name}, {real}", file=sys.stderr)
                traceback.print_exc()
    record_reports(writer)
    for name, sizes in () if options.no_timed else SIZES:
        record_timed(writer, name, sizes, time=options.seconds)
    writer.close()
    print(
        f"{len(writer.modules)} kernels, {len(writer.runs)} runs, {failed} programs failed", *LEFT_OUT.items()
    )
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
