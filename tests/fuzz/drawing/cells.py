"""Random programs as cells of a notebook: their reports agree with the plain interpreter."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from tests.fuzz.drawing.program import BlockSpec, KernelSpec, Launch, Program
from tests.fuzz.oracle.assigned import Assigned, assigned
from tests.fuzz.shown import seen
from tests.fuzz.trial import Built, Refusal, Trial, WrongNumberError
from tests.notebook.cells import Notebook, opened

DIGITS = 2e-5  # numbers in reports have six digits
ROUNDING = 1e-8

Lines = dict[int, dict[int, list[Assigned]]]  # by the cell's line, then by column


def as_cell(program: Program) -> Program:
    """The first launch of `program`, and what adds to the loss, as one kernel that is launched once."""
    launch = next(a for a in program.actions if isinstance(a, Launch))
    kernel, measure = program.kernel(launch.kernel), program.kernel("measure")
    names = (name for name, _ in kernel.params)
    params = tuple(BlockSpec((f"{n} = {value!r}",)) for n, value in zip(names, launch.args, strict=True))
    whole = KernelSpec("whole", (), (*params, *kernel.blocks, *measure.blocks), together=True)
    return replace(program, kernels=(whole,), actions=(Launch("whole", ()),))


def check_reports(trial: Trial) -> None:
    """Runs the program as a cell: where dsim looks by itself, and at an iteration that is drawn."""
    other = Trial(as_cell(trial.program))
    if not other.near:
        with opened() as notebook:
            notebook.good("%load_ext dsim")
            _check(other, notebook)
    trial.refusals += other.refusals
    trial.shown += other.shown


def _check(trial: Trial, notebook: Notebook) -> None:
    record = assigned(trial.program)
    if record is None:
        return
    built = Built(trial.program, "cpu")
    built.begin()
    notebook.names.update(built.space)
    cell = _Cell(trial, notebook, record)
    report = cell.run("")
    if report["status"] == "ok" and report["probe"]["indices"]:
        random = Random(len(cell.text))
        at = (random.randrange(i["low"], i["high"]) for i in report["probe"]["indices"])
        cell.run(f" --probe {','.join(map(str, at))}")
    trial.shown += cell.numbers


class _Cell:
    def __init__(self, trial: Trial, notebook: Notebook, record: list[Assigned]) -> None:
        self.trial, self.notebook = trial, notebook
        program = trial.program
        self.text = "\n\n\n".join([*program.funcs, *(k.text() for k in program.kernels)])
        before = program.text[: program.text.index(self.text)].count("\n")
        self.lines: Lines = defaultdict(lambda: defaultdict(list))
        for one in record:
            line, column = one.place
            self.lines[line - before + 1][column].append(one)
        sizes = [np.abs(v).max() for one in record for v in (one.values, one.adjoints) if v is not None]
        self.size = max([1.0, *map(float, sizes)])
        self.numbers = 0

    def run(self, options: str) -> dict[str, Any]:
        """The report of the cell, which is right or fails."""
        head = f"%%kernel --loss loss --wrt {','.join(self.trial.program.inputs)}{options}"
        ran = self.notebook.run(f"{head}\n{self.text}\n")
        if not any("report" in kind for bundle in ran.bundles for kind in bundle):
            raise ran.error or AssertionError(ran.stdout)
        report = ran.report
        if report["status"] == "ok":
            self.heat(report["heat"])
            self.probe(report["probe"])
        else:
            codes = tuple(d["code"] for d in report["diagnostics"] if d["level"] == "error")
            self.trial.refusals.append(Refusal("cell", type(ran.error).__name__, codes, ran.stdout))
        return report

    def heat(self, heat: dict[str, Any]) -> None:
        """Of each line the root mean square of what it assigns."""
        found = {line["line"]: line["adjoint"] for line in heat["lines"]}
        for line, columns in self.lines.items():
            squares = 0.0
            for all in columns.values():
                floats = [one.adjoints for one in all if one.adjoints is not None]
                squares += sum(float(a @ a) for a in floats) / len(all)
            self.near(f"heat of line {line}", found.pop(line, 0.0), math.sqrt(squares))
        if found:
            raise WrongNumberError(f"cell: heat of lines that assign nothing: {found}")

    def probe(self, probe: dict[str, Any]) -> None:
        """The values at the ends of the lines, and their gradients."""
        at = tuple(i["value"] for i in probe["indices"]) or None
        trip = None if probe["trip"] is None else probe["trip"]["value"]
        found = defaultdict(list)
        for value in probe["values"]:
            found[value["line"]].append(value)
        for line, columns in self.lines.items():
            here = [times for _, all in sorted(columns.items()) if (times := seen(all, at))]
            step = f"at {at}, trip {trip}, line {line}"
            if len(here) != len(found[line]):
                raise WrongNumberError(f"cell: {step}: {len(found[line])} values, not {len(here)}")
            for times, value in zip(here, found[line], strict=True):
                one = times[-1 if trip is None else min(trip, len(times) - 1)]
                self.near(f"{step}: {value['name']}", value["value"], one.values)
                gradient = 0.0 if value["gradient"] is None else value["gradient"]
                right = 0.0 if one.adjoints is None else one.adjoints
                self.near(f"{step}: gradient of {value['name']}", gradient, right)

    def near(self, step: str, found: Any, right: Any) -> None:
        """Raises when numbers differ by more than six digits do."""
        self.numbers += np.size(right)
        if not np.allclose(np.ravel(found), right, rtol=DIGITS, atol=ROUNDING * self.size):
            raise WrongNumberError(f"cell: {step} is\n{found}\nand should be\n{right}")
