"""Further ways to the derivatives of a program: manual, repeated passes, and several Python threads."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import numpy as np

import dsim as ds
from tests.fuzz.drawing.program import Launch, Program
from tests.fuzz.rewriting.arguments import with_arguments
from tests.fuzz.trial import TOLERANCE, Built, Trial, Values, WrongNumberError, same

TIMES = 3  # that each thread runs its program
PATIENCE = 120.0  # seconds until threads count as stuck

# What is added to a program's text: the sum of all that it gives, weighted.
WEIGHED = """
weighed = ti.field(ti.f64, shape=(), needs_grad=True)


@ti.kernel
def weigh():
"""


def by_hand(trial: Trial, backend: str) -> None:
    """The gradient by ``kernel.grad()`` of each launch, last one first."""
    built = Built(trial.program, backend)
    launches = [a for a in trial.program.actions if isinstance(a, Launch)]

    def gradient() -> Values:
        built.begin()
        for launch in launches:
            built.space[launch.kernel](*launch.args)
        built.space["loss"].grad[None] = 1.0
        for launch in reversed(launches):
            built.space[launch.kernel].grad(*launch.args)
        return {name: built.space[name].grad.to_numpy() for name in trial.program.inputs}

    found = trial.attempt(f"{backend}: gradient by hand", gradient)
    if found is not None:
        trial.agrees(f"{backend}: gradient by hand", found, trial.expected_gradient)


def transposed(trial: Trial, backend: str) -> None:
    """The tangents along each input alone, and ⟨Jv, w⟩ = ⟨v, Jᵀw⟩ for all that the program gives."""
    program = trial.program
    built = Built(program, backend, _weighed_text(program))
    for name in program.inputs:
        direction = {name: trial.direction[name]}
        step = f"{backend}: tangents by {name}"
        found = trial.attempt(step, lambda direction=direction: built.tangents(direction))
        if found is None:
            return
        trial.agrees(step, found, lambda oracle, d=direction: trial.expected_tangents(oracle, d))
    rng = np.random.default_rng(7)
    weights = {name: rng.uniform(-1, 1, program.start[name].shape) for name in program.floats}
    forwards = trial.attempt(f"{backend}: tangents", lambda: built.tangents(trial.direction))
    backwards = trial.attempt(f"{backend}: weighed gradient", lambda: _weighed(built, weights))
    if forwards is None or backwards is None:
        return
    right = sum(float((forwards[name] * weights[name]).sum()) for name in weights)
    found = sum(float((backwards[name] * trial.direction[name]).sum()) for name in program.inputs)
    size = 1.0 + sum(float(np.abs(forwards[name]).sum()) for name in weights)
    if abs(found - right) > TOLERANCE * size:
        raise WrongNumberError(f"{backend}: products: ⟨v, Jᵀw⟩ is {found}, and ⟨Jv, w⟩ is {right}")


def _weighed_text(program: Program) -> str:
    lines, declared = [], []
    for f in program.fields:
        if f.name not in program.floats:
            continue
        declared.append(f.text(f"{f.name}_weight").replace(", needs_grad=True", ""))
        at = "I" if f.shape else "None"
        value = f"{f.name}_weight[{at}] * {f.name}[{at}]"
        line = f"weighed[None] += {f'({value}).sum()' if f.entry else value}"
        lines += [f"    for I in ti.grouped({f.name}):", f"        {line}"] if f.shape else [f"    {line}"]
    return "\n".join([program.text, *declared, WEIGHED, *lines, ""])


def _weighed(built: Built, weights: Values) -> Values:
    built.begin()
    for name, values in weights.items():
        built.space[f"{name}_weight"].from_numpy(values)
    with ds.ad.Tape(loss=built.space["weighed"]):
        built.space["run"]()
        built.space["weigh"]()
    return {name: built.space[name].grad.to_numpy() for name in built.program.inputs}


def linearized(trial: Trial, backend: str) -> None:
    """Products with the Jacobian from both sides, twice; the fields stay as they were."""
    program = trial.program
    built = Built(program, backend)
    built.begin()
    fields = [f.name for f in program.fields if not f.is_array]  # Python's own writes to arrays stay
    before = {name: built.values()[name] for name in fields}
    inputs, outputs = ([built.space[name] for name in names] for names in (program.inputs, program.floats))
    step = f"{backend}: linearized"
    made = trial.attempt(step, lambda: {"": ds.linearize(built.space["run"], wrt=inputs, out=outputs)})
    if made is None:
        return
    operator = made[""]
    same(f"{step}, values before and after", built.values(), before)
    built.primal()
    trial.agrees(
        f"{step}, values",
        {name: operator.value[f] for name, f in zip(program.floats, outputs, strict=True)},
        lambda oracle: {name: oracle.values[name] for name in program.floats},
    )
    along = operator.wrt.joined([trial.direction[name] for name in program.inputs])
    of_loss = operator.out.joined([np.full(f.to_numpy().shape, f is built.space["loss"]) for f in outputs])
    for _ in range(2):
        tangents = operator.out.split(operator.matvec(along))
        trial.agrees(step, dict(zip(program.floats, tangents, strict=True)), trial.expected_tangents)
        gradient = operator.wrt.split(operator.rmatvec(of_loss))
        trial.agrees(step, dict(zip(program.inputs, gradient, strict=True)), trial.expected_gradient)


def in_threads(trial: Trial, backend: str) -> None:
    """Two to four threads run the program at once, each with fields of its own.

    Half of the programs get all their fields as arguments; the threads share the kernels of these.
    """
    count, shared = 2 + len(trial.program.text) % 3, len(trial.program.text) % 2 and _plain(trial.program)
    program = with_arguments(trial.program) if shared else trial.program
    builts = [Built(program, backend) for _ in range(count)]
    alone = trial.attempt(f"{backend}: gradient", builts[0].gradient)
    if alone is None:
        return
    for built in builts[1:] if shared else ():
        built.space.update((k.name, builts[0].space[k.name]) for k in program.kernels)
    start = threading.Barrier(count)

    def work(built: Built) -> list[tuple[Values, Values]]:
        start.wait(PATIENCE)
        return [(built.gradient(), built.tangents(trial.direction)) for _ in range(TIMES)]

    for number, results in enumerate(_together([partial(work, built) for built in builts])):
        for gradient, tangents in results:
            step = f"{backend}: thread {number} of {count}"
            trial.agrees(f"{step}, gradient", gradient, trial.expected_gradient)
            trial.agrees(f"{step}, tangents", tangents, trial.expected_tangents)


def _plain(program: Program) -> bool:
    """Whether it has fields alone, which may become arguments."""
    return not program.head and not any(f.is_array for f in program.fields)


def _together(works: list[Callable[[], Any]]) -> list[Any]:
    """What the functions give when they run at once, each in a thread of its own."""
    futures: list[Future] = [Future() for _ in works]

    def run(work: Callable[[], Any], future: Future) -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001, it is raised where the result is asked for
            future.set_exception(error)

    with warnings.catch_warnings():  # of the whole process, so not in the threads
        warnings.simplefilter("ignore", ds.DsimWarning)
        for pair in zip(works, futures, strict=True):
            threading.Thread(target=run, args=pair, daemon=True).start()
        return [future.result(PATIENCE) for future in futures]
