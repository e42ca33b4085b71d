"""Compiles forms that are all about to run, on all cores."""

from __future__ import annotations

from collections.abc import Iterable

from dsim.backends.locks import COMPILING
from dsim.runtime.driver import pipeline
from dsim.runtime.launching.forms import Form


def compile_ahead(forms: Iterable[Form]) -> None:
    """Compiles those of `forms` that are not compiled, several at the same time.

    Parameters
    ----------
    forms : iterable of Form
        In the order in which they will run. Those of a single program are left to their first launches.
    """
    missing = [form for form in dict.fromkeys(forms) if not form.compiled]
    programs = dict.fromkeys(form.program for form in missing)  # which forms on different arrays share
    if len(programs) < 2:
        return
    with COMPILING, pipeline.together() as begin:
        for program in programs:
            begin(program.machine)
        for form in missing:
            form.compile()
