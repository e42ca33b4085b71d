"""Forward mode: launches inside the `with` block carry tangents along."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from threading import get_ident
from types import TracebackType
from typing import Any, Self

import numpy as np

from dsim.diagnostics.frames import outermost
from dsim.ir.nodes import MemoryKey
from dsim.runtime.fields import seeds
from dsim.runtime.fields.fields import Field, begin_turn, zeros_like
from dsim.runtime.launching import host_kernels
from dsim.runtime.launching.contexts import Args, Context, System
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.host_kernels import HostForm
from dsim.runtime.recording import cut_messages, zeros
from dsim.runtime.recording.claims import claim, clear_foreign
from dsim.runtime.recording.hidden import HiddenResults
from dsim.runtime.recording.output_reads import OutputReads
from dsim.runtime.state import turns
from dsim.runtime.state.notices import warn
from dsim.runtime.state.stack import opened, outside


class ForwardMode(Context):
    """Differentiates what is launched inside along a direction: ``y.dual`` is the derivative of `y`.

    Parameters
    ----------
    loss : field or sequence of fields, optional
        Fields whose `.dual` is wanted afterwards.
    param : field or sequence of fields
        What to differentiate by; any shape, vectors, matrices and structs too.
    seed : number, sequence, array or dictionary, optional
        The direction, of `param`'s shape; for several params a sequence of seeds; for a struct field a
        dictionary of seeds for its members, 0 for those that are left out. None means 1, for a `param` that
        is a single number, of whatever shape.
    clear_gradients : bool, default True
        Whether all tangents are set to 0 on entry; otherwise what stands in them counts as seeds, too.

    Notes
    -----
    Every float field that a kernel inside writes from values that depend on `param` has a `.dual`
    afterwards, asked for or not. Seeds end with the block: the ``.dual`` of a `param` is 0 afterwards, or, if
    it was written inside, the tangent of what was written. The tangent of a gradient that a tape inside
    computed stands at ``x.grad.dual``, the derivative of ``y.dual`` along a second direction at
    ``y.dual.dual``.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f32, shape=())
    >>> y = ti.field(ti.f32, shape=())
    >>> @ti.kernel
    ... def cube():
    ...     y[None] = x[None] ** 3
    >>> x[None] = 2.0
    >>> with ti.ad.FwdMode(loss=y, param=x):
    ...     cube()
    >>> y.dual[None]
    12.0
    """

    _for_people = frozenset(["losses", "params"])

    @outermost
    def __init__(
        self, loss: Any = None, param: Any = None, seed: Any = None, clear_gradients: bool = True
    ) -> None:
        losses = seeds.fields(loss, "loss") if loss is not None else ()
        self._prepare(seeds.directions(param, seed), losses, clear_gradients)

    def _prepare(self, directions: list[seeds.Direction], losses: tuple[Field, ...], clear: bool) -> None:
        super().__init__()
        self.params = tuple(f for f, _ in directions)
        self.losses = losses
        self._seeds = [array for _, array in directions]
        self._clear = clear
        self._label = "dot"
        self._active: set[Field] = set()
        self._seeded = dict.fromkeys(self.params)  # in order
        self._tangents: dict[Form, Form] = {}
        self._forms: dict[Form, None] = {}  # all that was launched
        self._hidden = HiddenResults()
        self._cut: set[Field | Form] = set()  # reads into Python, and returned values, that gave a warning
        self._unused: set[Form] = set()  # nobody has used what they returned
        self._output_reads = OutputReads()

    @outermost
    def __enter__(self) -> Self:
        self.enter(self._begin)
        return self

    def _begin(self) -> None:
        zeros.forget("dot")
        left = begin_turn("dot")
        self._claim((*self.params, *self.losses))
        if self._clear:
            for f in left:
                self._set(f, (0.0,) * f.numbers)
                f.touched, f.cleared = 0, turns.current()
        else:
            self._active = {f.companion(f.derivative[:-1]) for f in left}
        for f in self.losses:
            f.want((*f.derivative, "dot"))
        for f, seed in zip(self.params, self._seeds, strict=True):
            self._seed(f, seed)
        self._active.update(self.params)

    def _seed(self, field: Field, seed: np.ndarray) -> None:
        self._set_to(field.want((*field.derivative, "dot")), seed)

    def _set_to(self, dual: Field, seed: np.ndarray) -> None:
        if not seed.shape:
            self._set(dual, (float(seed),))
        else:
            given = zeros_like(dual, "seed")
            given.require()[...] = seed
            self.pass_on(host_kernels.Copy(dual, given), ())
        dual.touched = turns.current()

    def _set(self, field: Field, values: Args) -> None:
        self.pass_on(host_kernels.form(host_kernels.Fill, field), values)

    @outermost
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.pop()
            try:
                if kind is None:
                    self._leave()
                self._clear_seeds()
            finally:
                self.closed()
        except KeyboardInterrupt:
            self.abandon()
            raise

    def _leave(self) -> None:
        """Moves tangents to the companions that the user reads."""
        self._hidden.refuse(self.losses)
        losses = [f for f in self.losses if f not in self._active]
        if self._label != "dot":
            for f in sorted(self._active, key=lambda f: f.name):
                self._publish(f)
            for f in losses:  # it may hold what a mode inside has left in it
                self._set(f.want((*f.derivative, "dot")), (0.0,) * f.numbers)
        self._give_tangents()
        read = [f for f in self._cut if isinstance(f, Field)]
        zeros.note_tangents(losses, self.params[0], self._forms, read)

    def _clear_seeds(self) -> None:
        """Sets seeds to 0: later launches are not differentiated along them. Results stay."""
        results = {f for form in self._forms for f in form.written}.union(self.losses)
        for dual in [f.companion((*f.derivative, "dot")) for f in self._seeded if f not in results]:
            if dual.buffer is not None:
                self.set_all(dual, 0.0)

    def _give_tangents(self) -> None:
        """Gradients and tangents that were left inside have tangents, also 0 (all was linear)."""
        for f in dict.fromkeys(f for form in self._forms for f in form.marks):
            if f.wanted:
                f.want((*f.derivative, "dot"))

    @property
    def label(self) -> str:
        """What the companions that hold its tangents are called."""
        return self._label

    # -- tangents that a user writes inside

    def python_writes(self, form: HostForm, args: Args) -> None:
        """What becomes of a write of Python's: of a tangent of this mode, that is a seed."""
        (field,) = form.written
        if field.derivative[-1:] != (self._label,):
            self.launch(form, args)
            return
        self.pass_on(form, args)
        seeded = field.companion(field.derivative[:-1])
        self._active.add(seeded)
        self._seeded[seeded] = None
        self._tangents.clear()

    def element_read(self, field: Field) -> None:
        """Warns that a tangent is cut when Python reads a value that has one."""
        results = {f.root for f in self.losses}  # these are looked at
        varies = field in self._active or field in self._hidden
        if varies and field.root not in results and field not in self._cut:
            self._cut.add(field)
            warn([cut_messages.read(field, "forward mode", "tangent")])
        elif field in self._active and self._output_reads.note(field, "forward mode", "tangent"):
            self._tangents.clear()  # so the next launch comes by
        super().element_read(field)

    def failed(self, name: str, written: Collection[Field]) -> None:
        """What it wrote has no derivative."""
        self._tangents.clear()
        self._hidden.add(written, name, failed=True)

    def solved(self, system: System) -> None:
        """Computes the tangents of a solution, if what it depends on has some."""
        super().solved(system)
        self._tangents.clear()
        self._hidden.refuse_in(system, self._active.__contains__)
        active = [f for f in system.wrt if f in self._active]
        if not active and self._active.isdisjoint(system.unknown):
            return
        self._claim(system.unknown)
        for f in system.unknown:
            self._companion(f, True)
        with outside(self):
            if active:
                system.push(self._label, active)
            else:
                system.cut(self._label, {f: f.scratch((*f.derivative, self._label)) for f in system.unknown})
        self._active.update(system.unknown)

    # -- launches

    def launch(self, form: Form, args: Args) -> Args:
        """Launches the form that carries tangents along, if anything in it has one."""
        if get_ident() != self._thread:
            return self.elsewhere(form, args)
        found = self._tangents.get(form)
        if found is None:
            if self._output_reads:
                self._output_reads.tell()
            if any(self._is_own(form.field(m.key)) for m in form.kernel.memories):
                self._relabel(form)
            parts = form.instead(self._keys(form))
            if parts:
                for part in parts:
                    self.launch(part, args)
                return ()
            found = self._tangents[form] = self._tangent(form)
        if form in self._unused:
            warn(cut_messages.returned(form, "tangent", self._unused))
        return self.pass_on(found, args)

    def _tangent(self, form: Form) -> Form:
        if self._hidden and self._hidden.check(form):
            self._tangents.clear()
        self._forms[form] = None
        keys = self._keys(form)
        reached = form.spread(keys)
        self._claim(map(form.field, reached))
        fresh = {form.field(k) for k in reached - keys}
        if fresh:
            self._active |= fresh
            self._tangents.clear()
        if not reached:
            return form
        if opened()[-1] is self and form not in self._cut:
            self._cut.add(form)
            known = form.recording(tuple(key in keys for key, _ in form.floats))
            warn(cut_messages.inside(form, known, "tangent", self._unused))
        for f in (form.field(k) for k in reached):
            self._companion(f, f in fresh)
        return form.tangent(reached, self._label)

    def _claim(self, fields: Iterable[Field]) -> None:
        """Claims the tangents of fields for this mode."""
        roots = tuple({f.root for f in fields})
        claim(self, roots, "dot")
        if self._clear:
            clear_foreign(self, roots, "dot")

    def _keys(self, form: Form) -> frozenset[MemoryKey]:
        return frozenset(key for key, f in form.floats if f in self._active)

    def _companion(self, field: Field, fresh: bool) -> None:
        path = (*field.derivative, self._label)
        if self._label == "dot":
            field.want(path)  # 0, if it is fresh: entry has seen to that
        elif fresh:  # it may hold what an earlier mode with this label left in it
            self._set(field.scratch(path), (0.0,) * field.numbers)

    def _is_own(self, field: Field) -> bool:
        """Whether `field` holds tangents of this mode."""
        path = field.derivative
        return path[-1:] == (self._label,) and field.companion(path[:-1]) in self._active

    def _relabel(self, form: Form) -> None:
        """Moves the tangents to other companions: what reaches this mode works with `.dual` as values.

        A forward mode inside this one does, and a kernel that reads ``x.dual``. At the end the tangents
        are put where a user looks for them. Other modes that are open, and one that `form` copies from at its
        end, have tangents at companions of their own.
        """
        before = self._label
        taken = {part for f in form.fields.values() for part in f.derivative if part.startswith("dot")}
        taken.update(context._label for context in opened() if isinstance(context, ForwardMode))
        self._label = label = f"dot{1 + max(int(part[3:] or 1) for part in {before, *taken})}"
        self._tangents.clear()
        for f in self._active:
            old = f.companion((*f.derivative, before))
            if old.buffer is not None:
                new = f.scratch((*f.derivative, label))
                self.pass_on(host_kernels.form(host_kernels.Copy, new, old), ())
                new.touched = turns.current()

    def _publish(self, field: Field) -> None:
        kept = field.companion((*field.derivative, self._label))
        if kept.buffer is not None:
            public = field.want((*field.derivative, "dot"))
            self.pass_on(host_kernels.form(host_kernels.Copy, public, kept), ())
            public.touched = turns.current()
