"""A program's loop with checkpoints: every launch, or every few, is a step of a tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dsim as ds
from dsim.runtime.launching.contexts import Args, Context
from dsim.runtime.launching.forms import Form
from tests.fuzz.trial import Built, Trial, Values, same

SLOTS = (1, 2, 3)


class Stepping(Context):
    """Begins a step of the tape around it before every `every`-th launch."""

    def __init__(self, step: Callable[[], None], every: int) -> None:
        super().__init__()
        self._step, self._every, self._count = step, every, 0

    def launch(self, form: Form, args: Args) -> Args:
        """Passes the launch on."""
        if self._count % self._every == 0:
            self._step()
        self._count += 1
        return self.pass_on(form, args)


def stepped(trial: Trial, backend: str) -> None:
    """The gradient with checkpoints is that without, bit for bit; twice, and under forward mode."""
    built = Built(trial.program, backend)
    plain = trial.attempt(f"{backend}: gradient", built.gradient)
    if plain is None:
        return
    trial.agrees(f"{backend}: gradient", plain, trial.expected_gradient)
    every = 1 + len(trial.program.text) % 3
    for slots in SLOTS:
        step = f"{backend}: gradient with {slots} slots and steps of {every} launches"
        found = trial.attempt(step, lambda slots=slots: _gradient(built, slots, every))
        if found is not None:
            _same(trial, step, found, plain, backend)
    found = trial.attempt(f"{backend}: gradient within a budget", lambda: _within(built, 1 << 12))
    if found is not None:
        _same(trial, f"{backend}: gradient within a budget", found, plain, backend)


def _same(trial: Trial, step: str, found: Values, plain: Values, backend: str) -> None:
    trial.agrees(step, found, trial.expected_gradient)
    if backend != "cpu":  # with fast math a part of a kernel may round in another way than the whole
        same(step, found, plain)


def _gradient(built: Built, slots: int, every: int) -> Values:
    built.begin()
    with ds.ad.Tape(loss=built.space["loss"]) as tape:
        with Stepping(lambda: tape.step(slots=slots), every):
            built.space["run"]()
        inside = built.values()
    same("values after the tape", built.values(), inside)
    first = _gradients(built)
    if not any(f.is_array for f in built.program.fields):
        tape.backward()
        same("gradient once more", _gradients(built), first)
    return first


def _within(built: Built, budget: int) -> Values:
    built.begin()
    with ds.ad.Tape(loss=built.space["loss"], budget=budget):
        built.space["run"]()
    return _gradients(built)


def _gradients(built: Built) -> dict[str, Any]:
    return {name: built.space[name].grad.to_numpy() for name in built.program.inputs}
