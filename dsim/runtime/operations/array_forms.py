"""Forms that Python runs on whole fields, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dsim.diagnostics import Span
from dsim.ir.build import Builder
from dsim.ir.nodes import Atom, Const, Memory, MemoryKey, Store, Var
from dsim.runtime.driver.programs import Keys
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.forms import AdjointForm, Form, Recording
from dsim.runtime.launching.host_kernels import HostForm, Parts, over, spans_of
from dsim.runtime.launching.probe_buffers import Looking
from dsim.runtime.operations.dependences import Dependences, Step, memories_of
from dsim.runtime.state import turns
from dsim.runtime.state.write_clock import CLOCK


class ArrayForm(Form):
    """A form that Python runs on whole fields; analyses see its dependences (dependences.py).

    Parameters
    ----------
    name : str
        What messages call it.
    span : Span or None
        Where it is defined.
    steps : sequence of Step
        What it reads and writes, in order.
    """

    runs_python = True

    def __init__(self, name: str, span: Span | None, steps: Sequence[Step]) -> None:
        self.name, self.span, self.steps = name, span, tuple(steps)
        self._memories = memories_of(f for s in self.steps for f in (*s.reads, *s.writes))
        roots = {m.name: f.root for f, m in self._memories.items()}
        super().__init__(Dependences(name, span, self._memories, self.steps), roots)
        self.native = _not_machine_code  # the method that it was would make a cycle

    def _written(self) -> tuple[Field, ...]:
        return tuple(dict.fromkeys(f for s in self.steps for f in s.writes))

    def key(self, field: Field) -> MemoryKey:
        """The memory of a field that it reads or writes."""
        return self._memories[field].key

    def run(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Runs it now, outside every context."""
        for f in self.marks:
            f.touched = turns.current()
        self.last.moment = CLOCK.now
        self.execute()
        return ()

    def execute(self) -> None:
        """Does its work."""
        raise NotImplementedError

    def recording(self, active: tuple[bool, ...]) -> Recording:
        """The facts that a tape needs."""
        return self._keep(("recording", active), lambda: _Recording(self, active))

    def plan(self, active: Keys) -> AdjointForm | tuple[Form, ...]:
        """How a tape records it, where the memories `active` carry adjoints."""
        raise NotImplementedError

    def watched(self, looking: Looking) -> Form | None:
        """None: it has no lines to watch."""
        return None

    def guarded(self) -> Form:
        """Itself: it has no indices to check."""
        return self


def _not_machine_code(*args: Any) -> tuple[Any, ...]:
    raise AssertionError("a host operation is run by `run`")


class _Recording(Recording):
    """The facts that a tape needs about a form that Python runs."""

    @property
    def adjoint(self) -> Any:  # type: ignore[override]
        """How to record it; None when nothing is active. It may call a user's rule, so it takes no lock."""
        form: Any = self._form
        active = self._known.active
        return form.plan(active) if active else None

    saving = adjoint  # type: ignore[assignment]


class FormSequence(ArrayForm):
    """Forms that run one after the other, and that contexts differentiate one by one."""

    def __init__(self, name: str, span: Span | None, parts: Sequence[Form]) -> None:
        super().__init__(name, span, [step for part in parts for step in _steps(part)])
        self._sequence = tuple(parts)

    def execute(self) -> None:
        """Runs the parts."""
        for part in self._sequence:
            part.run(())

    def instead(self, keys: Keys) -> tuple[Form, ...]:
        """The parts."""
        return self._sequence

    def plan(self, active: Keys) -> tuple[Form, ...]:
        """The parts."""
        return self._sequence

    def stopped(self) -> Form:
        """The sequence of the parts' stopped forms."""
        stopped = [part.stopped() for part in self._sequence]
        return self._keep("stopped", lambda: FormSequence(self.name, self.span, stopped))


def _steps(form: Form) -> tuple[Step, ...]:
    """What a part reads and writes; of Python's writes all their fields count as read."""
    if isinstance(form, ArrayForm):
        return form.steps
    reads = () if isinstance(form, Clear) else tuple(f for _, f in form.floats)
    return (Step(reads, form.written, False),)


class Clear(HostForm):
    """Every number of the field becomes 0."""

    def __init__(self, field: Field) -> None:
        super().__init__(field, (), lambda: field.require_memory().fill(0))

    @staticmethod
    def body(builder: Builder, parts: Parts, target: Memory, *others: Memory) -> tuple[Var, ...]:
        """Appends what the kernel does; gives its parameters."""

        def one(at: tuple[Atom, ...]) -> None:
            builder.add(Store(target, at, Const(0.0, target.type)))

        over(builder, spans_of(target.shape), one)
        return ()


def cleared(field: Field, label: str) -> Form:
    """Sets the derivative `label` of a field to 0."""
    return Clear(field.scratch((*field.derivative, label)))
