"""Whether the two rules of an operation belong together: ⟨w, jvp(v)⟩ = ⟨vjp(w), v⟩ at the first use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError, Label
from dsim.runtime.driver.rule_consistency import TOLERANCE
from dsim.runtime.operations.rules import Attributes, HostFunction, HostRule, RuleCall


def refuse_inconsistent(
    host: HostFunction, inputs: Sequence[np.ndarray], attributes: Attributes, single: bool
) -> None:
    """Compares a jvp and a vjp once, at these inputs in double precision and for random derivatives.

    Raises
    ------
    GradientError
        When they are not transposes of each other.
    """
    key = (host.version, repr(attributes))
    if not host.checks or not {"jvp", "vjp"} <= host.rules.keys() or key in host.compared:
        return
    wide = tuple(map(_wide, inputs))
    found = host.values(wide, attributes)
    outputs = tuple(map(np.asarray, (found,) if single else found))
    call = RuleCall(wide, attributes, outputs, single)
    random = np.random.default_rng(0)
    v = [_random(random, a) for a in wide]
    w = [_random(random, a) for a in outputs]
    tangents = host.tangents(call, v)
    adjoints = host.adjoints(call, w, [a is not None for a in v])
    ahead = _products(host, "jvp", tangents, w)
    back = _products(host, "vjp", adjoints, v)
    size = np.abs(ahead).sum() + np.abs(back).sum()
    if np.isfinite(size) and abs(ahead.sum() - back.sum()) > TOLERANCE * size:
        raise _disagreement(host, float(ahead.sum()), float(back.sum()))
    host.compared.add(key)


def refuse_other_numbers(
    host: HostFunction, rule: HostRule, found: Iterable[Any], traced: Iterable[Any]
) -> None:
    """Compares what a rule returns for arrays with what its traced operations do.

    Raises
    ------
    GradientError
        When they are not the same: it does something to arrays that it does not do to traced ones.
    """
    for a, b in zip(found, traced, strict=True):
        first, second = (np.asarray(0.0 if x is None else x, np.float64) for x in (a, b))
        size = np.abs(first).max(initial=0.0) + np.abs(second).max(initial=0.0)
        if np.isfinite(size) and np.abs(first - second).max(initial=0.0) > TOLERANCE * size:
            message = f"the {rule.kind} of `{host.name}` gives other numbers when it is differentiated"
            advice = "compute with what it is given, in the same way for arrays and for traced arrays"
            raise GradientError(Diagnostic("wrong-derivative", message, rule.span, "this rule", help=advice))


def _wide(array: np.ndarray) -> np.ndarray:
    made = array.astype(np.float64) if array.dtype.kind == "f" else array.view()
    made.flags.writeable = False
    return made


def _random(random: np.random.Generator, like: np.ndarray) -> np.ndarray | None:
    return random.normal(size=like.shape) if like.dtype.kind == "f" else None


def _products(host: HostFunction, kind: str, found: Sequence[Any], seeds: Sequence[Any]) -> np.ndarray:
    """The products of derivatives with seeds, number by number."""
    parts = [np.zeros(1)]
    for value, seed in zip(found, seeds, strict=True):
        if value is not None and seed is not None:
            parts.append((host.fitting(host.rules[kind], value, seed, "a derivative") * seed).ravel())
    return np.concatenate(parts)


def _disagreement(host: HostFunction, ahead: float, back: float) -> GradientError:
    jvp, vjp = host.rules["jvp"].span, host.rules["vjp"].span
    labels = () if vjp is None else (Label(vjp, f"⟨vjp(w), v⟩ = {back:.6g}"),)
    message = f"the jvp and the vjp of `{host.name}` are not transposes of each other"
    advice = "one of them is wrong: compare each with differences, by `ds.check_grad`"
    here = f"⟨w, jvp(v)⟩ = {ahead:.6g}"
    return GradientError(Diagnostic("wrong-derivative", message, jvp, here, labels, advice))
