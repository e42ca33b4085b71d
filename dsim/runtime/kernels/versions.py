"""The compilations of a kernel: one for each set of captured values."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dsim import frontend
from dsim.backends.locks import COMPILING, room_to_compile
from dsim.diagnostics import CompilationError, Diagnostic, Level
from dsim.frontend.source.lowered import Lowered, Param
from dsim.frontend.source.lowered import LoweringSettings as Types
from dsim.passes.parallelization import in_series
from dsim.runtime.driver import pipeline
from dsim.runtime.driver.programs import Program
from dsim.runtime.fields.fields import Field
from dsim.runtime.kernels import arguments
from dsim.runtime.kernels.arguments import Parameters
from dsim.runtime.kernels.array_launch import ArrayLaunch, ArrayMemory
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.probe_buffers import Looking
from dsim.runtime.state import settings
from dsim.runtime.state.notices import warn


class Version:
    """One compilation, for certain captured values."""

    def __init__(
        self, owner: Instance, lowered: Lowered, form: Form, diagnostics: tuple[Diagnostic, ...]
    ) -> None:
        self.lowered = lowered
        self.form = form
        form.variables = (*lowered.objects, *lowered.captures, *lowered.hidden)
        form.random = lowered.random
        self.diagnostics = diagnostics
        self.parameters = Parameters(lowered.kernel.name, lowered.params, lowered.kernel.origin.span)
        self._drawn = threading.local()
        self.said = False
        self.arrays: ArrayLaunch | None = None
        if owner.places is not None:
            self.arrays = ArrayLaunch(form, owner.places)
        self.launch = arguments.launcher(
            self.parameters, lowered, form, owner.refresh, self._remember, self.arrays, owner.elsewhere
        )

    def _remember(self, number: int) -> None:
        self._drawn.number = number

    def arguments(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """All of the kernel's arguments for a user's; random ones are of this thread's last launch."""
        values: list[Any] = []
        for n, (p, a) in enumerate(zip(self.lowered.params, args, strict=True)):
            one = isinstance(p, Param) and not p.shape
            values += [self.parameters.number(n)(a)] if one else self.parameters.entries(n)(a)
        random = (getattr(self._drawn, "number", 0),) if self.lowered.random else ()
        own = self.lowered.launch_numbers.now()
        assert own is not None  # of the current version
        return (*values, *own, *random)


class Instance:
    """A kernel for certain values of its compile-time parameters.

    Parameters
    ----------
    bound : mapping of str to object
        These values; slots as placeholders of arrays.
    places : sequence of ArrayMemory, optional
        The memories of the slots, for a kernel that takes arrays.
    elsewhere : callable, optional
        Launches it instead when an array is one of the fields that it captured.
    looking : Looking, optional
        The observer: compiles an instrumented, serial variant.

    Attributes
    ----------
    launch : callable
        Launches it for the other arguments; of a kernel that takes arrays, first for these.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        bound: Mapping[str, Any],
        places: Sequence[ArrayMemory] | None = None,
        elsewhere: Callable[..., Any] | None = None,
        looking: Looking | None = None,
    ) -> None:
        self._function = function
        self._looking = looking
        self.bound = dict(bound)
        self.places = places
        self.elsewhere = elsewhere
        self._versions: list[Version] = []
        self._promoted: frozenset[str] = frozenset()
        self._current: Version | None = None
        self.launch: Callable[..., Any] = self.refresh

    def forget(self) -> None:
        """Drops what was compiled."""
        self._versions, self._current, self.launch = [], None, self.refresh
        if self._looking is not None:
            self._looking.forget()

    def refresh(self, *args: Any) -> Any:
        """Launches for the first time, or after a captured value has changed."""
        return self.version().launch(*args)

    def version(self) -> Version:
        """The compilation for the present captured values; its warnings are given once.

        Raises
        ------
        CompilationError
            When it cannot be compiled, or under ``init(strict=True)`` when there is a warning.
        """
        current = self._current
        if current is not None and arguments.up_to_date(current.lowered):
            return current
        with COMPILING, room_to_compile():
            found = self.unsaid()
            if not found.said:
                _say(found.diagnostics, self._function, settings.current().strict)
                found.said = True
            self._current, self.launch = found, found.launch
            return found

    def unsaid(self) -> Version:
        """The compilation for the present captured values, without warnings.

        A number that changed becomes a parameter from then on; one that cannot (it determines the
        kernel's structure) has a version for each value.
        """
        with COMPILING, room_to_compile():
            for v in self._versions:
                if arguments.up_to_date(v.lowered):
                    return v
            if self._current is not None:
                captures = self._current.lowered.captures
                moved = (
                    c for c in captures if arguments.changed(c.read(), c.value) and arguments.promotable(c)
                )
                self._promoted |= {c.name for c in moved}
            made = self._compile()
            self._versions.append(made)
            return made

    def _watched_by(self, looking: Looking, lowered: Lowered, promoted: frozenset[str]) -> Form | None:
        """The compilation `lowered` with probes for `looking`; None if it does not fit the present values."""
        if not arguments.up_to_date(lowered):
            return None
        made = Instance(self._function, self.bound, self.places, self.elsewhere, looking)
        made._promoted = promoted
        return made.unsaid().form

    def _compile(self) -> Version:
        chosen = settings.current()
        looking = self._looking
        types = Types(
            chosen.default_fp,
            chosen.default_ip,
            chosen.debug,
            looking is not None,
            looking is not None and looking.kinks,
            looking is not None and looking.births,
        )
        lowered = frontend.lower(self._function, types, self._promoted, bound=self.bound)
        _refuse_restless(lowered)
        fields: dict[str, Field] = {}
        for name, field in lowered.fields.items():
            assert isinstance(field, Field)
            fields[name] = field.root
            called = lowered.called[name]
            if called.split(".")[0] not in self.bound:
                field.root.given_name = field.root.given_name or called
        constants = [name for name, field in fields.items() if field.constant]
        whole = pipeline.constant(lowered.kernel, constants) if constants else lowered.kernel
        kernel, diagnostics = pipeline.prepared(whole, lowered.loops, chosen.fast_math)
        if self._looking is not None:  # the kernel itself gives the warnings
            fields |= self._looking.shown_by(lowered)
            form = Form(Program(in_series(kernel), chosen, serial=True), fields)
            return Version(self, lowered, form, ())
        form = Form(Program(kernel, chosen), fields)
        promoted = self._promoted
        form.watched_by = lambda looking: self._watched_by(looking, lowered, promoted)
        return Version(self, lowered, form, (*lowered.diagnostics, *diagnostics))


def _refuse_restless(lowered: Lowered) -> None:
    """Refuses captured values that are a new object at each access: each launch would compile again."""
    for c in lowered.objects:
        if c.read() is not c.value:
            message = f"`{c.name}` is another object at each access"
            raise CompilationError(
                Diagnostic("static", message, help="create it once, and assign it to a variable")
            )


def _say(diagnostics: tuple[Diagnostic, ...], function: Any, strict: bool) -> None:
    """Warns, or under ``init(strict=True)`` refuses the kernel.

    A function has a version for each field that it is given, each type and each setting: a warning of
    one version is not repeated for the next.
    """
    warnings = [d for d in diagnostics if d.level is Level.WARNING]
    if strict and warnings:
        raise CompilationError(*warnings)
    kept = getattr(function, "__func__", function).__dict__  # a method's are its function's
    said: set[Diagnostic] = kept.setdefault("__dsim_said__", set())
    warn(d for d in warnings if d not in said)
    said.update(warnings)
