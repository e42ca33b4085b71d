"""Compiles forms before they run, on other threads."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing, suppress

from dsim.backends.cpu.runtime import thread_count
from dsim.backends.locks import COMPILING
from dsim.ir.walk import statements
from dsim.runtime.driver.pipeline import MachineThreads
from dsim.runtime.launching.forms import Form

_LARGE = 24  # statements; less is compiled in the time that a thread needs to begin


class AheadCompiler:
    """Compiles forms while their user does something else, until it is closed."""

    def __init__(self) -> None:
        self._threads: MachineThreads | None = None

    def begin(self, form: Form) -> None:
        """Begins to compile `form`, if that is worth a thread. An error is left to its first launch."""
        if form.compiled or thread_count() < 2 or sum(1 for _ in statements(form.kernel.body)) < _LARGE:
            return
        with COMPILING, suppress(Exception):
            self._threads = self._threads or MachineThreads()
            self._threads.begin(form.program.machine)

    def close(self) -> None:
        """Ends the threads; what they have not begun compiles at its first launch."""
        if self._threads is not None:
            self._threads.close()
            self._threads = None


def compile_together(forms: Iterable[Form]) -> None:
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
    with COMPILING, closing(MachineThreads()) as threads:
        for program in programs:
            threads.begin(program.machine)
        for form in missing:
            form.compile()
