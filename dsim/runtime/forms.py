"""A kernel together with the fields that its memories stand for: what is launched, recorded and derived.

A person's kernel, its tangent, its adjoint and the tangent of that are all forms: each can be launched
and derived again. Forms made from one another are kept, so each is made and compiled once.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dsim.analysis.activity import of_kernel, spread
from dsim.analysis.totals import totals
from dsim.autodiff import Made, by_symmetry, forward, reverse, writes_again
from dsim.backends.locks import COMPILING
from dsim.diagnostics.frames import outermost
from dsim.ir import sites
from dsim.ir.nodes import Accumulate, Call, Kernel, Let, Load, Memory, MemoryKey, Origin, Store
from dsim.ir.show import lines, show
from dsim.ir.walk import accesses, statements
from dsim.passes.parallel import in_series
from dsim.passes.split import split
from dsim.runtime import changes, pipeline, turns
from dsim.runtime.adjoints import AdjointForm
from dsim.runtime.changes import CLOCK, FORMS
from dsim.runtime.faults import raised
from dsim.runtime.fields import Field
from dsim.runtime.once import kept, once
from dsim.runtime.reach import Reach
from dsim.runtime.references import uncopied
from dsim.runtime.shown import Looking

Keys = frozenset[MemoryKey]
_FOR_PEOPLE = frozenset(["ir", "llvm", "python"])


class Form:
    """A kernel that can be launched.

    Parameters
    ----------
    kernel : Kernel
        Without `Derive` nodes, sites numbered; or a function that makes it when it is first needed.
    fields : mapping of str to Field
        The root field of each memory name.
    backend : str
        See `Settings.backend`.
    checked : bool
        Whether indices are compared with the fields' shapes.
    serial : bool
        Whether no loop may be parallel, in forms made from it neither.
    """

    from_python = False  # whether it is a write of Python's

    def __init__(
        self,
        kernel: Kernel | Callable[[], Kernel],
        fields: Mapping[str, Field],
        backend: str,
        checked: bool = True,
        serial: bool = False,
    ) -> None:
        self._given = kernel
        self.serial = serial
        self.fields = fields
        self.backend = backend
        self.checked = checked
        self.part: tuple[Form, int] | None = None  # the form that it is a part of, and the which one
        self.ran = -1  # when it last ran, on the clock of changes.py
        self.adjoint_of: AdjointForm | None = None  # what says how it was made, if it is an adjoint
        self.watched_by: Callable[[Looking], Form] | None = None  # of a person's kernel
        self._derived: dict[Any, Any] = {}
        self.native: Callable[..., tuple[Any, ...]] = self._compile_and_launch
        FORMS.add(self)

    def __del__(self) -> None:
        if getattr(self, "ran", -1) >= 0 and not sys.is_finalizing():
            # Known since it first ran; here nothing is computed, since that takes a lock, and the collector
            # comes at any time.
            changes.note_ran(self.ran, self.__dict__["written"])

    def __dir__(self) -> list[str]:
        return [n for n in object.__dir__(self) if n.startswith("__") or n in _FOR_PEOPLE]

    @outermost
    def __reduce__(self) -> tuple[Any, ...]:
        uncopied("a form of a kernel", "copy what it shows: `k.adjoint.ir`, `k.adjoint.python`")

    @once
    def kernel(self) -> Kernel:
        """The kernel."""
        return self._given if isinstance(self._given, Kernel) else self._given()

    # -- launching

    def run(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Runs it now, outside every context; gives what it returns."""
        for f in self.marks:
            f.touched = turns.current()
        self.ran = CLOCK.now
        try:
            return self.native(*args)
        except pipeline.FAULTS as fault:
            raise raised(fault, self.named) from None

    def _compile_and_launch(self, *args: Any) -> tuple[Any, ...]:
        self.compile()
        return self.native(*args)

    def compile(self) -> None:
        """Makes its machine code, unless it is made already; the first launch does so too."""
        with COMPILING:
            if self.native == self._compile_and_launch:
                self.native = self.machine.bind(self.buffers())

    @once
    def machine(self) -> pipeline.Machine:
        """The kernel, compiled."""
        return pipeline.machine(self.kernel, self.backend, self.checked)

    def buffers(self) -> dict[MemoryKey, Any]:
        """The buffer of each memory; companions without one get it."""
        return {m.key: self.field(m.key).scratch(m.derivative).buffer for m in self.kernel.memories}

    def field(self, key: MemoryKey) -> Field:
        """The field, or companion of one, that the memory `key` is."""
        return self.fields[key[0]].companion(key[1])

    @property
    def named(self) -> Mapping[str, Field]:
        """The fields that messages call by their own names; others go by the memory's."""
        return self.fields

    # -- facts

    @once
    def floats(self) -> tuple[tuple[Memory, Field], ...]:
        """The memories that can carry derivatives, with their fields."""
        return tuple((m, self.field(m.key)) for m in self.kernel.memories if m.type.is_float)

    @once
    def roots(self) -> tuple[Field, ...]:
        """The fields of its memories, each once."""
        return tuple(dict.fromkeys(f.root for f in self.fields.values()))

    @once
    def written(self) -> tuple[Field, ...]:
        """The fields that it stores or accumulates to."""
        body = statements(self.kernel.body)
        found = (s.memory for s in body if isinstance(s, Store | Accumulate) and not s.memory.private)
        return tuple(dict.fromkeys(self.field(m.key) for m in found))

    @once
    def touching(self) -> dict[Field, set[type]]:
        """The fields that it touches, each with the kinds of statement that do."""
        found: dict[Field, set[type]] = {}
        for s in accesses(self.kernel.body):
            if not s.memory.private:
                found.setdefault(self.field(s.memory.key), set()).add(type(s))
        return found

    @once
    def totals(self) -> dict[MemoryKey, Accumulate]:
        """The memories that its iterations add up in (`analysis.totals`)."""
        return totals(self.kernel)

    @once
    def sums(self) -> tuple[tuple[Field, Accumulate], ...]:
        """The fields that its iterations add up in, each with the first addition."""
        return tuple((self.field(key), s) for key, s in self.totals.items())

    @once
    def marks(self) -> tuple[Field, ...]:
        """The gradients and tangents that are no longer known to be zero after it ran."""
        return tuple(f for f in self.written if f.derivative)

    @once
    def gradients(self) -> tuple[Field, ...]:
        """The gradients and tangents that it reads."""
        read = (s.memory for s in accesses(self.kernel.body) if isinstance(s, Load) and not s.memory.private)
        return tuple(dict.fromkeys(self.field(m.key) for m in read if m.derivative))

    @once
    def writes(self) -> Reach:
        """The regions that it stores or accumulates to."""
        return Reach(self, None)

    @once
    def loads(self) -> Reach:
        """The regions that it reads."""
        return Reach(self, self._sites(Load))

    @once
    def stores(self) -> Reach:
        """The regions that it stores to."""
        return Reach(self, self._sites(Store))

    def _sites(self, kind: type[Load | Store]) -> frozenset[int]:
        return frozenset(s.site for s in statements(self.kernel.body) if isinstance(s, kind))

    def spread(self, keys: Keys) -> Keys:
        """`keys` and those into which it writes values that vary with them."""
        return self._keep(("spread", keys), lambda: spread(self.kernel, keys))

    # -- forms made from it

    def tangent(self, active: Keys, label: str) -> Form:
        """Runs it and carries the tangents of the `active` memories along."""
        return self._keep(
            ("tangent", active, label), lambda: self._form(forward(self.kernel, active, label), self.checked)
        )

    def adjoint(self, active: Keys, label: str, entry: Keys = frozenset()) -> AdjointForm:
        """Its reverse sweep with respect to the `active` memories.

        It finds the memories `entry` as they were before the launch.
        """
        return self._keep(("adjoint", active, label, entry), lambda: self._reverse(active, label, entry))

    def parts(self, cuts: frozenset[int]) -> tuple[Form, ...]:
        """Forms that do, one after the other, what it does: it is cut before those top-level statements."""
        return self._keep(("parts", cuts), lambda: self._parts(cuts))

    def recording(self, keys: Keys) -> Recording:
        """What a tape needs to know to record it, where the memories `keys` carry adjoints."""
        return self._keep(("recording", keys), lambda: Recording(self, keys))

    def stopped(self) -> Form:
        """It, with everything that it reads cut off from derivatives."""
        return self._keep("stopped", lambda: self._form(pipeline.stopped(self.kernel), self.checked))

    def watched(self, looking: Looking) -> Form | None:
        """It as a form that shows what its lines assign; None if it has no lines of a person's."""
        return None if self.watched_by is None else self.watched_by(looking)

    def in_series(self) -> Form:
        """It, with its iterations one after the other."""
        if self.serial:
            return self
        return self._keep(
            "in series", lambda: Form(in_series(self.kernel), self.fields, self.backend, self.checked, True)
        )

    def guarded(self) -> Form:
        """It, with its indices compared with the fields' shapes: no run of the primal vouches for them."""
        if self.checked:
            return self
        made = self._keep("guarded", lambda: Form(self.kernel, self.fields, self.backend, serial=self.serial))
        made.adjoint_of = self.adjoint_of
        return made

    def _form(self, kernel: Kernel, checked: bool, more: Mapping[str, Field] | None = None) -> Form:
        """The form of a kernel that a transform made of this one's; passes run when it is first needed."""

        def make() -> Kernel:
            derived = pipeline.derived(sites.number(kernel))
            return in_series(derived) if self.serial else derived

        fields = {**self.fields, **more} if more else self.fields
        return Form(make, fields, self.backend, checked, self.serial)

    def _parts(self, cuts: frozenset[int]) -> tuple[Form, ...]:
        made = split(self.kernel, cuts)
        if len(made.kernels) == 1:
            return (self,)
        between = {m.name: Field(m.type, (), m.name) for m in made.between}
        for field in between.values():
            field.allocate(())
        parts = tuple(self._form(k, self.checked, between) for k in made.kernels)
        for n, part in enumerate(parts):
            part.part = (self, n)
        return parts

    def _reverse(self, active: Keys, label: str, entry: Keys) -> AdjointForm:
        of = self.adjoint_of
        if of is None or not writes_again(self.kernel):
            made = reverse(self.kernel, active, label, entry)
        else:
            how = Made(of.launched.kernel, of.active, of.label, of.entry, of.needed)
            made = by_symmetry(self.kernel, how, active, label)
        form = self._form(made.kernel, self.checked and _rules_read(self.kernel))
        if of is not None and of.ordered:
            form = form.in_series()
        form.adjoint_of = AdjointForm(
            self, form, active, label, made.needed, made.lost, entry, made.ordered, made.whole
        )
        return form.adjoint_of

    def _keep(self, key: Any, make: Callable[[], Any]) -> Any:
        found = self._derived.get(key)
        return kept(self._derived, key, make) if found is None else found

    # -- to look at

    @property
    def ir(self) -> str:
        """The kernel in the intermediate representation, as text."""
        return show(self.kernel)

    @property
    def python(self) -> str:
        """The kernel as readable Python."""
        return pipeline.python_text(self.kernel)

    @property
    def ir_lines(self) -> list[tuple[str, Origin | None]]:
        """The lines of `ir`, each with where it comes from."""
        return [(line.text, line.origin) for line in lines(self.kernel)]

    @property
    def python_lines(self) -> list[tuple[str, Origin | None]]:
        """The lines of `python`, each with where it comes from."""
        return [(text, s and s.origin) for text, s in pipeline.python_lines(self.kernel)]

    @property
    def llvm(self) -> str:
        """The kernel as LLVM's assembly."""
        return pipeline.llvm_text(self.kernel, self.checked)

    def __str__(self) -> str:
        return self.ir

    def __repr__(self) -> str:
        return (
            f"<form {self.kernel.name} over {', '.join(f.name for f in self.fields.values()) or 'no fields'}>"
        )


