"""A program bound to fields: the unit that is launched and recorded.

The forms of programs derived from one are bound to the same fields; each is created once.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dsim.autodiff import has_rules, writes_again
from dsim.backends.locks import COMPILING, room_to_compile
from dsim.diagnostics.frames import outermost
from dsim.frontend.source.lowered import Capture
from dsim.ir.nodes import Accumulate, Let, Load, MemoryKey, Store
from dsim.runtime.driver import pipeline
from dsim.runtime.driver.programs import AdjointProgram, Keys, Program
from dsim.runtime.fields.fields import Field, youngest
from dsim.runtime.launching.access_regions import OwnWrites, Reach
from dsim.runtime.launching.faults import raised
from dsim.runtime.launching.printed_forms import PrintedForm
from dsim.runtime.launching.probe_buffers import Looking
from dsim.runtime.state import turns
from dsim.runtime.state.once import kept, once
from dsim.runtime.state.references import uncopied
from dsim.runtime.state.registry import Registry
from dsim.runtime.state.write_clock import CLOCK, LastRun

_FOR_PEOPLE = frozenset(["ir", "llvm", "ptx", "ptx_for", "python"])


class Form(PrintedForm):
    """A program that can be launched.

    Parameters
    ----------
    fields : mapping of str to Field
        The root field of each memory name.
    arrays : frozenset of str
        Names of memories whose fields the caller passes.

    Attributes
    ----------
    part : (Form, int) or None
        The parent form and the index within it.
    copies : bool
        Whether it works on private copies of fields.
    last : LastRun
        When it ran last.
    watched_by : callable or None
        For a user's kernel, returns the form with probes of what its lines assign, if it has one.
    native : callable
        Launches it with its arguments.
    variables : sequence of Capture
        The variables of Python's that each launch of the user's kernel compares.
    random : bool
        Whether it draws random numbers.
    """

    from_python = False  # whether it is a write from Python
    runs_python = False  # whether it runs a user's Python function
    variables: Sequence[Capture] = ()
    random = False

    def __init__(
        self, program: Program, fields: Mapping[str, Field], arrays: frozenset[str] = frozenset()
    ) -> None:
        self.program = program
        self.fields = fields
        self.arrays = arrays
        self.part: tuple[Form, int] | None = None
        self.copies = False
        self.last = LastRun(self)
        self.watched_by: Callable[[Looking], Form | None] | None = None
        self._derived: dict[Any, Any] = {}
        self.native: Callable[..., Any] = self._compile_and_launch
        FORMS.add(self)

    def __dir__(self) -> list[str]:
        return [n for n in object.__dir__(self) if n.startswith("__") or n in _FOR_PEOPLE]

    @outermost
    def __reduce__(self) -> tuple[Any, ...]:
        uncopied("a form of a kernel", "copy its text: `k.adjoint.ir`, `k.adjoint.python`")

    # -- launching

    def run(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Runs it now, outside every context; returns its result."""
        for f in self.marks:
            f.touched = turns.current()
        self.last.moment = CLOCK.now
        try:
            return self.native(*args)
        except pipeline.FAULTS as fault:
            raise raised(fault, self.named) from None

    def _compile_and_launch(self, *args: Any) -> tuple[Any, ...]:
        self.compile()
        return self.native(*args)

    def compile(self) -> None:
        """Compiles its machine code, if it is not compiled; the first launch does so too."""
        with COMPILING, room_to_compile():
            if self.native == self._compile_and_launch:
                self.native = self.program.machine.bind(self.buffers())

    @property
    def compiled(self) -> bool:
        """Whether its machine code exists."""
        return self.native != self._compile_and_launch

    def buffers(self) -> dict[MemoryKey, Any]:
        """The buffer of each memory; allocates missing companions."""
        return {m.key: self.field(m.key).scratch(m.derivative).buffer for m in self.kernel.memories}

    def field(self, key: MemoryKey) -> Field:
        """The field, or companion of a field, for the memory `key`."""
        return self.fields[key[0]].companion(key[1])

    @property
    def named(self) -> Mapping[str, Field]:
        """The fields that messages call by their own name; others by that of the memory."""
        arrays = self.arrays
        return {name: f for name, f in self.fields.items() if name not in arrays} if arrays else self.fields

    # -- facts

    @once
    def floats(self) -> tuple[tuple[MemoryKey, Field], ...]:
        """The memories that can carry derivatives, with their fields."""
        return tuple((m.key, self.field(m.key)) for m in self.program.floats)

    @once
    def roots(self) -> tuple[Field, ...]:
        """The fields of its memories, each once."""
        return tuple(dict.fromkeys(f.root for f in self.fields.values()))

    @once
    def written(self) -> tuple[Field, ...]:
        """The fields that it stores or accumulates to. From the first time on they know when it runs."""
        found = self._written()
        self.last.tell(found, None if self.from_python else self.kernel)
        return found

    def _written(self) -> tuple[Field, ...]:
        return tuple(map(self.field, self.program.written))

    @once
    def touching(self) -> dict[Field, set[type]]:
        """The fields that it accesses, each with the kinds of its statements."""
        return {self.field(key): kinds for key, kinds in self.program.touching.items()}

    @once
    def sums(self) -> tuple[tuple[Field, Accumulate], ...]:
        """The fields that its iterations accumulate sums in, each with the first addition."""
        return tuple((self.field(key), s) for key, s in self.program.global_sums.items())

    @once
    def marks(self) -> tuple[Field, ...]:
        """The gradients and tangents that may be nonzero after it ran."""
        return tuple(f for f in self.written if f.derivative)

    @once
    def gradients(self) -> tuple[Field, ...]:
        """The gradients and tangents that it reads."""
        return tuple(map(self.field, self.program.gradients))

    @once
    def writes(self) -> Reach:
        """The regions that it stores or accumulates to."""
        return Reach(self.program, self.fields, None)

    @once
    def loads(self) -> Reach:
        """The regions that it reads."""
        return Reach(self.program, self.fields, self.program.sites(Load))

    @once
    def stores(self) -> Reach:
        """The regions that it stores to."""
        return Reach(self.program, self.fields, self.program.sites(Store))

    def spread(self, keys: Keys) -> Keys:
        """`keys`, and the memories into which it writes values that vary with them."""
        return self.program.spread(keys)

    # -- derived forms

    def over(self, program: Program) -> Form:
        """The form of a program derived from this one's program."""
        if program is self.program:
            return self
        return self._keep(program, lambda: self._like(Form(program, self.fields, self.arrays)))

    def _like(self, made: Form) -> Form:
        made.variables, made.random = self.variables, self.random
        return made

    def on(self, arrays: Mapping[str, Field]) -> Form:
        """The same form with some fields replaced by the caller's."""
        made = self._like(Form(self.program, {**self.fields, **arrays}, frozenset(arrays)))
        watched_by = self.watched_by
        if watched_by is not None:
            made.watched_by = lambda looking: (found := watched_by(looking)) and found.on(arrays)
        return made

    def tangent(self, active: Keys, label: str) -> Form:
        """The form that also propagates the tangents of the `active` memories."""
        return self.over(self.program.tangent(active, label))

    def tangents(self, active: Keys, dots: Mapping[Field, Sequence[Field]], count: int) -> Form:
        """The form that also propagates tangents along `count` directions, which lie in `dots`."""
        program, names = self.program.tangents(active, count)
        fields = dict(self.fields)
        for key, called in names.items():
            fields.update(zip(called, dots[self.field(key)], strict=True))
        return Form(program, fields, self.arrays)

    def adjoint(self, active: Keys, label: str, entry: Keys = frozenset()) -> AdjointForm:
        """Its reverse sweep with respect to the `active` memories.

        It reads the memories `entry` in their state before the launch.
        """
        return self.adjoint_over(self.program.adjoint(active, label, entry))

    def adjoint_over(self, program: AdjointProgram) -> AdjointForm:
        """The form of an adjoint of its program."""
        return self._keep(program, lambda: AdjointForm(self, program))

    def on_private_copies(self, keys: Keys) -> tuple[Form, ...]:
        """The form that works on copies of these memories, in a tuple as `parts` gives them."""
        return self._keep(("copies", keys), lambda: (self._copying(keys),))

    def _copying(self, keys: Keys) -> Form:
        made = self._like(Form(self.program.on_private_copies(keys), self.fields, self.arrays))
        made.part, made.copies = self.part or (self, 0), True
        return made

    def parts(self, cuts: frozenset[int]) -> tuple[Form, ...]:
        """Forms whose sequence is equivalent, split before these top-level statements."""
        return self._keep(("parts", cuts), lambda: self._parts(cuts))

    def instead(self, keys: Keys) -> tuple[Form, ...]:
        """What is launched in its place where `keys` have tangents: host operations give several forms."""
        return ()

    def _parts(self, cuts: frozenset[int]) -> tuple[Form, ...]:
        made = self.program.parts(cuts)
        if len(made.programs) == 1:
            return (self,)
        between = {m.name: Field(m.type, (), m.name) for m in made.between}
        for field in between.values():
            field.allocate(())
        fields = {**self.fields, **between}
        parts = tuple(self._like(Form(program, fields, self.arrays)) for program in made.programs)
        for n, part in enumerate(parts):
            part.part = (self, n)
        return parts

    def recording(self, active: tuple[bool, ...]) -> Recording:
        """The facts that a tape needs to record it; `active` says which of its `floats` carry adjoints."""
        return self._derived.get(active) or kept(self._derived, active, lambda: Recording(self, active))

    def stopped(self) -> Form:
        """The form that treats all its reads as constants."""
        return self.over(self.program.stopped())

    def watched(self, looking: Looking) -> Form | None:
        """The form with probes of what its lines assign; None if it has none."""
        return None if self.watched_by is None else self.watched_by(looking)

    def guarded(self) -> Form:
        """The form with bounds checks, for indices that no run of the primal has checked."""
        return self.over(self.program.guarded())

    def _keep(self, key: Any, make: Callable[[], Any]) -> Any:
        return self._derived.get(key) or kept(self._derived, key, make)

    def __repr__(self) -> str:
        names = ", ".join(f.name for f in self.fields.values())
        return f"<form {self.kernel.name} over {names or 'no fields'}>"


