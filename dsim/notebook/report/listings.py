"""The programs behind a kernel as texts, with the user's line that each of their lines comes from."""

from __future__ import annotations

from collections.abc import Callable

from dsim.diagnostics import DeviceError, GradientError
from dsim.notebook.report.locations import Json, Places, harmless
from dsim.runtime.kernels.kernel import adjoint_of
from dsim.runtime.launching.forms import Form


def listings(form: Form, kernel: str, places: Places, shown: str | None) -> list[Json]:
    """The adjoint as Python, the kernel as IR and as Python; LLVM's assembly or PTX when it is `shown`."""
    found: list[Json] = []
    name = harmless(kernel)
    try:
        adjoint = adjoint_of(form).python_lines
        found.append(_listing(name, "adjoint", "python", adjoint, places))
    except GradientError:
        pass  # the diagnostics say why there is none
    found.append(_listing(name, "ir", "dsim-ir", form.ir_lines, places))
    found.append(_listing(name, "python", "python", form.python_lines, places))
    if shown is not None and shown in _ASSEMBLY:
        text = _ASSEMBLY[shown](form)
        found.append(_listing(name, shown, shown, [(line, None) for line in text.split("\n")], places))
    return found


def _ptx(form: Form) -> str:
    """Its PTX, in columns; where there is none, a comment that says why."""
    try:
        return form.ptx.expandtabs(8)  # the width of LLVM's tabs; an editor's are narrower
    except DeviceError as error:
        (found,) = error.diagnostics
        return f"// {found.message}\n// help: {found.remedy}"


_ASSEMBLY: dict[str, Callable[[Form], str]] = {"llvm": lambda form: form.llvm, "ptx": _ptx}


def _listing(kernel: str, name: str, language: str, lines: list, places: Places) -> Json:
    while lines and not lines[-1][0]:
        lines = lines[:-1]
    told = [places.origin(origin) for _, origin in lines]
    return {
        "name": name,
        "kernel": kernel,
        "language": language,
        "text": harmless("\n".join(text for text, _ in lines)),
        "lines": [at and at[1] for at in told],
        "origins": [at and at[0] for at in told],
    }
