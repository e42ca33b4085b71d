"""Measures dsim on this machine: ``make bench``, or ``make bench ARGS="gravity wave"``.

Each case runs in a process of its own. `first` is the first gradient, compilers included; `forward` and
`gradient` are the best of several, `gradient` with the forward run in it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import dsim as ds
from tests.bench.cases import CASES


def best(f: Callable[[], None]) -> float:
    """The shortest of several runs, in seconds; they take a second at the least."""
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < 3 or time.perf_counter() - began < 1:
        t = time.perf_counter()
        f()
        times.append(time.perf_counter() - t)
    return min(times)


def measure(name: str) -> dict[str, float]:
    run, loss, wrt = CASES[name]()

    def gradient() -> None:
        with ds.ad.Tape(loss):
            run()

    began = time.perf_counter()
    gradient()
    first = time.perf_counter() - began
    took = best(gradient)
    size = float(np.linalg.norm(wrt.grad.to_numpy().astype(np.float64)))
    return {"first": first, "forward": best(run), "gradient": took, "norm": size}


def main(names: list[str]) -> int:
    unknown = [n for n in names if n not in CASES]
    if unknown:
        print(f"no case is called {', '.join(unknown)}; there are {', '.join(CASES)}", file=sys.stderr)
        return 2
    print(f"{'case':10}{'first s':>10}{'forward ms':>12}{'gradient ms':>13}{'ratio':>8}{'norm':>12}")
    for name in names or CASES:
        command = [sys.executable, "-m", "tests.bench", "--one", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{name:10} failed\n{done.stderr}", file=sys.stderr)
            return 1
        r = json.loads(done.stdout.splitlines()[-1])
        times = f"{r['first']:10.3f}{r['forward'] * 1e3:12.3f}{r['gradient'] * 1e3:13.3f}"
        print(f"{name:10}{times}{r['gradient'] / r['forward']:8.1f}{r['norm']:12.5g}", flush=True)
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2])))
    else:
        sys.exit(main(sys.argv[1:]))