# All forms, weakly. A launch notes a time in its form alone: who looks for writes since then reads all.
FORMS: Registry[Form] = Registry()


class AdjointForm:
    """The adjoint of `primal`, with the regions whose values it needs.

    Attributes
    ----------
    form : Form
    active, label, entry, needed, lost, ordered, conflicts, keeps, watched
        See `AdjointProgram`.
    reads : Reach
        Whose values it needs.
    fields : tuple of Field
        The active fields.
    outputs : tuple of Field
        The active fields that the primal writes.
    remembered : dict
        What backward passes that begin with it remember.
    """

    def __init__(self, primal: Form, program: AdjointProgram) -> None:
        self.primal, self._program, self.remembered = primal, program, dict[Any, Any]()
        self.form = primal.over(program.program)
        self.active, self.label, self.entry = program.active, program.label, program.entry
        self.needed, self.lost, self.ordered = program.needed, program.lost, program.ordered
        self.conflicts, self.keeps, self.watched = program.conflicts, program.keeps, program.watched
        self.reads = Reach(primal.program, primal.fields, self.needed)
        self.fields = tuple(map(primal.field, sorted(self.active)))
        self.outputs = tuple(filter(set(primal.written).__contains__, self.fields))

    @once
    def targets(self) -> tuple[Field, ...]:
        """The active fields whose adjoint it may change."""
        changed = set(self.form.written)
        return tuple(f for f in self.fields if f.companion((*f.derivative, self.label)) in changed)

    @once
    def youngest(self) -> Field:
        """The newest of all its fields."""
        return youngest(self.primal.fields.values())

    @once
    def launched(self) -> Form:
        """The form to launch instead of `primal`."""
        return self.primal.over(self._program.launched)

    def differentiable(self) -> AdjointForm:
        """This form, or an equivalent one that has an adjoint itself."""
        return self.primal.adjoint_over(self._program.differentiable())

    def without_adjoint(self, tangents: bool) -> bool:
        """Whether none can be made of it; with `tangents`, of its tangent.

        The symmetry by which an adjoint that repeats writes has one does not hold for rules of funcs, and is
        not that of a tangent.
        """
        repeats = writes_again(self._program.program.kernel)
        return repeats and (tangents or has_rules(self.primal.kernel))

    @once
    def own(self) -> OwnWrites:
        """What a launch overwrites of the values that it needs itself."""
        fields, program = self.primal.fields, self.primal.program
        if not self.entry:
            return OwnWrites(self.reads, None, None)
        read, written = self._program.own
        return OwnWrites(self.reads, Reach(program, fields, read), Reach(program, fields, written))


