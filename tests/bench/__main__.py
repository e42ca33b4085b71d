"""Measures dsim on this machine: ``make bench``, or ``make bench ARGS="gravity wave"`` for some cases.

It prints the tables of ``docs/performance.md``; ``--write`` writes them there. ``PEERS`` and ``QPEERS`` name
interpreters that can import Taichi and JAX, and Quadrants: without them the table of peers stays as it is.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from tests.bench.cases import CASES
from tests.bench.tables import TABLES

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
# A table and the comments before and behind it.
MARKED = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def written(page: str, tables: dict[str, str]) -> str:
    """`page`, with these tables between their marks; those without a row are left out."""
    full = {name: f"{table}\n" for name, table in tables.items() if table.count("\n") > 1}
    return MARKED.sub(lambda m: m[1] + full.get(m[2], m[3]) + m[4], page)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--table", action="append", choices=TABLES, help="only this table")
    parser.add_argument("--write", action="store_true", help="write the tables into the documentation")
    options = parser.parse_args()
    if unknown := sorted(set(options.cases) - set(CASES)):
        parser.error(f"no case is called {', '.join(unknown)}; there are {', '.join(CASES)}")
    if options.write and options.cases:
        parser.error("the documentation has tables of all cases: leave the names out, or `--write`")
    tables: dict[str, str] = {}
    for name in options.table or TABLES:
        tables[name] = TABLES[name](options.cases or list(CASES))
        print(f"\n{name}\n\n{tables[name]}", flush=True)
        if options.write:
            PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")


if __name__ == "__main__":
    main()
