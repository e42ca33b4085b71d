"""Host operations as forms: what contexts record and differentiate.

An `OperationForm` runs the user's function. Its tangent and its adjoint are sequences of forms, one of which
is the call of a rule. Where an outer context differentiates that call, the rule is traced (`Trace`): it
becomes a sequence of operations, each with rules of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError, Span
from dsim.ir.nodes import MemoryKey
from dsim.ir.types import from_numpy
from dsim.ir.walk import accesses
from dsim.runtime.driver.programs import Keys
from dsim.runtime.fields.fields import Field, zeros_like
from dsim.runtime.launching import host_kernels
from dsim.runtime.launching.access_regions import Reach
from dsim.runtime.launching.forms import AdjointForm, Form
from dsim.runtime.operations.array_forms import ArrayForm, Clear, FormSequence, Step, cleared
from dsim.runtime.operations.call_attributes import CallAttributes
from dsim.runtime.operations.computing import ComputesOnly
from dsim.runtime.operations.consistency import refuse_inconsistent, refuse_other_numbers
from dsim.runtime.operations.rules import Attributes, HostFunction, HostRule, RuleCall
from dsim.runtime.operations.traced_arrays import TracedArray


class LeafForm(ArrayForm):
    """A form that reads fields, and then writes others.

    Parameters
    ----------
    reads, writes : tuple of Field
        No field is in both.
    constant : bool
        Whether what it writes counts as constant.
    """

    def __init__(
        self,
        name: str,
        span: Span | None,
        reads: Sequence[Field],
        writes: Sequence[Field],
        constant: bool = False,
    ) -> None:
        super().__init__(name, span, (Step(tuple(reads), tuple(writes), constant),))
        self.reads, self.results = tuple(reads), tuple(writes)

    def active(self, fields: Sequence[Field], keys: Keys) -> tuple[Field, ...]:
        """Those of `fields` whose memory is in `keys`."""
        return tuple(f for f in fields if self.key(f) in keys)

    def tangent(self, active: Keys, label: str) -> Form:
        """It, and then the tangents of what it wrote."""

        def make() -> Form:
            dots = {f: f.scratch((*f.derivative, label)) for f in map(self.field, active)}
            return FormSequence(self.name, self.span, (self, *self._ahead(active, dots)))

        return self._keep(("tangent", active, label), make)

    def tangents(self, active: Keys, dots: Mapping[Field, Sequence[Field]], count: int) -> Form:
        """It, and then the tangents of what it wrote along each direction."""
        each = [{f: dots[f][n] for f in map(self.field, active)} for n in range(count)]
        ahead = [form for one in each for form in self._ahead(active, one)]
        return FormSequence(self.name, self.span, (self, *ahead))

    def adjoint(self, active: Keys, label: str, entry: Keys = frozenset()) -> AdjointForm:
        """Its reverse sweep; it runs on the values from after the launch, and changes none that it reads."""
        return self._keep(("adjoint", active, label), lambda: self._adjoint(active, label))

    def _adjoint(self, active: Keys, label: str) -> AdjointForm:
        parts, needed = self._back(active, label)
        form = FormSequence(f"{self.name} backwards", self.span, parts)
        sites = (s.site for s in accesses(self.kernel.body) if self._is_needed(s.memory.key, needed))
        return HostAdjoint(self, active, label, form, frozenset(sites))

    def _is_needed(self, key: MemoryKey, fields: Sequence[Field]) -> bool:
        return any(self.key(f) == key for f in fields)

    def plan(self, active: Keys) -> AdjointForm | tuple[Form, ...]:
        """Its adjoint."""
        return self.adjoint(active, self.program.label_apart(active, "bar"))

    def _ahead(self, active: Keys, dots: Mapping[Field, Field]) -> list[Form]:
        """What sets the tangents `dots` of what it wrote: to 0, for it is a constant."""
        return [Clear(dots[f]) for f in self.active(self.results, active)]

    def _back(self, active: Keys, label: str) -> tuple[list[Form], Sequence[Field]]:
        """What updates the adjoints, and the fields whose values that needs."""
        return [cleared(f, label) for f in self.active(self.results, active)], ()

    def stopped(self) -> Form:
        """The form whose results are constants."""
        return self._keep("stopped", lambda: ConstantForm(self))


class ConstantForm(LeafForm):
    """A form whose results count as constants."""

    def __init__(self, form: LeafForm) -> None:
        super().__init__(form.name, form.span, form.reads, form.results, constant=True)
        self._execute = form.execute

    def execute(self) -> None:
        """Does what the form does."""
        self._execute()

    def stopped(self) -> Form:
        """Itself."""
        return self


class HostAdjoint(AdjointForm):
    """The adjoint of a host operation; it keeps what it needs."""

    def __init__(
        self, primal: LeafForm, active: Keys, label: str, form: Form, needed: frozenset[int]
    ) -> None:
        self.primal, self.form, self.remembered = primal, form, {}
        self.active, self.label, self.entry = active, label, frozenset()
        self.needed, self.lost, self.ordered = needed, (), ()
        self.conflicts, self.keeps, self.watched = (), True, False
        self.reads = Reach(primal.program, primal.fields, needed)
        self.fields = tuple(map(primal.field, sorted(active)))
        self.outputs = primal.active(primal.results, active)

    @property
    def launched(self) -> Form:  # type: ignore[override]
        """The form to launch: the operation itself."""
        return self.primal

    def differentiable(self) -> AdjointForm:
        """Itself."""
        return self

    def without_adjoint(self, tangents: bool) -> bool:
        """False: its parts have adjoints, of any order."""
        return False


class OperationForm(LeafForm):
    """A call of a host function on fields.

    Parameters
    ----------
    host : HostFunction
        The function.
    inputs, outputs : tuple of Field
        No output is an input.
    attributes : CallAttributes
        Its keyword arguments.
    single : bool
        Whether it returns one array, and not a tuple.
    """

    def __init__(
        self,
        host: HostFunction,
        inputs: tuple[Field, ...],
        attributes: CallAttributes,
        outputs: tuple[Field, ...],
        single: bool,
    ) -> None:
        super().__init__(host.name, host.span, inputs, outputs)
        self.host, self.attributes, self.single = host, attributes, single
        self.captured = host.captured()

    def execute(self) -> None:
        """Calls the function on the fields' numbers, and writes what it returns."""
        found = self.host.values([constant_view(f) for f in self.reads], self.attributes.values)
        self.attributes.settle()
        arrays = self.host.results(found, [f.require_memory() for f in self.results], self.single)
        for field, array in zip(self.results, arrays, strict=True):
            field.require_memory()[...] = array

    def _ahead(self, active: Keys, dots: Mapping[Field, Field]) -> list[Form]:
        if not self.active(self.reads, active):
            return super()._ahead(active, dots)
        return [TangentRule(self, active, dots)]

    def _back(self, active: Keys, label: str) -> tuple[list[Form], Sequence[Field]]:
        zeros, _ = super()._back(active, label)
        if not self.active(self.reads, active):
            return zeros, ()
        rule = AdjointRule(self, active, label)
        sums: list[Form] = [
            host_kernels.Add(f.scratch((*f.derivative, label)), found)
            for f, found in zip(rule.sources, rule.results, strict=True)
        ]
        return [rule, *sums, *zeros], (*self.reads, *(self.results if rule.rule.uses_out else ()))