class Recording:
    """The facts that a tape needs about a form, some of whose `floats` are active.

    Attributes
    ----------
    reached : tuple of Field
        The fields that are active only because of this form.
    roots : tuple of Field
        The roots of all active ones.
    written : frozenset of Field
        The active fields that it writes.
    returns : bool
        Whether a value that it returns varies.
    bits : Let or None
        A `bit_cast` of a number that varies.
    """

    def __init__(self, form: Form, active: tuple[bool, ...]) -> None:
        self._form: Form = weakref.proxy(form)  # the owner
        keys = frozenset(key for (key, _), varies in zip(form.floats, active, strict=True) if varies)
        self._known = form.program.recording(keys)
        fields = tuple(map(form.field, self._known.active))
        self.reached = tuple(map(form.field, self._known.reached))
        self.roots = tuple({f.root for f in fields})
        self.written = frozenset(fields).intersection(form.written)
        self.returns: bool = self._known.returns
        self.bits: Let | None = self._known.bits

    @once
    def adjoint(self) -> AdjointForm | None:
        """The adjoint, or None when nothing is active."""
        made = self._known.adjoint
        return None if made is None else self._form.adjoint_over(made)

    @once
    def saving(self) -> AdjointForm | tuple[Form, ...] | None:
        """The recording if overwritten values are saved: the adjoint, or parts to launch instead."""
        made = self._known.saving
        if isinstance(made, AdjointProgram):
            return self._form.adjoint_over(made)
        return None if made is None else self._form.parts(made)
