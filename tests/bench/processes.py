"""Runs each measure in a process of its own, once, and keeps what it printed."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def threads() -> int:
    """The cores of this process."""
    return len(os.sched_getaffinity(0))


@functools.cache
def measured(what: str, name: str = "", number: int = 1) -> dict[str, Any]:
    """What `measure` says of `name` on `number` threads."""
    command = [sys.executable, "-m", "tests.bench.measure", what, name, str(number)]
    with tempfile.TemporaryDirectory() as folder:  # a cache with nothing in it
        return _run(command, {"DSIM_CACHE_DIR": folder})


@functools.cache
def of_peer(system: str, name: str) -> dict[str, Any] | None:
    """The times of a peer for a case, `None` where its environment is not there or it cannot run the case."""
    variable = "QPEERS" if system == "quadrants" else "PEERS"
    python = os.environ.get(variable)
    if python is None:
        return None
    peer = ["-m", "tests.bench.peer", system, name] if system != "jax" else [str(HERE / "jax_cases.py"), name]
    try:
        return _run([python, *peer], {})
    except RuntimeError as failed:
        print(f"{system}, {name}: {str(failed).splitlines()[-1]}", file=sys.stderr)
        return None


def _run(command: list[str], more: dict[str, str]) -> dict[str, Any]:
    print(" ".join(command[1:]), file=sys.stderr, flush=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **more})
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])