class RuleForm(LeafForm):
    """The call of a rule of an operation. Where it is differentiated itself, it is launched in parts.

    Attributes
    ----------
    rule : HostRule
        The rule.
    """

    def __init__(self, of: OperationForm, kind: str, reads: Sequence[Field], writes: Sequence[Field]) -> None:
        self.of = of
        self.rule = of.host.rule(kind)
        values = (*of.reads, *(of.results if self.rule.uses_out else ()))
        name = f"{of.name} ({self.rule.kind})"
        super().__init__(name, self.rule.span, tuple(dict.fromkeys((*values, *reads))), writes)
        self._parts_known: tuple[Form, ...] = ()

    def given(self, of: Callable[[Field], Any], zero: Callable[[Field], Any]) -> list[Any]:
        """What the rule returns for what it writes; `of` gives the array of a field, `zero` one like it."""
        raise NotImplementedError

    def call(self, of: Callable[[Field], Any]) -> RuleCall:
        """The call of the operation."""
        inputs, outputs = tuple(map(of, self.of.reads)), tuple(map(of, self.of.results))
        return RuleCall(inputs, self.of.attributes.values, outputs, self.of.single)

    def execute(self) -> None:
        """Calls it on the fields' numbers."""
        with ComputesOnly(self.name):
            self._check()
            with self.of.host.running():
                found = self.given(constant_view, _zeros)
        for field, value in zip(self.results, found, strict=True):
            memory = field.require_memory()
            memory[...] = (
                0 if value is None else self.of.host.fitting(self.rule, value, memory, "a derivative")
            )

    def _check(self) -> None:
        of = self.of
        of.host.refuse_changed(of.captured, of.attributes)
        arrays = [f.require_memory() for f in of.reads]
        refuse_inconsistent(of.host, arrays, of.attributes.values, of.single)

    def instead(self, keys: Keys) -> tuple[Form, ...]:
        """Its operations, if what it writes varies."""
        return self.expanded() if self.spread(keys) else ()

    def plan(self, active: Keys) -> tuple[Form, ...]:
        """Its operations."""
        return self.expanded()

    def expanded(self) -> tuple[Form, ...]:
        """The operations of the rule. What it reads has its numbers when this is asked first."""
        if not self._parts_known:
            trace = Trace(self.rule, self.of.name)
            with ComputesOnly(self.name):
                self._check()
                with self.of.host.running():
                    found = self.given(trace.array, trace.zeros)
                    again = self.given(constant_view, _zeros)
            refuse_other_numbers(self.of.host, self.rule, again, map(trace.numbers, found))
            self._parts_known = tuple(trace.closed(self.of.host, self.results, found))
        return self._parts_known


