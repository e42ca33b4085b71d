"""The tables of ``docs/performance.md``: each function measures what its table shows."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.bench.processes import measured, of_peer, threads

# Those whose fields are large beside what a process takes anyway.
_LARGE = ("wave", "shallow_water", "fluid", "springs", "cloth", "mpm")
_BY_HAND = ("gravity", "wave", "wave_graph", "springs", "springs_graph", "sheet", "robot_graph", "mpm")
# What JAX's programs of the cases are called.
_JAX = {"shallow_water": "shallow_water", "fluid": "fluid", "fluid_in_place": "fluid"}
_MISSING = "–"


def _table(head: str, rows: Iterable[list[str]]) -> str:
    titles = head.split(" | ")
    lines = [titles, [":--", *["--:"] * (len(titles) - 1)], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _number(value: float | None) -> str:
    """With three figures."""
    if value is None:
        return _MISSING
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def machine(_: list[str]) -> str:
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = next((line.split(": ")[1] for line in info.splitlines() if line.startswith("model name")), "?")
    rows = [
        ["Measured", datetime.now(UTC).strftime("%d %B %Y")],
        ["Processor", f"{model}, {threads()} cores"],
        ["Versions", ", ".join(f"{n} {version(n)}" for n in ("numpy", "numba", "llvmlite", "scipy"))],
        ["Python", platform.python_version()],
    ]
    for n in _each_number():
        peaks = measured("machine", "", n)
        rates = f"{peaks['bandwidth'] / 1e9:.1f} GB/s, {peaks['rate'] / 1e9:.1f} Gop/s"
        rows.append([f"Triad and polynomial, {_of_threads(n)}", rates])
    return _table("Machine | ", rows)


def _each_number() -> list[int]:
    return sorted({1, threads()})


def _of_threads(n: int) -> str:
    return "1 thread" if n == 1 else f"{n} threads"


def cases(names: list[str]) -> str:
    def row(name: str) -> list[str]:
        each = [measured("case", name, n) for n in _each_number()]
        first = _number(each[-1]["first"])
        times = [_number(1e3 * r[key]) for key in ("forward", "gradient") for r in each]
        return [f"`{name}`", first, *times, _number(each[0]["gradient"] / each[0]["forward"])]

    parts = [f"{key} ms, {_of_threads(n)}" for key in ("run", "gradient") for n in _each_number()]
    return _table(" | ".join(["Case", "first s", *parts, "gradient / run"]), map(row, names))


def roofline(names: list[str]) -> str:
    peaks = measured("machine", "", 1)

    def row(name: str) -> list[str]:
        r = measured("case", name, 1)
        cells = []
        for key in ("forward", "gradient"):
            operations, moved = r[key + " work"]
            bandwidth = moved / r[key]
            cells.append(f"{bandwidth / 1e9:.1f} ({bandwidth / peaks['bandwidth']:.0%})")
            rate = None if operations is None else operations / r[key]
            cells.append(_MISSING if rate is None else f"{rate / 1e9:.1f} ({rate / peaks['rate']:.0%})")
        return [f"`{name}`", *cells]

    return _table("Case | run GB/s | run Gop/s | gradient GB/s | gradient Gop/s", map(row, names))


def by_hand(names: list[str]) -> str:
    def row(name: str) -> list[str]:
        each = [measured("by_hand", name, n) for n in _each_number()]
        return [f"`{name}`", *(_number(r[k][0] / r[k][1]) for k in ("forward", "gradient") for r in each)]

    parts = [f"{key}, {_of_threads(n)}" for key in ("run", "gradient") for n in _each_number()]
    return _table(" | ".join(["Case", *parts]), map(row, [n for n in _BY_HAND if n in names]))


def peers(names: list[str]) -> str:
    systems = ("taichi", "quadrants", "jax")
    found = [
        [f"`{name}`", system, *_beside(name, theirs)]
        for name in names
        for system in systems
        if (case := _JAX.get(name) if system == "jax" else name) and (theirs := of_peer(system, case))
    ]
    return _table("Case | beside | first | run | gradient | run and gradient | same loss", found)


def _beside(name: str, theirs: dict[str, Any]) -> list[str]:
    """dsim's times divided by those of a peer."""
    ours = measured("case", name, threads())
    ratios = [ours[key] / theirs[key] for key in ("first", "forward", "gradient")]
    both = (ours["forward"] + ours["gradient"]) / (theirs["forward"] + theirs["gradient"])
    same = abs(ours["loss"] - theirs["loss"]) <= 1e-3 * abs(ours["loss"])
    return [*map(_number, (*ratios, both)), "yes" if same else "no"]


def checks(names: list[str]) -> str:
    # A graph belongs to the settings of its recording, so it cannot be measured by turns under two.
    found = [(name, measured("unchecked", name)) for name in names if not name.endswith("_graph")]
    return _table(
        "Case | run | gradient",
        [[f"`{name}`", _number(r["forward"]), _number(r["gradient"])] for name, r in found],
    )


def memory(names: list[str]) -> str:
    found = [(name, measured("memory", name, threads())) for name in _LARGE if name in names]
    return _table(
        "Case | fields and adjoints, MB | peak, MB | ratio",
        [
            [f"`{n}`", f"{r['needed'] / 1e6:.1f}", f"{r['peak'] / 1e6:.1f}", _number(r["peak"] / r["needed"])]
            for n, r in found
        ],
    )


def _growth(what: str, of: str, times: str) -> str:
    found = measured(what)
    return _table(" | ".join([of, *found]), [[times, *map(_number, found.values())]])


def sizes(_: list[str]) -> str:
    return _growth("sizes", "Cells along a side", "ns for each cell and step")


def counts(_: list[str]) -> str:
    return _growth("counts", "Launches", "µs for each")


def lines(_: list[str]) -> str:
    return _growth("lines", "Lines", "s until the first gradient")


TABLES: dict[str, Callable[[list[str]], str]] = {
    f.__name__: f for f in (machine, cases, by_hand, peers, roofline, sizes, counts, lines, checks, memory)
}
