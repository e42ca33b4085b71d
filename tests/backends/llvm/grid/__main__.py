"""Runs the whole corpus in grid form, and counts: `python -m tests.backends.llvm.grid`.

Every program in both float types on both grids, or on one of real threads with ``--real``; its second
derivatives with ``--second-order``. With ``--texts FOLDER`` it keeps the text of every module, and the list
of its kernels.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import dsim as ds
from dsim.backends.llvm.grid.module import GridModule
from tests.backends.llvm.grid import corpus
from tests.backends.llvm.grid.on_cpu import Grid
from tests.corpus.matrix import REALS
from tests.corpus.program import PROGRAMS
from tests.corpus.test_second_order import NAMES

Cell = tuple[str, Callable[[], list[GridModule]]]


def _cells(grids: Iterable[Grid], second_order: bool) -> Iterator[Cell]:
    for name in NAMES if second_order else PROGRAMS:
        for grid in grids:
            label = f"{name}, {grid.blocks}x{grid.threads}"
            if second_order:
                yield label, partial(corpus.check_second_derivatives, name, grid)
            for real in () if second_order else REALS:
                yield f"{label}, {real}", partial(corpus.check, name, real, grid)


def _keep(modules: list[GridModule], folder: Path) -> None:
    for module in modules:
        name = hashlib.blake2b(module.text.encode(), digest_size=8).hexdigest()
        (folder / f"{name}.ll").write_text(module.text)
        kernels = [list(k) for k in module.kernels]
        (folder / f"{name}.json").write_text(json.dumps({"name": name, "kernels": kernels}))


def main() -> int:
    """The number of cells that do not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.backends.llvm.grid", description=__doc__)
    parser.add_argument("--second-order", action="store_true")
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--only", default="", help="programs whose name contains this")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ds.DsimWarning)
    found, held, failed = Counter[str](), 0, []
    grids = [Grid(2, 8, real=True)] if options.real else corpus.GRIDS
    for label, run in _cells(grids, options.second_order):
        if options.only not in label:
            continue
        try:
            modules = run()
        except Exception:  # noqa: BLE001 (whatever it is, the others are run, too)
            failed.append(label)
            traceback.print_exc()
            continue
        held += 1
        found += corpus.forms(modules)
        if options.texts is not None:
            options.texts.mkdir(parents=True, exist_ok=True)
            _keep(modules, options.texts)
    for form, count in sorted(found.items()):
        print(f"{count:6} {form}")
    print(f"{held} cells hold, {len(failed)} do not", *failed, sep="\n  ")
    return len(failed)


if __name__ == "__main__":
    raise SystemExit(main())
