"""The documentation's page of primitives equals the table; ``--update-golden`` regenerates it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dsim.ir.build import Builder, Names
from dsim.ir.nodes import Atom, Const, Let, Var
from dsim.ir.primitive import Primitive, Times
from dsim.ir.primitives import TABLE
from dsim.ir.types import f64, i32, u1

PAGE = Path(__file__).parents[2] / "docs" / "primitives.md"
HEAD = """# Primitives

Every expression of a kernel is made of these, and every derivative too. They stand in one table,
`dsim/ir/primitives.py`; this page is made from it.

A derivative is the product of a partial derivative with a factor `t`: forward mode puts the argument's
tangent for `t`, reverse mode the adjoint of the result `z`. `mul_strong(p, t)` is `p * t`, but 0 where
`t` is 0, whatever `p` is, `div_strong(t, y)` is `t / y`, and
`mul_div_strong(p, t, y)` is `p * (t / y)`, both 0 where `t` is 0. "0" stands where there is no
derivative, or none but 0.

| primitive | of arguments a, b, c | by a | by b | by c | kinks |
|---|---|---|---|---|---|
"""
TYPES = {"T": f64, "b": u1, "i": i32, "n": i32}


def formula(times: Times, row: Primitive) -> str:
    builder = Builder(Names("abczt"))
    args: list[Atom] = [Var(name, TYPES[p]) for name, p in zip("abc", row.parameters, strict=False)]
    wanted = f64 if row.signature.endswith("*") else None
    z = Var("z", row.result_type(tuple(a.type for a in args), wanted))
    terms = [builder.term(v) for v in (*args, z, Var("t", f64))]
    result = times(*terms).atom
    made = {s.var: s for s in builder.close().statements if isinstance(s, Let)}
    return text(result, made)


def text(atom: Atom, made: dict[Var, Let]) -> str:
    if isinstance(atom, Const):
        return f"{atom.value:g}"
    s = made.get(atom)
    if s is None:
        return atom.name
    row = TABLE[s.op]
    return row.python.format(*(inner(a, made) for a in s.args), to=s.var.type.name).replace("np.", "")


def inner(atom: Atom, made: dict[Var, Let]) -> str:
    """An operand: in brackets where it is made of an operator."""
    shown = text(atom, made)
    operator = isinstance(atom, Var) and atom in made and TABLE[made[atom].op].python[0] in "{-~"
    return f"({shown})" if operator else shown


def rows() -> Iterator[str]:
    for row in TABLE.values():
        spelled = row.python.format("a", "b", "c", to="type").replace("np.", "")
        by = [f"`{formula(t, row)}`" if t else "0" for t in row.times]
        cells = [
            f"`{row.name}`",
            f"`{spelled}`",
            *by,
            *[""] * (3 - len(by)),
            "" if row.kink is None else str(row.kink),
        ]
        yield "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"


def test_the_page_is_fresh(request: pytest.FixtureRequest) -> None:
    page = HEAD + "\n".join(rows()) + "\n"
    if request.config.getoption("--update-golden"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page


def test_formulas_read_as_they_should() -> None:
    assert formula(TABLE["sin"].times[0], TABLE["sin"]) == "cos(a) * t"
    assert formula(TABLE["sqrt"].times[0], TABLE["sqrt"]) == "mul_strong((0.5 / z), t)"
