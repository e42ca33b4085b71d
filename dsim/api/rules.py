"""What `Func.derivative` is given, held to what a derivative is: only signatures, nothing is run."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

from dsim.frontend.own import Rules

_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def rules_of(func: Any, jvp: Any, vjp: Any) -> Rules:
    """The rules of `func`.

    Raises
    ------
    TypeError
        When what is given cannot be its derivative.
    """
    name = func.__name__
    if jvp is None and vjp is None:
        raise TypeError(f"{name}.derivative() takes `jvp=`, `vjp=` or both, and got none")
    if hasattr(func.function, "__self__"):
        raise TypeError(f"the derivative of the method `{name}` is given in its class")
    count = _positional(func, "a func with a derivative of its own", ())
    tangents = 0
    for word, rule in (("jvp", jvp), ("vjp", vjp)):
        if rule is None:
            continue
        if not hasattr(rule, "__dsim_func__"):
            kind = type(rule).__name__
            raise TypeError(f"{name}.derivative({word}=…) takes a func (a function under @func), not {kind}")
        seeds = _positional(rule, f"the {word} of `{name}`", ("result",)) - count
        _refuse_count(name, word, rule.__name__, count, seeds)
        tangents = seeds if word == "jvp" else tangents
    return Rules(jvp, vjp, tangents)


def _refuse_count(name: str, word: str, rule: str, count: int, seeds: int) -> None:
    kind = "tangents of its float arguments" if word == "jvp" else "adjoints of its float results"
    if seeds < 1 or (word == "jvp" and seeds > count):
        raise TypeError(
            f"`{rule}` takes {count + seeds} arguments by position: as the {word} of `{name}` it takes the "
            f"{count} of `{name}` and then the {kind}"
        )


def _positional(func: Any, what: str, keywords: tuple[str, ...]) -> int:
    """How many parameters are given by position; others than `keywords` must not be there."""
    found = signature(func.__dsim_func__).parameters.values()
    for p in found:
        if p.kind not in _BY_POSITION and not (p.kind is Parameter.KEYWORD_ONLY and p.name in keywords):
            raise TypeError(f"{what} has no parameter like the `{p}` of `{func.__name__}`")
    return sum(p.kind in _BY_POSITION for p in found)