def _rules_read(kernel: Kernel) -> bool:
    """Whether an adjoint reads elements that `kernel` may not: those that rules of calls read."""
    rules = (r for s in statements(kernel.body) if isinstance(s, Call) for r in s.rules)
    return any(isinstance(s, Load) and not s.memory.private for r in rules for s in statements(r.body))


class Recording:
    """What a tape needs to know of a form for certain active memories.

    Attributes
    ----------
    active : frozenset of MemoryKey
        Those, and what is written from values that vary with them.
    reached : tuple of Field
        The fields that are active only because of this form.
    roots : tuple of Field
        The roots of all of them.
    written : frozenset of Field
        The active fields that it writes.
    returns : bool
        Whether a value that it returns varies.
    bits : Let or None
        An expression that takes a number which varies for its bits.
    """

    def __init__(self, form: Form, keys: Keys) -> None:
        self._form: Form = weakref.proxy(form)  # which owns this
        self.active = form.spread(keys)
        self.reached = tuple(form.field(k) for k in sorted(self.active - keys))
        self.roots = tuple({form.field(k).root for k in self.active})
        self.written = frozenset(form.field(k) for k in self.active).intersection(form.written)
        body = form.kernel.body
        casts = [s for s in statements(body) if isinstance(s, Let) and s.op == "bit_cast"]
        varies = of_kernel(form.kernel, self.active).varies if body.yields or casts else None
        self.returns = varies is not None and any(map(varies, body.yields))
        self.bits = next((s for s in casts if varies is not None and varies(s.args[0])), None)

    @once
    def adjoint(self) -> AdjointForm | None:
        """The adjoint, or None when nothing is active."""
        if not self.active:
            return None
        return self._form.adjoint(self.active, label_apart(self._form, self.active, "bar"))

    @once
    def saving(self) -> AdjointForm | tuple[Form, ...] | None:
        """What to record where overwritten values are saved: the adjoint, or parts to launch instead.

        The adjoint is another one where the launch overwrites what its own adjoint reads.
        """
        made = self.adjoint
        if made is None or made.keeps:
            return made
        # A part begins with what it is brought: to cut it once more would make a part of that, and so on.
        parts = () if self._form.part else self._form.parts(made.cuts())
        return parts if len(parts) > 1 else made.from_entry()


def label_apart(form: Form, active: Iterable[MemoryKey], base: str) -> str:
    """A name for companions of `active`, `base` if possible, that no memory of `form` has already."""
    used = {m.key for m in form.kernel.memories}
    label, number = base, 1
    while any((name, (*path, label)) in used for name, path in active):
        number += 1
        label = f"{base}{number}"
    return label
