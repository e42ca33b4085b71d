"""Every diagnostic ends with one help line: its own, or that of its code."""

import ast
from pathlib import Path

import pytest

import dsim
from dsim.diagnostics.messages import CODES, REMEDIES, Diagnostic

SAY = {"Diagnostic": 5, "refuse": 4}  # where a help line stands among the arguments by position


def _said():
    """Every place in dsim that makes a diagnostic of a code that is written there."""
    folder = Path(dsim.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                codes = [a.value for a in node.args if isinstance(a, ast.Constant) and a.value in CODES]
                if name in SAY and codes:
                    yield f"{path.relative_to(folder)}:{node.lineno}", codes[0], node, SAY[name]


@pytest.mark.slow
def test_every_diagnostic_has_a_line_of_help():
    found = list(_said())
    assert len(found) > 150
    without = [
        f"{place}: {code}"
        for place, code, node, position in found
        if code not in REMEDIES
        and not any(k.arg == "help" for k in node.keywords)
        and len(node.args) <= position
    ]
    assert without == []


@pytest.mark.parametrize("code", REMEDIES)
def test_a_remedy_is_one_line(code):
    remedy = Diagnostic(code, "something is wrong").remedy
    assert remedy
    assert "\n" not in remedy
    assert not remedy.endswith(".")
