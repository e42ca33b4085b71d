"""Measures one thing in a process of its own: ``python -m tests.bench.measure case wave 1`` prints JSON."""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

import dsim as ds
from tests.bench.cases import CASES, grids, launching
from tests.bench.peaks import peaks
from tests.bench.timing import best, fastest
from tests.bench.work import needed, work

Numbers = dict[str, Any]
_LONG = """\
import dsim as ds

@ds.kernel
def k(x: ds.template(), out: ds.template()):
    for i in x:
        a0 = x[i]
{body}
        out[None] += a{last}
"""
_LINES = (
    "a{k} = a{before} * x[i] + {k}.0",
    "a{k} = ds.sqrt(1.0 + a{before} * a{before})",
    "a{k} = (a{before} - x[i]) / {k}.0",
    "a{k} = ds.sin(a{before})",
)


def _gradient(run: Callable[[], None], loss: Any) -> Callable[[], None]:
    def gradient() -> None:
        with ds.ad.Tape(loss):
            run()

    return gradient


def case(name: str) -> Numbers:
    """The first gradient, compiling included; the loss, its gradient's norm; times, and the work in them."""
    run, loss, wrt = CASES[name]()
    gradient = _gradient(run, loss)
    began = time.perf_counter()
    gradient()
    first = time.perf_counter() - began
    value = float(loss.to_numpy())
    both, forward = best(gradient), best(run)
    norm = float(np.linalg.norm(wrt.grad.to_numpy().astype(np.float64)))
    of_run, of_gradient = work(run, loss)
    return {
        "first": first,
        "forward": forward,
        "gradient": both,
        "loss": value,
        "norm": norm,
        "forward work": of_run,
        "gradient work": of_gradient,
    }


def memory(name: str) -> Numbers:
    """The most memory that a gradient takes, and the bytes of the fields and adjoints in it."""
    build = CASES[name]
    run, loss, _ = build()
    _gradient(run, loss)()  # compiled
    del run, loss, _
    gc.collect()
    _give_back()
    before = _status("VmRSS")
    run, loss, _ = build()
    _give_back()  # arrays of start values, of which the allocator keeps some megabytes
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak begins here
    _gradient(run, loss)()
    return {"peak": _status("VmHWM") - before, "needed": needed(run, loss)}


def _give_back() -> None:
    """Lets the allocator of C give freed memory back to the system."""
    ctypes.CDLL(None).malloc_trim(0)


def _status(key: str) -> int:
    """What Linux says of this process, in bytes."""
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * int(text.split(key + ":")[1].split()[0])


def unchecked(name: str) -> Numbers:
    """How much longer bounds checks make the forward run and the gradient: times by turns."""
    made = []
    for check in (True, False):
        ds.init(check_bounds=check)
        run, loss, _ = CASES[name]()
        pair = (_gradient(run, loss), run)
        for f in pair:
            f()  # compiled under these options
        made += pair
    checked_gradient, checked, gradient, forward = fastest(*made)
    return {"forward": checked / forward, "gradient": checked_gradient / gradient}


def by_hand(name: str) -> Numbers:
    """dsim's times and those of the code by hand, by turns."""
    from tests.bench.by_hand import BY_HAND

    run, loss, _ = CASES[name]()
    primal, hand = BY_HAND[name]()
    gradient = _gradient(run, loss)
    for f in (gradient, run, primal, hand):
        f()
    times = fastest(gradient, hand)
    return {"gradient": times, "forward": fastest(run, primal)}


def sizes(_: str) -> Numbers:
    """The wave equation on larger and larger grids: nanoseconds for each cell and step of a gradient."""
    found = {}
    for n in (32, 64, 128, 256, 512):
        steps = max(8, min(256, 2**21 // n**2))
        run, loss, _ = grids.wave(n, steps)
        found[n] = 1e9 * best(_gradient(run, loss)) / (n * n * (steps - 2))
    return found


def counts(_: str) -> Numbers:
    """Launches of one element: microseconds of a gradient for each, for more and more of them."""
    found = {}
    for count in (1, 10, 100, 1000, 10000):
        run, loss, _ = launching.launches(count)
        found[count] = 1e6 * best(_gradient(run, loss)) / (count + 1)
    return found


def lines(_: str) -> Numbers:
    """Kernels of more and more lines: seconds until the first gradient."""
    with tempfile.TemporaryDirectory() as folder:
        return {str(count): _first(count, folder) for count in (25, 50, 100, 200, 400, 800)}


def _first(count: int, folder: str) -> float:
    body = "\n".join("        " + _LINES[k % 4].format(k=k, before=k - 1) for k in range(1, count))
    text = _LONG.format(body=body, last=count - 1)
    path = Path(folder) / f"lines_{count}.py"
    path.write_text(text, encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), names)
    x, out = ds.field(ds.f32, shape=100, needs_grad=True), ds.field(ds.f32, shape=(), needs_grad=True)
    began = time.perf_counter()
    with ds.ad.Tape(out):
        names["k"](x, out)
    return time.perf_counter() - began


def machine(_: str) -> Numbers:
    """What this machine can do."""
    return dict(peaks()._asdict())


MEASURES = {f.__name__: f for f in (case, memory, unchecked, by_hand, sizes, counts, lines, machine)}


def main(what: str, name: str, threads: str) -> None:
    ds.init(cpu_max_num_threads=int(threads))
    numba.set_num_threads(int(threads))
    print(json.dumps(MEASURES[what](name)))


if __name__ == "__main__":
    main(*sys.argv[1:])
