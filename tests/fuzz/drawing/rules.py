"""Random funcs with custom derivatives.

The derivative of such a func is linear, and otherwise anything: not that of what the func computes, so that
taking the one for the other is seen.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.drawing.expressions import Choosing, Expressions, Feature, Scope
from tests.fuzz.drawing.statements import Lines, Statements, indented

TYPED = "h_int"
VECTORS = "h_vector"
NUMBERS = ("h_jvp", "h_vjp", "h_both")


def funcs(choosing: Choosing) -> tuple[str, ...]:
    """Funcs of two floats, of a float and an integer, and of a vector and a float."""
    return (
        *(_of_numbers(choosing, name, ("a", "b")) for name in NUMBERS),
        _of_numbers(choosing, TYPED, ("a",), ("n",)),
        _of_vector(choosing),
    )


def _body(choosing: Choosing, name: str, scope: Scope, params: str, made: Callable[[Statements], str]) -> str:
    writing = Statements(choosing.random, (), ())
    writing.left = 3
    lines = [*writing.block(scope, 1), f"return {made(writing)}"]
    return "\n".join(["@ti.func", f"def {name}({params}):", *indented(lines)])


def _of_numbers(
    choosing: Choosing, name: str, floats: tuple[str, ...], integers: tuple[str, ...] = ()
) -> str:
    params = ", ".join((*floats, *integers))
    scope = Scope(floats=[*floats], integers=[*integers])
    body = _body(choosing, name, scope, params, lambda w: w.bounded(scope))
    uses = choosing.chance(60)
    extra = Scope(floats=[*floats, *["result"] * uses], integers=[*integers])
    writing = Expressions(choosing.random, ())
    slopes = [f"({writing.bounded(extra)})" for _ in floats]
    tail = ", *, result" * uses
    dots = ", ".join(f"{f}_dot" for f in floats)
    forward = " + ".join(f"{s} * {f}_dot" for s, f in zip(slopes, floats, strict=True))
    backward = ", ".join(f"{s} * w" for s in slopes)
    jvp = f"@ti.func\ndef {name}_forward({params}, {dots}{tail}):\n    return {forward}"
    vjp = f"@ti.func\ndef {name}_backward({params}, w{tail}):\n    return {backward}"
    return _joined(name, body, *_chosen(name, jvp, vjp))


def _of_vector(choosing: Choosing) -> str:
    """A vector of three and a number give a vector: an entry times a slope, and turned around."""
    name = VECTORS
    scope = Scope(floats=["a"], vectors=["p"])
    body = _body(choosing, name, scope, "p, a", lambda w: f"0.6 * p + {w.bounded(scope)}")
    writing, extra = Expressions(choosing.random, ()), Scope(floats=["a"], vectors=["p"])
    s, r = (f"({writing.bounded(extra)})" for _ in "12")
    c = [f"({writing.bounded(extra)})" for _ in range(3)]
    turned = ", ".join(f"p_dot[{(i + 1) % 3}] * {r} + a_dot * {c[i]}" for i in range(3))
    back = ", ".join(f"w[{(i - 1) % 3}] * {r}" for i in range(3))
    jvp = f"@ti.func\ndef {name}_forward(p, a, p_dot, a_dot):\n    return p_dot * {s} + ti.Vector([{turned}])"
    sums = " + ".join(f"w[{i}] * {c[i]}" for i in range(3))
    vjp = f"@ti.func\ndef {name}_backward(p, a, w):\n    return w * {s} + ti.Vector([{back}]), {sums}"
    kind = choosing.pick("h_jvp", "h_vjp", "h_both")
    return _joined(name, body, *_chosen(kind, jvp, vjp))


def _chosen(kind: str, jvp: str, vjp: str) -> tuple[str, str]:
    return ("" if kind.endswith("_vjp") else jvp), ("" if kind.endswith("_jvp") else vjp)


def _joined(name: str, body: str, jvp: str, vjp: str) -> str:
    given = [f"jvp={name}_forward"] * bool(jvp) + [f"vjp={name}_backward"] * bool(vjp)
    declared = f"{name}.derivative({', '.join(given)})"
    return "\n\n\n".join(filter(None, [body, jvp, vjp, declared]))


class Ruled(Feature):
    """Calls of such funcs."""

    def numbers(self, writing: Expressions, scope: Scope, depth: int) -> list[str]:
        """Of numbers."""
        if not writing.funcs:
            return []
        a, b = writing.number(scope, depth - 1), writing.number(scope, 0)
        found = [f"{writing.pick(*NUMBERS)}({a}, {b})", f"{TYPED}({a}, {writing.integer_atom(scope)})"]
        return [*found, *(f"{VECTORS}({v}, {a}).sum()" for v in scope.vectors[:1])]

    def statements(self, writing: Statements, scope: Scope) -> list[Callable[[Scope, int], Lines]]:
        """A new vector."""
        return [lambda scope, depth: self.new(writing, scope)] * (2 * bool(scope.vectors))

    def new(self, writing: Statements, scope: Scope) -> Lines:
        """What the func of vectors gives."""
        v = writing.pick(*scope.vectors)
        line = f"{(name := writing.fresh('p'))} = {VECTORS}({v}, {writing.number(scope, 1)})"
        scope.vectors.append(name)
        return [line]
