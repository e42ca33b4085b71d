"""Writes a bundle for a machine with a device: `python -m tests.device FILE`; see `replay.py`."""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from pathlib import Path

import dsim as ds
from tests.corpus.matrix import REALS
from tests.corpus.program import PROGRAMS
from tests.device.bundle import Writer
from tests.device.programs import record_program
from tests.device.recording import LEFT_OUT, SLOTS
from tests.device.reports import record_reports
from tests.device.timed import CASES, record_timed


def main() -> int:
    """1 when programs could not be recorded."""
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
    for case in () if options.no_timed else CASES:
        record_timed(writer, case, time=options.seconds)
    writer.close()
    print(f"{len(writer.modules)} kernels, {len(writer.runs)} runs, {failed} programs failed")
    for what, count in LEFT_OUT.items():
        print(f"left out: {count} {what}")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
