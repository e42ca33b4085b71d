"""PTX to machine code, by ptxas; what each entry takes of a device, and how long its hot loops are.

Nothing that dsim runs needs this: a driver assembles PTX itself. It shows, where there is no device, that
the text is right, and what the machine code is like.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from dsim.backends.cuda.ptx import Ptx
from dsim.diagnostics import DeviceError, Diagnostic

_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_STACK = re.compile(r"(\d+) bytes cumulative stack size")
_SECTION = re.compile(r"^\.text\.(\w+):$")
_LABEL = re.compile(r"^\.(L_x_\d+):$")
_CALLED = re.compile(r"^\$\w+\$\w+:$")
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(.*?)\s*;")
_BRANCH = re.compile(r"\bBRA\b.*`\(\.(L_x_\d+)\)")


class Resources(NamedTuple):
    """What a thread of an entry takes.

    Attributes
    ----------
    registers : int
        Of 32 bits.
    spills : int
        Bytes of registers that are kept in memory, loads and stores added up.
    local : int
        Bytes of memory of its own: arrays, spilled registers, and frames of what it calls.
    """

    registers: int
    spills: int
    local: int


class Assembled(NamedTuple):
    """Machine code of one architecture; `resources` has its entries by name."""

    cubin: bytes
    resources: Mapping[str, Resources]


def assemble(ptx: Ptx, ptxas: Path, architecture: str = "") -> Assembled:
    """The machine code of `ptx`, for its own architecture or for a newer one.

    Raises
    ------
    DeviceError
        With what ptxas says, when it refuses the text.
    """
    target = architecture or ptx.architecture
    with tempfile.TemporaryDirectory(prefix="dsim-ptxas-") as folder:
        source, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx.text, encoding="utf-8")
        command = [str(ptxas), "-v", f"-arch={target}", source.name, "-o", cubin.name]
        told = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        if told.returncode:
            message = f"ptxas refuses this text for {target}: {_in_one_line(told.stderr)}"
            raise DeviceError(Diagnostic("device", message, help=f"{ptxas} may be too old for {target}"))
        return Assembled(cubin.read_bytes(), _resources(told.stderr, ptx.entries))


def _resources(told: str, entries: tuple[str, ...]) -> dict[str, Resources]:
    """What ``ptxas -v`` says of each entry."""
    found: dict[str, Resources] = {}
    for part in re.split(r"(?=^.*Compiling entry function)", told, flags=re.MULTILINE):
        entry = _ENTRY.search(part)
        if entry is None:
            continue
        own, used, stack = _FRAME.search(part), _USED.search(part), _STACK.search(part)
        if own is None or used is None:
            raise ValueError(f"ptxas does not say what `{entry[1]}` takes:\n{part}")
        local = int(stack[1]) if stack else int(own[1])
        found[entry[1]] = Resources(int(used[1]), int(own[2]) + int(own[3]), local)
    if set(found) != set(entries):
        raise ValueError(f"ptxas tells of {sorted(found)}, not of {sorted(entries)}:\n{told}")
    return found


def hot_loops(assembled: Assembled, nvdisasm: Path) -> dict[str, tuple[int, ...]]:
    """For each entry, the numbers of instructions of its innermost loops, in the order of the code.

    Loops of functions that it calls, as the reduction of large arguments of `sin`, are not among them.
    """
    with tempfile.TemporaryDirectory(prefix="dsim-nvdisasm-") as folder:
        cubin = Path(folder, "kernel.cubin")
        cubin.write_bytes(assembled.cubin)
        command = [str(nvdisasm), "-c", str(cubin)]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
    if told.returncode:
        message = f"nvdisasm refuses this machine code: {_in_one_line(told.stderr)}"
        raise DeviceError(Diagnostic("device", message, help="nvdisasm must not be older than ptxas"))
    return {name: innermost_loops(code) for name, code in _sections(told.stdout).items()}


def _in_one_line(told: str) -> str:
    return "; ".join(line.strip() for line in told.strip().splitlines()[:3])


def _sections(text: str) -> dict[str, list[str]]:
    """The lines of each entry, without those of the functions behind it that it calls."""
    found: dict[str, list[str]] = {}
    lines: list[str] | None = None
    for line in text.splitlines():
        section = _SECTION.match(line)
        if section is not None:
            lines = found[section[1]] = []
        elif _CALLED.match(line):
            lines = None
        elif lines is not None:
            lines.append(line)
    return found


def innermost_loops(code: list[str]) -> tuple[int, ...]:
    """The numbers of instructions of the loops of some code that contain no other loop.

    A loop is what lies between a label and a branch back to it.
    """
    labels: dict[str, int] = {}
    loops: list[tuple[int, int]] = []
    count = 0
    for line in code:
        label, instruction = _LABEL.match(line), _INSTRUCTION.match(line)
        if label is not None:
            labels[label[1]] = count
        elif instruction is not None:
            count += 1
            branch = _BRANCH.search(instruction[1])
            first = labels.get(branch[1], count) if branch is not None else count
            if first < count - 1:  # one that only jumps to itself fills up the code
                loops.append((first, count))
    inner = [a for a in loops if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in loops)]
    return tuple(end - first for first, end in sorted(set(inner)))
