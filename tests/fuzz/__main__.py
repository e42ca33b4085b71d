"""``make fuzz``: random programs for some minutes, until one is at fault.

Options: ``--minutes 5``, ``--seed 1``, ``--backend segments`` for the plans of one backend only, ``--shown``
for those that look at what watched kernels and reports show, ``--kind structs`` for programs of one kind. The
smallest program at fault is left in ``build/fuzz``, to be run by Python; one that ends the process, or never
ends, is found there as ``running.py``.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import traceback
from pathlib import Path

from tests.fuzz.drawing.program import Program
from tests.fuzz.rewriting.shrinking import shrunk
from tests.fuzz.running import KINDS, PLANS, Plan, check, run, script
from tests.fuzz.tally import Tally

FOLDER = Path("build/fuzz")
BATCH = 20


def main() -> int:
    """Runs batches until the time is up; gives 1 when a program is at fault."""
    parser = argparse.ArgumentParser(prog="make fuzz", description="random programs, checked")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", choices=sorted({b for p in PLANS for b in p.backends}))
    parser.add_argument("--shown", action="store_true")
    parser.add_argument("--kind", choices=KINDS)
    options = parser.parse_args()
    chosen = KINDS.get(options.kind, PLANS)
    plans = tuple(p for p in chosen if options.backend in (None, *p.backends) and p.shown >= options.shown)
    FOLDER.mkdir(parents=True, exist_ok=True)
    begun, total = time.monotonic(), Tally()
    for seed in itertools.count(options.seed):
        last: list[tuple[Program, Plan]] = []

        def before(program: Program, plan: Plan, last: list[tuple[Program, Plan]] = last) -> None:
            last[:] = [(program, plan)]
            (FOLDER / "running.py").write_text(script(program), encoding="utf-8")

        try:
            total.take(run(BATCH, seed, plans=plans, before=before))
        except Exception as error:  # noqa: BLE001, whatever it is, the program is at fault
            return _fault(*last[0], error, seed)
        passed = time.monotonic() - begun
        print(
            f"seed {seed}: {total.programs} programs, {passed / total.programs:.2f} s each; "
            f"{total.agreed} agreed in all, {total.programs - total.near - total.agreed} refused in part, "
            f"{total.shown} shown numbers agreed",
            flush=True,
        )
        if passed > 60 * options.minutes:
            break
    print(total.table())
    return 0


def _fault(program: Program, plan: Plan, error: Exception, seed: int) -> int:
    """Tells of a program at fault, and keeps it as small as it can be made."""
    path = FOLDER / f"seed_{seed}.py"
    head = f"A random program at fault, from seed {seed}: {plan.kind}, {', '.join(plan.backends)}."
    path.write_text(script(program, head), encoding="utf-8")
    print(f"seed {seed}: {_kind(error)}\nkept in {path}; a smaller one is looked for", flush=True)

    def at_fault(smaller: Program) -> bool:
        (FOLDER / "running.py").write_text(script(smaller), encoding="utf-8")
        found = _error(smaller, plan)
        return found is not None and _kind(found) == _kind(error)

    program = shrunk(program, at_fault)
    path.write_text(script(program, head), encoding="utf-8")
    print(program.text)
    traceback.print_exception(_error(program, plan), limit=-3, file=sys.stdout, chain=False)
    print(f"kept in {path}: python {path} shows the gradient beside differences")
    return 1


def _error(program: Program, plan: Plan) -> Exception | None:
    try:
        check(program, plan)
    except Exception as error:  # noqa: BLE001, as above
        return error
    return None


def _kind(error: Exception) -> str:
    """What went wrong, without the numbers; the names of fields may change."""
    return f"{type(error).__name__}: {': '.join(str(error).split(': ')[:2])}"


if __name__ == "__main__":
    sys.exit(main())
