"""Draws programs and checks them, until one fails or the limit is reached."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.fuzz.drawing.cells import check_reports
from tests.fuzz.drawing.program import Program
from tests.fuzz.drawing.programs import (
    CAPTURES,
    FUNCTIONS,
    LAYERS,
    MIXED,
    ONCE,
    RULES,
    SMALL,
    STRUCTS,
    VIEWS,
    WRITES,
    programs,
)
from tests.fuzz.rewriting.arguments import with_arguments
from tests.fuzz.rewriting.fresh import fresh
from tests.fuzz.rewriting.stepped import stepped
from tests.fuzz.shown import check_shown
from tests.fuzz.tally import Tally
from tests.fuzz.trial import Outcome, Trial, compare
from tests.fuzz.ways import by_hand, in_threads, linearized, transposed


@dataclass(frozen=True)
class Plan:
    """What a program has, and what is done with it beside looking at what it gives on some backends."""

    backends: tuple[str, ...]
    has: frozenset[str] = frozenset()
    way: Callable[[Trial, str], None] | None = None
    fresh: bool = False
    strict: bool = False
    second: bool = False
    arguments: bool = False
    shown: bool = False
    cell: bool = False

    @property
    def kind(self) -> str:
        """What it is counted as."""
        ways = {
            by_hand: "gradient by hand",
            in_threads: "threads",
            transposed: "forward and back",
            linearized: "linearized",
            stepped: "steps",
        }
        if self.way:
            return " + ".join([ways[self.way], *sorted(self.has - {ONCE, SMALL})])
        if self.has - {SMALL}:
            return " + ".join(sorted(self.has - {SMALL}))
        named = ("cell", "shown", "arguments", "fresh", "strict", "second")
        return next((name for name in named if getattr(self, name)), "plain")

    @property
    def small(self) -> Plan:
        """The same for programs of few statements."""
        return dataclasses.replace(self, has=self.has | {SMALL})


ARGUMENTS = Plan(("exact",), arguments=True)
FIRST_ORDER = (
    Plan(("exact",)),
    Plan(("cpu", "reference")),
    Plan(("cpu",), strict=True),
    Plan(("reference",), strict=True),
    Plan(("cpu",)),
    Plan(("reference",), fresh=True),
    Plan(("segments",)),
    ARGUMENTS,
)
SECOND_ORDER = (
    Plan(("reference",), second=True),
    Plan(("cpu",), second=True),
    Plan(("segments",), second=True),
)
SHOWN = (
    *(Plan((backend,), shown=True) for backend in ("exact", "reference", "segments", "cpu")),
    Plan(("exact",), shown=True, arguments=True),
)
CELL = Plan(("cpu",), shown=True, cell=True)


def _having(*has: str, way: Callable[[Trial, str], None] | None = None) -> tuple[Plan, ...]:
    """Plans for the programs of a kind, on several backends."""
    return tuple(
        Plan(backends, frozenset(has), way) for backends in (("exact",), ("cpu", "reference"), ("segments",))
    )


KINDS = {
    "structs": _having(STRUCTS),
    "mixed": _having(MIXED),
    "rules": _having(RULES),
    "functions": _having(FUNCTIONS),
    "layers": (*_having(LAYERS)[1:], *_having(LAYERS, way=linearized)[1:2]),
    "views": _having(VIEWS),
    "redefined": _having(CAPTURES),
    "writes": (*_having(WRITES, STRUCTS)[:2], *_having(WRITES)),
    "hand": (*_having(ONCE, way=by_hand), *_having(ONCE, RULES, way=by_hand)[:1]),
    "threads": (*_having(way=in_threads), *_having(VIEWS, way=in_threads)[:1]),
    "forward": (
        *_having(way=transposed), *(_having(has, way=transposed)[0] for has in (STRUCTS, RULES, VIEWS)),
    ),
    "linearized": (
        *_having(way=linearized),
        *(_having(has, way=linearized)[0] for has in (STRUCTS, RULES, VIEWS, WRITES)),
    ),
    "steps": (*_having(way=stepped), *(_having(has, way=stepped)[0] for has in (STRUCTS, VIEWS, WRITES))),
    "together": (Plan(("exact",), frozenset({STRUCTS, RULES, CAPTURES, WRITES})),
        Plan(("cpu",), frozenset({STRUCTS, VIEWS, WRITES, CAPTURES})),
        Plan(("reference",), frozenset({STRUCTS, MIXED, CAPTURES, WRITES}))),
}  # fmt: skip
FURTHER = tuple(plan for plans in KINDS.values() for plan in plans)
PLANS = (*FIRST_ORDER, *SECOND_ORDER, *SHOWN[:3], CELL, *FURTHER)


def check(program: Program, plan: Plan) -> Outcome:
    """All checks of a plan; raises when dsim is at fault."""
    trial = Trial(program)
    if not trial.near:
        for backend in plan.backends:
            if plan.cell:
                check_reports(trial)
            elif plan.shown:
                check_shown(trial, with_arguments(program) if plan.arguments else program, backend)
            elif plan.arguments:
                _check_arguments(trial, backend)
            elif plan.way:
                plan.way(trial, backend)
            else:
                trial.check(backend)
            if plan.strict:
                trial.check_strictly(backend)
            if plan.second:
                trial.check_second(backend)
        if plan.fresh:
            _check_fresh(trial)
    return trial.outcome()


def _check_fresh(trial: Trial) -> None:
    """The same program with fresh fields gives the same."""
    other = Trial(fresh(trial.program))
    compare("oracle with fresh fields", other.oracle.values, trial.oracle.values)
    compare("oracle with fresh fields", other.expected_gradient(), trial.expected_gradient())
    other.check_gradient("reference")
    trial.refusals += [dataclasses.replace(r, step=f"fresh fields, {r.step}") for r in other.refusals]


def _check_arguments(trial: Trial, backend: str) -> None:
    """The program gives the same when its kernels get arrays as arguments."""
    other = copy.copy(trial)
    other.program, other.refusals = with_arguments(trial.program), []
    other.check(backend)
    trial.refusals += [dataclasses.replace(r, step=f"arguments, {r.step}") for r in other.refusals]


def run(
    count: int,
    number: int,
    checking: Callable[[Program, Plan], Outcome] = check,
    *,
    plans: tuple[Plan, ...] = PLANS,
    before: Callable[[Program, Plan], None] = lambda program, plan: None,
) -> Tally:
    """Checks `count` programs drawn from the seed `number`; `before` is told of each.

    What a check raises is raised.
    """
    tally = Tally()

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data(), st.sampled_from(plans))
    def one(data: st.DataObject, plan: Plan) -> None:
        program = data.draw(programs(plan.has))
        before(program, plan)
        tally.add(program, checking(program, plan), plan.kind)

    one()
    return tally


SCRIPT = '''"""{head}"""

import numpy as np

import dsim as ti

ti.init(default_fp=ti.f{bits})

{text}

START = {start}
INPUTS = {inputs}


def begin(changed=None, step=0.0):
    for name, values in START.items():
        values = np.array(values, getattr(dtype := globals()[name].dtype, "numpy", dtype))
        if changed and changed[0] == name:
            values[changed[1]] += step
        if isinstance(globals()[name], np.ndarray):
            globals()[name][...] = values
        else:
            globals()[name].from_numpy(values)


def value(*changed):
    begin(*changed)
    run()
    return loss[None]


begin()
with ti.ad.Tape(loss):
    run()
for name in INPUTS:
    gradient = globals()[name].grad.to_numpy()
    for at in np.ndindex(*gradient.shape):
        slope = (value((name, at), 1e-6) - value((name, at), -1e-6)) / 2e-6
        wrong = "" if abs(slope - gradient[at]) < 1e-5 * (1 + abs(slope)) else "   <---"
        print(f"{{name}}{{list(at)}}: gradient {{gradient[at]:.8g}}, differences {{slope:.8g}}{{wrong}}")
'''


def script(program: Program, head: str = "") -> str:
    """The program as one that Python runs: it prints the gradient beside differences."""
    start = {name: np.asarray(values).tolist() for name, values in program.start.items()}
    bits = program.default_bits
    return SCRIPT.format(head=head, bits=bits, text=program.text, start=start, inputs=program.inputs)
