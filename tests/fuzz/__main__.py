"""``make fuzz``: random programs for some minutes, until one is at fault.

Options: ``--minutes 5``, ``--seed 1``. The smallest program at fault is left in ``build/fuzz``, to be run by
Python; one that ends the process, or never ends, is found there as ``running.py``.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import traceback
from pathlib import Path

from tests.fuzz.program import Program
from tests.fuzz.running import run, script
from tests.fuzz.tally import Tally

FOLDER = Path("build/fuzz")
BATCH = 50


def main() -> int:
    """Runs batches until the time is up; gives 1 when a program is at fault."""
    parser = argparse.ArgumentParser(prog="make fuzz", description="random programs, checked")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    begun, total = time.monotonic(), Tally()
    for seed in itertools.count(options.seed):
        last: list[Program] = []

        def before(program: Program, last: list[Program] = last) -> None:
            last[:] = [program]
            (FOLDER / "running.py").write_text(script(program), encoding="utf-8")

        try:
            total.take(run(BATCH, seed, shrink=True, before=before))
        except Exception:  # noqa: BLE001, whatever it is, the program is at fault
            return _fault(last[0], seed)
        passed = time.monotonic() - begun
        print(
            f"seed {seed}: {total.programs} programs, {passed / total.programs:.2f} s each; "
            f"{total.agreed} agreed in all, {total.programs - total.near - total.agreed} refused in part",
            flush=True,
        )
        if passed > 60 * options.minutes:
            break
    print(total.table())
    return 0


def _fault(program: Program, seed: int) -> int:
    """Tells of a program at fault, and keeps it."""
    path = FOLDER / f"seed_{seed}.py"
    path.write_text(script(program, f"A random program at fault, from seed {seed}."), encoding="utf-8")
    print(program.text)
    traceback.print_exc(limit=-3, file=sys.stdout)
    print(f"kept in {path}: python {path} shows the gradient beside differences")
    return 1


if __name__ == "__main__":
    sys.exit(main())
