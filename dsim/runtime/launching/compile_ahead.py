"""Compiles forms before they run, and touches the memory that they will write, on other threads."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing, suppress

from dsim.backends.cpu.runtime import thread_count
from dsim.backends.locks import COMPILING, room_to_compile
from dsim.ir.walk import statements
from dsim.runtime.driver.pipeline import MachineThreads
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.forms import Form

_LONG = 24  # statements; less is compiled in the time that a thread needs to begin
# Bytes of a field whose pages are worth a thread, and of one of which a program may never use the most.
_LEAST, _MOST = 8 << 20, 1 << 28


class AheadCompiler:
    """Compiles forms while their user does something else, until it is closed."""

    def __init__(self) -> None:
        self._threads: MachineThreads | None = None
        self._touched: set[Field] = set()

    def begin(self, launched: Form, adjoint: Form, written: Iterable[Field]) -> None:
        """Begins to compile a form that is launched next and its adjoint, and to touch what that will write.

        An error is left to their first launch. A small adjoint is worth a thread while another one touches
        new memory.
        """
        if thread_count() < 2:
            return
        new = [f for f in written if f not in self._touched and _is_large(f)]
        forms = [f for f in (launched, adjoint) if not f.compiled and (_is_long(f) or (new and f is adjoint))]
        with COMPILING, room_to_compile(), suppress(Exception):
            for form in forms:
                self._started().begin(form.program.machine)
            for field in new:
                self._touched.add(field)
                self._started().touch(field.require_memory())

    def close(self) -> None:
        """Ends the threads; what they have not begun compiles at its first launch."""
        if self._threads is not None:
            self._threads.close()
            self._threads = None

    def _started(self) -> MachineThreads:
        self._threads = self._threads or MachineThreads(thread_count())
        return self._threads


def _is_long(form: Form) -> bool:
    return sum(1 for _ in statements(form.kernel.body)) >= _LONG


def _is_large(field: Field) -> bool:
    return field.buffer is not None and _LEAST <= field.buffer.nbytes <= _MOST


def compile_together(forms: Iterable[Form]) -> None:
    """Compiles those of `forms` that are not compiled, several at the same time.

    This thread takes part: other ones begin with the first, and it compiles the last that none has begun.

    Parameters
    ----------
    forms : iterable of Form
        In the order in which they will run. Those of a single program are left to their first launches.
    """
    missing = [form for form in dict.fromkeys(forms) if not form.compiled]
    programs = dict.fromkeys(form.program for form in missing)  # which forms on different arrays share
    if len(programs) < 2:
        return
    others = max(1, thread_count() - 1)
    with COMPILING, room_to_compile(), closing(MachineThreads(others)) as threads:
        for program in programs:
            threads.begin(program.machine)
        for form in reversed(missing):
            form.compile()
