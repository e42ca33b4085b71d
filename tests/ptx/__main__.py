"""``make ptx``: all programs of the corpus, their kernels and adjoints, as machine code of a GPU.

It needs ptxas and libdevice, and no GPU; with nvdisasm it counts the instructions of the hot loops, too. What
each kernel takes of a device is printed beside what it took at the last run, which is kept in ``build/ptx``.
On a terminal a bar shows how far it is.
Options: names of programs, ``--architecture sm_80``, ``--real f32``.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tqdm import tqdm

from dsim import DsimWarning
from dsim.backends.cuda import toolchain
from dsim.backends.cuda.architectures import VERSIONS
from dsim.backends.cuda.assemble import Resources, assemble, hot_loops
from dsim.backends.cuda.ptx import Ptx
from dsim.diagnostics import DeviceError
from dsim.ir.nodes import KernelIR
from tests.corpus.program import PROGRAMS
from tests.ptx import table
from tests.ptx.kernels import described, kernels_of

FOLDER = Path("build/ptx")


def rows_of(
    program: str, real: str, architecture: str, tools: tuple[Path, Path | None]
) -> Iterator[table.Row]:
    """What the entries of a program's kernels take."""
    seen: Counter[str] = Counter()
    with ThreadPoolExecutor(os.cpu_count()) as processes:  # a thread waits for each
        made = [
            (_numbered(each.kernel, seen), processes.submit(_machine_code, each.ptx(architecture), tools))
            for each in kernels_of(program, real)
        ]
        for label, code in made:
            resources, loops = code.result()
            for entry, taken in resources.items():
                name = f"{program}: {label}, {entry.removesuffix('_entry')}"
                yield table.Row(name, *taken, loops.get(entry))


def _machine_code(
    ptx: Ptx, tools: tuple[Path, Path | None]
) -> tuple[Mapping[str, Resources], Mapping[str, tuple[int, ...]]]:
    """What the entries of some text take, and how long their hot loops are."""
    assembler, disassembler = tools
    made = assemble(ptx, assembler)
    return made.resources, hot_loops(made, disassembler) if disassembler else {}


def _numbered(kernel: KernelIR, seen: Counter[str]) -> str:
    """The label of a kernel, with a number from the second one of that label on."""
    label = described(kernel)
    seen[label] += 1
    return label if seen[label] == 1 else f"{label} {seen[label]}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Builds and prints; gives 1 when a kernel cannot be built."""
    parser = argparse.ArgumentParser(prog="make ptx", description="the corpus as machine code of a GPU")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="all of the corpus by default")
    parser.add_argument("--architecture", choices=VERSIONS, default="sm_90")
    parser.add_argument("--real", choices=("f32", "f64"), default="f32")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.programs) - set(PROGRAMS)):
        parser.error(f"no program is called {', '.join(unknown)}")
    tools = _tools()
    if tools is None:
        return 1
    rows: dict[str, table.Row] = {}
    failed: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DsimWarning)  # some programs have loops that cannot be parallel
        for program in _shown(options.programs or PROGRAMS):
            try:
                found = list(rows_of(program, options.real, options.architecture, tools))
            except DeviceError as error:
                failed.append(f"{program}: {error}")
            else:
                rows.update((row.name, row) for row in found)
    _report(rows, FOLDER / f"{options.architecture}-{options.real}.json", bool(options.programs))
    print("\n".join(failed), file=sys.stderr, end="\n" if failed else "")
    return 1 if failed else 0


def _shown(programs: Iterable[str]) -> Iterator[str]:
    """These programs one by one; on a terminal a bar counts them and has the name of the present one."""
    with tqdm(list(programs), unit="program", file=sys.stderr, disable=not sys.stderr.isatty()) as bar:
        for program in bar:
            bar.set_postfix_str(program)
            yield program


def _tools() -> tuple[Path, Path | None] | None:
    """The assembler, and the disassembler if there is one; None where something that it takes is missing."""
    assembler, disassembler = toolchain.ptxas(), toolchain.nvdisasm()
    if assembler is None:
        print(f"ptxas is not installed: {toolchain.PTXAS_HELP}", file=sys.stderr)
        return None
    if toolchain.libdevice() is None:
        print(f"libdevice is not installed: {toolchain.LIBDEVICE_HELP}", file=sys.stderr)
        return None
    if disassembler is None:
        print(f"nvdisasm is not installed, so loops are not counted: {toolchain.NVDISASM_HELP}")
    return assembler.path, disassembler and disassembler.path


def _report(rows: dict[str, table.Row], kept: Path, chosen: bool) -> None:
    """Prints the rows beside those of the last run, and keeps them; `chosen` if they are not all."""
    before = table.load(kept)
    compared = {name: row for name, row in before.items() if name in rows} if chosen else before
    print(f"{table.table(rows, compared)}\n\n{kept.stem}: {table.summary(rows, compared)}")
    table.save(kept, ({**before, **rows} if chosen else rows).values())


if __name__ == "__main__":
    sys.exit(main())
