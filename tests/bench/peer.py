"""The same cases on a system of the same dialect: ``python -m tests.bench.peer taichi wave`` prints JSON.

It runs in the environment of the peers: the files of the cases import that system under the name `dsim`.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any


def main(system: str, name: str) -> None:
    ti: Any = importlib.import_module(system)
    sys.modules["dsim"] = ti
    ti.init(arch=ti.cpu, default_fp=ti.f32, offline_cache=False, log_level=ti.ERROR)
    run, loss, _ = importlib.import_module("tests.bench.cases").CASES[name]()

    def gradient() -> None:
        with ti.ad.Tape(loss):
            run()

    began = time.perf_counter()
    gradient()
    ti.sync()
    found: dict[str, float] = {"first": time.perf_counter() - began, "loss": float(loss.to_numpy())}
    for key, f in (("gradient", gradient), ("forward", run)):
        times: list[float] = []
        began = time.perf_counter()
        while len(times) < 3 or time.perf_counter() - began < 1:
            t = time.perf_counter()
            f()
            ti.sync()
            times.append(time.perf_counter() - t)
        found[key] = min(times)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
