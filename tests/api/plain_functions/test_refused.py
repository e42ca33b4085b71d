"""Plain Python functions that a kernel cannot call, and the error messages."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import dsim as ds
from dsim.diagnostics import CompilationError, KernelSyntaxError
from tests.api.plain_functions.functions import bent, of, summed


@pytest.fixture(autouse=True)
def doubles():
    ds.init(default_fp=ds.f64)


async def later(v):
    return v


def generator(v):
    yield v


def changing_a_global(v):
    global gain  # noqa: PLW0603
    gain = v
    return v


def wrong_inside(v):
    return v + missing_name  # noqa: F821


def careful(v):
    try:
        return v
    except ValueError:
        return 0.0


@pytest.mark.parametrize(
    ("function", "message", "help"),
    [
        (generator, "`generator` is a generator", "return a tuple or a list"),
        (later, "`later` is asynchronous", "make it a plain `def`"),
        (changing_a_global, "kernels have no `global`", "write to a field"),
        (careful, "kernels have no `try`", "test values with `if`"),
        (random.gauss, "kernels cannot call `gauss`", "`mean + deviation * ds.randn()`"),
        (np.interp, "kernels cannot call `interp`", ""),
        (math.frexp, "kernels cannot call `frexp`", "kernels have `ds.frexp`"),
        (str, "kernels cannot make a `str`", "@ds.dataclass"),
    ],
)
def test_refused(function, message, help):
    with pytest.raises(CompilationError) as error:
        of(function)
    assert message in str(error.value)
    assert f"{help}" in error.value.diagnostics[0].help


def test_an_error_inside_names_the_line_and_the_call():
    with pytest.raises(CompilationError, match="`missing_name` is not defined") as error:
        of(wrong_inside)
    (found,) = error.value.diagnostics
    assert found.span.text == "missing_name"
    assert [(label.span.text, label.text) for label in found.labels] == [("g(v)", "called here")]


once = {"power": 1}


def test_wrong_arguments():
    for call, message in (
        (lambda v: bent(v, 2, 3.0), "`bent` takes 2 arguments, got 3"),
        (lambda v: bent(v, scale=3.0), "got an unexpected or repeated argument `scale`"),
        (lambda v: bent(), "`bent` misses the argument `a`"),
        (lambda v: bent(v, **once, power=2), "the argument `power` is given twice"),
        (lambda v: summed(v, other=1.0), "there is no argument `scale`: those given are `other`"),
    ):
        with pytest.raises(CompilationError, match=message):
            of(call)


def test_one_without_a_source():
    namespace = {}
    exec("def typed(v): return v + 1", namespace)
    with pytest.raises(KernelSyntaxError, match="the source of `typed` cannot be found") as error:
        of(namespace["typed"])
    assert error.value.diagnostics[0].span.text == "g(v)"


def test_calls_without_an_end():
    def forever(v):
        return forever(v)

    with pytest.raises(CompilationError, match="`forever` calls itself"):
        of(forever)