class TangentRule(RuleForm):
    """Sets the tangents of an operation's results."""

    def __init__(self, of: OperationForm, active: Keys, dots: Mapping[Field, Field]) -> None:
        self.dots = {f: dots[f] for f in of.active(of.reads, active)}
        made = tuple(f for f in of.results if f.dtype.is_float)
        self._made = tuple(f.dtype.is_float for f in of.results)
        super().__init__(of, "jvp", tuple(self.dots.values()), [dots[f] for f in made])

    def given(self, of: Callable[[Field], Any], zero: Callable[[Field], Any]) -> list[Any]:
        """The tangents of the float results."""
        constant = zero if self.rule.kind == "jvp" else lambda _: None
        tangents = [
            of(self.dots[f]) if f in self.dots else constant(f) if f.dtype.is_float else None
            for f in self.of.reads
        ]
        found = self.of.host.tangents(self.call(of), tangents)
        return [t for t, is_made in zip(found, self._made, strict=True) if is_made]


class AdjointRule(RuleForm):
    """Computes what the adjoints of an operation's results add to those of its inputs.

    Attributes
    ----------
    sources : tuple of Field
        The active inputs, one for each field that it writes; an input given twice is there twice.
    """

    def __init__(self, of: OperationForm, active: Keys, label: str) -> None:
        self._wanted = tuple(of.key(f) in active for f in of.reads)
        self.sources = tuple(f for f, wanted in zip(of.reads, self._wanted, strict=True) if wanted)
        self.bars = {f: f.scratch((*f.derivative, label)) for f in of.active(of.results, active)}
        super().__init__(of, "vjp", tuple(self.bars.values()), [_part_like(f) for f in self.sources])

    def given(self, of: Callable[[Field], Any], zero: Callable[[Field], Any]) -> list[Any]:
        """The adjoints of the active inputs."""
        adjoints = [
            of(self.bars[f]) if f in self.bars else zero(f) if f.dtype.is_float else None
            for f in self.of.results
        ]
        found = self.of.host.adjoints(self.call(of), adjoints, self._wanted)
        return [a for a, wanted in zip(found, self._wanted, strict=True) if wanted]


