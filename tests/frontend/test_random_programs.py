"""Random programs with branches, loops and exits behave as Python with the same text."""

from __future__ import annotations

import linecache
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.frontend.dialect import LoweringSettings, agrees, f, ti

NAMES = ("a", "b", "c")
_numbers = count()


class Writer:
    """Writes the body of one function; `draw` makes the choices."""

    def __init__(self, draw) -> None:
        self.draw = draw
        self.fresh = count()
        self.known = [*NAMES]

    def pick(self, *options):
        return self.draw(st.sampled_from(options))

    def atom(self) -> str:
        return self.pick(*self.known, "x[1]", "1", "2", "3")

    def expression(self, depth: int = 2) -> str:
        if depth == 0 or self.draw(st.booleans()):
            return self.atom()
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        form = self.pick("+", "-", "*", "%", "choice", "vector")
        if form == "choice":
            return f"({a} if {self.condition(0)} else {b})"
        if form == "vector":
            return f"max({a}, {b})"
        return f"({a} {form} {b})" if form != "%" else f"({a} % (1 + abs({b})))"

    def condition(self, depth: int = 1) -> str:
        simple = f"{self.expression(1)} {self.pick('<', '>', '==', '<=', '!=')} {self.expression(1)}"
        if depth == 0:
            return simple
        word = self.pick("plain", "and", "or", "not")
        if word == "plain":
            return simple
        if word == "not":
            return f"not {simple}"
        return f"{simple} {word} {self.condition(depth - 1)}"

    def block(self, depth: int, loops: int, indent: str) -> list[str]:
        outer = [*self.known]
        lines = [line for _ in range(self.pick(1, 2, 3)) for line in self.statement(depth, loops, indent)]
        self.known = outer
        return lines

    def statement(self, depth: int, loops: int, indent: str) -> list[str]:
        kinds = ["assign", "add", "store", "new"]
        if depth:
            kinds += ["if", "if", "for", "while"]
        if loops:
            kinds += ["break", "continue"]
        kinds += ["return"] if self.pick(*range(4)) == 0 else []
        return getattr(self, self.pick(*kinds) + "_")(depth, loops, indent)

    def assign_(self, depth, loops, indent):
        return [f"{indent}{self.pick(*NAMES)} = {self.expression()} % 1000"]

    def add_(self, depth, loops, indent):
        return [f"{indent}x[{self.pick(0, 1, 2)}] += {self.expression()}"]

    def store_(self, depth, loops, indent):
        return [f"{indent}x[{self.pick(0, 1, 2)}] = {self.expression()} % 1000"]

    def new_(self, depth, loops, indent):
        name = f"n{next(self.fresh)}"
        value = self.expression()
        self.known.append(name)
        return [f"{indent}{name} = 0 + {value} % 1000"]

    def if_(self, depth, loops, indent):
        lines = [f"{indent}if {self.condition()}:", *self.block(depth - 1, loops, indent + "    ")]
        if self.draw(st.booleans()):
            lines += [f"{indent}elif {self.condition()}:", *self.block(depth - 1, loops, indent + "    ")]
        if self.draw(st.booleans()):
            lines += [f"{indent}else:", *self.block(depth - 1, loops, indent + "    ")]
        return lines

    def for_(self, depth, loops, indent):
        name = f"i{next(self.fresh)}"
        bounds = self.pick("3", "1, 4", "4, 0, -2", "abs(a) % 4")
        outer = [*self.known]
        self.known.append(name)
        lines = [
            f"{indent}for {name} in range({bounds}):",
            *self.block(depth - 1, loops + 1, indent + "    "),
        ]
        self.known = outer
        return lines

    def while_(self, depth, loops, indent):
        name = f"w{next(self.fresh)}"
        return [
            f"{indent}{name} = 0",
            f"{indent}while {name} < 3 and {self.condition(0)}:",
            f"{indent}    {name} += 1",
            *self.block(depth - 1, loops + 1, indent + "    "),
        ]

    def break_(self, depth, loops, indent):
        return (
            [f"{indent}if {self.condition(0)}:", f"{indent}    break"]
            if self.pick(0, 1, 2)
            else [f"{indent}break"]
        )

    def continue_(self, depth, loops, indent):
        return [f"{indent}if {self.condition(0)}:", f"{indent}    continue"]

    def return_(self, depth, loops, indent):
        return [f"{indent}return {self.expression()} % 1000"]


@st.composite
def programs(draw) -> str:
    writer = Writer(draw)
    lines = [line for _ in range(4) for line in writer.statement(3, 0, "    ")]
    head = ["def k(a: int, b: int) -> int:", "    a = a % 1000", "    c = a + b"]
    return "\n".join([*head, *lines, "    return (a + 3 * b + 7 * c) % 1000"]) + "\n"


def function_of(source: str, **namespace):
    """The function that `source` defines; `linecache` knows its text."""
    name = f"<program {next(_numbers)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)  # type: ignore[assignment]
    exec(compile(source, name, "exec"), namespace)
    return namespace["k"]


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(-5, 20), st.integers(-5, 20))
def test_random_programs(source: str, a: int, b: int) -> None:
    x = f(3, dtype=ti.i64, values=[1, 2, 3])
    agrees(function_of(source, x=x), [x], a, b, settings=LoweringSettings(ti.f64, ti.i64))


CALLER = """def k(p: int, q: int) -> int:
    r = 0
    for i in range(2):
        r += g(p + i, q)
    return r + g(q, p)
"""


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(-5, 20), st.integers(-5, 20))
def test_random_funcs(source: str, a: int, b: int) -> None:
    x = f(3, dtype=ti.i64, values=[1, 2, 3])
    inner = ti.func(function_of(source, x=x))
    agrees(function_of(CALLER, x=x, g=inner), [x], a, b, settings=LoweringSettings(ti.f64, ti.i64))
