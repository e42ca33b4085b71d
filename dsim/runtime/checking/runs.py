"""Functions that dsim calls for what they launch: refuses those that launch nothing when they are called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from dsim.diagnostics import Diagnostic, GradientError
from dsim.runtime.fields.fields import kind_of
from dsim.runtime.state import interruption
from dsim.runtime.state.references import ByName


def require(run: Any) -> None:
    """Refuses what cannot be called without arguments.

    The signature decides, not the call: a `TypeError` inside `run` is not about its arguments.

    Raises
    ------
    GradientError
        When `run` is no callable, or needs an argument. Kernels say themselves what they need.
    """
    if not callable(run):
        message = f"a run is a kernel or a function without parameters, got {kind_of(run)}"
        advice = "pass the function itself: `run`, not `run()`" if run is None else "pass a function"
        raise GradientError(Diagnostic("argument", message, help=advice))
    needed = list(_needed(run))
    if needed:
        listed = ", ".join(f"`{name}`" for name in needed)
        what = "an argument" if len(needed) == 1 else "arguments"
        message = f"{_named(run)} needs {what}, {listed}, and a run is called without any"
        known = getattr(run, "__name__", "")
        called = f"{known if known.isidentifier() else 'run'}({', '.join(needed)})"
        advice = f"give values: `lambda: {called}`"
        raise GradientError(Diagnostic("argument", message, help=advice))


def call(run: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Calls `run`; gives its result.

    Raises
    ------
    GradientError
        When it returns what is yet to be run: it is a coroutine function or a generator function, or returns
        what one has given.
    """
    result = interruption.listening(run, *args, **named)
    for kind, is_one, code, advice in _LATER:
        if is_one(result):
            if inspect.iscoroutine(result):
                result.close()
            message = f"{_named(run)} returned {kind}: what {code} launches, it launches after the call"
            raise GradientError(Diagnostic("argument", message, help=advice))
    return result


_PLAIN = "make it a plain function: `def`, without `async` and `await`"
_LATER = (
    ("a coroutine", inspect.iscoroutine, "an `async def`", _PLAIN),
    ("an asynchronous generator", inspect.isasyncgen, "an `async def` with `yield`", _PLAIN),
    ("an awaitable", inspect.isawaitable, "a task", _PLAIN),
    (
        "a generator", inspect.isgenerator, "a function with `yield`",
        "make it a plain function, or go through the generator inside one: `for _ in steps(): pass`",
    ),
)  # fmt: skip


def _needed(run: Callable[..., Any]) -> Iterator[str]:
    """The parameters of `run` that have no default."""
    if getattr(run, "__dsim_kernel__", False):
        return
    called = run.function if isinstance(run, ByName) else run
    try:
        signature = inspect.signature(called, follow_wrapped=False)
    except (TypeError, ValueError):  # some of C have none
        return
    for p in signature.parameters.values():
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            yield p.name


def _named(run: Callable[..., Any]) -> str:
    name = getattr(run, "__name__", "")
    return f"`{name}`" if name.isidentifier() else "the run"