class Trace:
    """Notes the operations of a rule; see `traced_arrays.Tracing`.

    The shapes of results are found by calling the operations' functions once, on the present numbers.
    """

    def __init__(self, rule: HostRule, name: str) -> None:
        self.rule = f"the {rule.kind} of `{name}`"
        self.span = rule.span
        self._kind = rule.kind
        self._forms: list[Form] = []
        self._values: dict[Field, np.ndarray] = {}

    def array(self, field: Field) -> TracedArray:
        """The traced array for what a field holds."""
        return TracedArray(field, self)

    def zeros(self, field: Field) -> TracedArray:
        """A traced array of zeros like a field."""
        return TracedArray(_part_like(field), self)

    def apply(self, host: HostFunction, inputs: tuple[Any, ...], attributes: Attributes) -> Any:
        """Notes an operation on traced arrays and constants; gives its results."""
        fields = tuple(map(self._field, inputs))
        with np.errstate(all="ignore"):
            values = [self._values.get(f, f.require_memory()) for f in fields]
            found = host.values(values, attributes)
        single = not isinstance(found, tuple | list)
        outputs = tuple(self._made(np.asarray(a), host) for a in ([found] if single else found))
        given = CallAttributes(attributes, host.names(), copied=False)
        self._forms.append(OperationForm(host, fields, given, outputs, single))
        made = tuple(map(self.array, outputs))
        return made[0] if single else made

    def numbers(self, value: Any) -> Any:
        """What `value`, a result of the rule, is at the present numbers."""
        if not isinstance(value, TracedArray):
            return value
        return self._values.get(value.field, value.field.require_memory())

    def closed(self, host: HostFunction, targets: Sequence[Field], found: Sequence[Any]) -> list[Form]:
        """The operations, and then what copies the results to `targets`."""
        for target, value in zip(targets, found, strict=True):
            if value is None:
                self._forms.append(host_kernels.Copy(target, _part_like(target)))
                continue
            source = self._field(value)
            if source.full_shape != target.full_shape:
                raise host.misshapen(self._kind, source.full_shape, target.full_shape)
            self._forms.append(host_kernels.Copy(target, source))
        self._values.clear()
        return self._forms

    def _field(self, value: Any) -> Field:
        """The field of an input: of a constant a new one."""
        if isinstance(value, TracedArray):
            if value.trace is not self:
                message = f"{self.rule} uses an array of another rule, which it was not given"
                raise GradientError(Diagnostic("argument", message, self.span, "this rule"))
            return value.field
        array = np.asarray(value)
        made = Field(from_numpy(array.dtype), (), "constant")
        made.allocate(array.shape)
        made.require()[...] = array
        return made

    def _made(self, value: np.ndarray, host: HostFunction) -> Field:
        if value.dtype.kind not in "fiub":
            raise host.wrong(None, f"gives numbers of type {value.dtype} for traced arrays: fields have none")
        made = Field(from_numpy(value.dtype), (), host.name)
        made.allocate(value.shape)
        self._values[made] = value
        return made


def constant_view(field: Field) -> np.ndarray:
    """The numbers of a field, which must not be changed through it."""
    view = field.require_memory().view()
    view.flags.writeable = False
    return view


def _zeros(field: Field) -> np.ndarray:
    return np.broadcast_to(np.zeros((), field.dtype.numpy), field.full_shape)


def _part_like(field: Field) -> Field:
    return zeros_like(field, f"{field.root.given_name or 'operand'}_part")
