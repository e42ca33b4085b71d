"""Random programs whose kernels capture Python's numbers and funcs, which change between launches."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.drawing.expressions import Choosing, Expressions, Feature, Scope
from tests.fuzz.drawing.program import Action, HostWrite, mentioned
from tests.fuzz.drawing.statements import Lines, Statements, indented

START = {"gain": 0.5, "turns": 2, "shift": -0.3, "pair": [0.4, -0.2], "choice": True}
FUNCS = ("f0", "f1")


def declared() -> str:
    """The numbers."""
    return "\n".join(f"{name} = {value}" for name, value in START.items())


def resets() -> tuple[str, ...]:
    """What every run begins with."""
    numbers = tuple(f"globals()['{name}'] = {value}" for name, value in START.items())
    return (*numbers, *(f"globals()['{name}'] = {name}_a" for name in FUNCS))


def change(choosing: Choosing, text: str) -> Action:
    """Python gives a name that occurs in `text` another meaning."""
    known = mentioned((*START, *FUNCS), text)
    name = choosing.pick(*sorted(known) or START)
    some = choosing.some
    value = {
        "gain": lambda: some(-3, 4) * 0.3,
        "shift": lambda: some(-3, 4) * 0.2,
        "turns": lambda: choosing.pick(0, 1, 3, 4),
        "pair": lambda: [some(-2, 2) * 0.3, some(-2, 2) * 0.5],
        "choice": lambda: choosing.chance(20),
    }.get(name, lambda: f"{name}_{choosing.pick('a', 'b', 'b')}")()
    return HostWrite("", f"globals()['{name}'] = {value}")


class Captured(Feature):
    """Uses of the numbers."""

    def atoms(self, writing: Expressions, scope: Scope) -> list[str]:
        """Numbers as they are now."""
        chosen = writing.pick(
            "(gain if turns > 1 else shift)", "(turns - gain * 0.1)", "(shift / 3.0 + turns)"
        )
        known = ("ti.static(gain + 0.1)", f"pair[{writing.pick(0, 1)}]")
        return ["gain", "shift", "(gain * shift)", chosen, *known]

    def integers(self, writing: Expressions, scope: Scope) -> list[str]:
        """The number of turns."""
        return ["turns", "(turns * 2 - 1)", "ti.static(turns + 1)"]

    def statements(self, writing: Statements, scope: Scope) -> list[Callable[[Scope, int], Lines]]:
        """A loop of as many turns, and a choice that is made when the kernel is compiled."""
        loops = [self._static, lambda w, s: self._loop(w, s, "turns"), self._choice]
        return [lambda scope, depth, way=way: way(writing, scope) for way in loops]

    def _loop(self, writing: Statements, scope: Scope, bound: str) -> Lines:
        inner, name = scope.inner(breaks=True), writing.fresh("j")
        inner.integers.append(name)
        inner.below[name] = 5
        return [f"for {name} in range({bound}):", *indented(writing.block(inner, 0))]

    def _static(self, writing: Statements, scope: Scope) -> Lines:
        inner, name = scope.inner(breaks=False), writing.fresh("j")
        inner.integers.append(name)
        inner.below[name] = 5
        return [f"for {name} in ti.static(range(turns)):", *indented(writing.block(inner, 0))]

    def _choice(self, writing: Statements, scope: Scope) -> Lines:
        block, other = (indented(writing.block(scope.inner(), 0)) for _ in "12")
        return ["if ti.static(choice):", *block, "else:", *other]
