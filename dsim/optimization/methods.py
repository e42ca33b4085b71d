"""Methods by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from dsim.optimization.first_order import RULES, StepRule
from dsim.optimization.points import Iterate
from dsim.optimization.refusal import wrong
from dsim.optimization.scipy_methods import BOUNDED, NAMES, Problem, ScipyMethod
from dsim.runtime.fields.fields import kind_of


class FirstOrderMethod:
    """A rule of first order, step by step.

    Parameters
    ----------
    name : str
        What people call it.
    rule : StepRule
        Makes steps of gradients.
    """

    def __init__(self, name: str, rule: StepRule) -> None:
        self.name = name
        self._rule = rule

    def start(self, size: int) -> dict[str, np.ndarray]:
        """The state before the first step."""
        return self._rule.start(size)

    def run(self, problem: Problem, point: Iterate) -> str:
        """Goes on from `point` until the gradient is small."""
        bounds = problem.bounds
        while not _small(point, problem):
            step, state = self._rule.step(point.gradient, point.state)
            x = point.x + step
            if bounds is not None:
                x = np.clip(x, bounds.lb, bounds.ub)
            loss, gradient = problem.evaluate(x)
            point = Iterate(x, loss, gradient, state)
            problem.accept(point)
        return f"the gradient is within the tolerance, {problem.tolerance:g}"


def _small(point: Iterate, problem: Problem) -> bool:
    """Whether the gradient, without what points out of the bounds, is within the tolerance."""
    if problem.tolerance is None:
        return False
    end = point.x - point.gradient
    if problem.bounds is not None:
        end = np.clip(end, problem.bounds.lb, problem.bounds.ub)
    return float(np.abs(end - point.x).max()) <= problem.tolerance


AnyMethod = FirstOrderMethod | ScipyMethod


def method_named(name: Any, options: Mapping[str, Any], bounded: bool) -> AnyMethod:
    """The method with that name, whatever its capitals.

    Raises
    ------
    GradientError
        When there is none, it takes no bounds, or it has no such option.
    """
    every = {known.lower(): known for known in (*NAMES, *RULES)}
    known = every.get(name.lower()) if isinstance(name, str) else None
    if known is None:
        given = f"`{name}`" if isinstance(name, str) else kind_of(name)
        raise wrong(f"`method=` names no method: {given}", f"one of {', '.join(every.values())}")
    if known in RULES:
        return FirstOrderMethod(known, _rule(known, options))
    if bounded and known not in BOUNDED:
        advice = f"use {', '.join(BOUNDED)}, or one of {', '.join(RULES)}"
        raise wrong(f"the method {known} takes no bounds", advice)
    for option in ("maxiter", "callback", "tol"):
        if option in options:
            advice = "`steps=`, `callback=` and `tolerance=` do that"
            raise wrong(f"`{option}` is not an option of {known} here", advice)
    for rule, make in RULES.items():
        own = options.keys() & {f.name for f in fields(make)}
        if own:
            raise wrong(f"the method {known} has no option `{min(own)}`", f'`method="{rule}"` has it')
    method = ScipyMethod(known, options)
    if options and (problem := method.wrong_options()):
        advice = f"`scipy.optimize.show_options('minimize', '{known}')` lists those of {known}"
        raise wrong(f"the method {known} {problem}", advice)
    return method


def _rule(name: str, options: Mapping[str, Any]) -> StepRule:
    rule = RULES[name]()
    known = [f.name for f in fields(rule)]
    for option, value in options.items():
        if option not in known:
            listed = ", ".join(f"`{k}=`" for k in known)
            raise wrong(f"the method {name} has no option `{option}`", f"it has {listed}")
        least_excluded = option in ("rate", "epsilon")
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        fits = number and (0 < value < np.inf if least_excluded else 0 <= value < 1)
        if not fits:
            what = "a number above 0" if least_excluded else "a number from 0 to below 1"
            raise wrong(
                f"`{option}=` is {what}, got {value!r}", f"such as `{option}={getattr(rule, option):g}`"
            )
    return replace(rule, **options)
