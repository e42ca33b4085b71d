"""The programs behind a kernel as texts, with the cell's line that each of their lines comes from."""

from __future__ import annotations

from dsim.diagnostics import GradientError
from dsim.notebook.places import Json, Places, harmless
from dsim.runtime.forms import Form
from dsim.runtime.kernel import adjoint_of


def listings(form: Form, places: Places, shown: str | None) -> list[Json]:
    """The adjoint as Python, the kernel as IR and as Python; LLVM's assembly when it is `shown`."""
    found: list[Json] = []
    try:
        adjoint = adjoint_of(form).python_lines
        found.append(_listing("adjoint", "python", adjoint, places))
    except GradientError:
        pass  # the diagnostics say why there is none
    found.append(_listing("ir", "dsim-ir", form.ir_lines, places))
    found.append(_listing("python", "python", form.python_lines, places))
    if shown == "llvm":
        found.append(_listing("llvm", "llvm", [(line, None) for line in form.llvm.split("\n")], places))
    return found


def _listing(name: str, language: str, lines: list, places: Places) -> Json:
    while lines and not lines[-1][0]:
        lines = lines[:-1]
    return {
        "name": name,
        "language": language,
        "text": harmless("\n".join(text for text, _ in lines)),
        "lines": [places.line(origin) for _, origin in lines],
    }
