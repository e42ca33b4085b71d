"""The settings (`LoweringSettings`) and the result (`Lowered`) of the frontend."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import NamedTuple

from dsim.diagnostics import Diagnostic, Span
from dsim.frontend.source.launch_numbers import LaunchNumbers
from dsim.frontend.source.struct_types import StructTypeBase
from dsim.ir.kinks import BORDER, Kink
from dsim.ir.nodes import AccumulateOp, KernelIR, Memory, Var
from dsim.ir.primitives import TABLE
from dsim.ir.types import ScalarType, f32, i32
from dsim.records import record


@record
class LoweringSettings:
    """The settings of `init` that affect lowering.

    Attributes
    ----------
    default_fp, default_ip : ScalarType
        Types of float and integer literals, and of Python's ``float`` and ``int``.
    debug : bool
        Whether to emit additional checks.
    watch : bool
        Whether to emit probes of what lines assign.
    kinks : bool
        Whether to emit probes of kinks, too.
    births : bool
        Whether to emit probes, too, of primitives whose operands are finite and whose results are not.
    """

    default_fp: ScalarType = f32
    default_ip: ScalarType = i32
    debug: bool = False
    watch: bool = False
    kinks: bool = False
    births: bool = False


@record
class Param:
    """A parameter in the user's signature: a scalar, or a vector or matrix of several scalars.

    Attributes
    ----------
    name : str
        Its name in the signature.
    type : ScalarType
        The type of its entries.
    vars : tuple of Var
        The kernel's parameters that it fills, entries in row order.
    shape : tuple of int
        ``()`` for a scalar.
    """

    name: str
    type: ScalarType
    vars: tuple[Var, ...]
    shape: tuple[int, ...] = ()

    @property
    def var(self) -> Var:
        """The kernel's parameter of a scalar."""
        return self.vars[0]


@record
class StructParam:
    """A struct parameter of type `kind` in the user's signature, with parameters for its members."""

    name: str
    kind: StructTypeBase
    members: tuple[Param | StructParam, ...]

    @property
    def vars(self) -> tuple[Var, ...]:
        """The kernel's parameters that it fills, member by member."""
        return tuple(v for m in self.members for v in m.vars)


class WatchSlot(NamedTuple):
    """The probe of one assignment.

    Attributes
    ----------
    name : str
        The target of the assignment: ``r``, ``p.x``, ``U[None]``.
    span : Span
        The span of the assignment.
    shape : tuple of int
        ``()`` for a number, else that of a vector or matrix.
    type : ScalarType
        The type of its entries.
    row : int
        The row of the first entry in the probe buffer; the others follow.
    axes : int
        The number of outermost loops around it.
    axis : int or None
        For an index of the outermost loops, its position among them.
    op : str or None
        For an accumulation, its operator, as in `Accumulate`: the probe shows the added amount.
    """

    name: str
    span: Span
    shape: tuple[int, ...]
    type: ScalarType
    row: int
    axes: int = 0
    axis: int | None = None
    op: AccumulateOp | None = None

    @property
    def size(self) -> int:
        """The number of entries."""
        return math.prod(self.shape)


class KinkSlot(NamedTuple):
    """The probe of one primitive with kinks.

    Attributes
    ----------
    op : str
        The primitive; ``select`` for an ``if`` too.
    span : Span
        Its place in the user's code, or the call of dsim's func that contains it.
    calls : tuple of Span
        The calls of the user's funcs that contain it, outermost first.
    row : int
        Its row in the probe buffer.
    loops : tuple of str
        The names of the outermost loops' indices.
    of_many : bool
        Whether it is a minimum or maximum accumulated into an element of a field.
    """

    op: str
    span: Span
    calls: tuple[Span, ...]
    row: int
    loops: tuple[str, ...] = ()
    of_many: bool = False

    @property
    def kink(self) -> Kink:
        """The kink's description."""
        return TABLE[self.op].kink or BORDER


class BirthSlot(NamedTuple):
    """The probe of one primitive of floats: whether it is the origin of a non-finite number.

    Attributes
    ----------
    span : Span
        Its place in the user's code, or the call of dsim's func that contains it.
    calls : tuple of Span
        The calls of the user's funcs that contain it, outermost first.
    row : int
        Its row in the probe buffer.
    """

    span: Span
    calls: tuple[Span, ...]
    row: int


@record
class Capture:
    """A Python value that was compiled in; the kernel is stale once ``read() != value``.

    For a function, `found` returns the current object, where `read` only reports that it has changed.
    """

    name: str
    value: object
    read: Callable[[], object] = field(compare=False)
    found: Callable[[], object] | None = field(default=None, compare=False)


@record
class Returns:
    """The result of a kernel: a scalar, or a vector or matrix whose entries it yields in order."""

    dtype: ScalarType
    shape: tuple[int, ...] = ()


@record
class StructReturns:
    """A struct result of a kernel; it yields the scalars, member by member."""

    kind: StructTypeBase


@record
class SeveralReturns:
    """A tuple result of a kernel; it yields the scalars, part by part."""

    parts: tuple[OneReturn, ...]


OneReturn = Returns | StructReturns
AnyReturn = OneReturn | SeveralReturns


class LoopConfig(NamedTuple):
    """The ``loop_config`` of a loop."""

    serialize: bool = False
    parallel: bool = False


@record
class Lowered:
    """A kernel and what it takes to launch it.

    Attributes
    ----------
    kernel : KernelIR
        Its parameters are those of `params`, then of `launch_numbers`, then ``launch`` when `random`.
    fields : mapping of str to object
        The field behind each memory's name.
    called : mapping of str to str
        The field's name in the user's program: ``particles.pos``.
    params : tuple of Param or StructParam
        The user's parameters, in order.
    captures : tuple of Capture
        Python numbers (and matrices, and sequences used statically) compiled in as constants.
    hidden : tuple of Capture
        Those that each launch passes, because they were in `promoted`.
    launch_numbers : LaunchNumbers
        What it passes of them: the numbers themselves, and what is computed from them.
    returns : Returns, StructReturns, SeveralReturns or None
        Its result type.
    random : bool
        Whether it draws random numbers.
    diagnostics : tuple of Diagnostic
        Warnings and notes.
    objects : tuple of Capture
        Fields and functions compiled in, to be compared by identity.
    loops : mapping of Var to LoopConfig
        ``loop_config`` by the index of the loop (the outermost index of an ``ndrange``).
    slots : tuple of WatchSlot
        Its probes of assignments, when it is watched.
    kinks : tuple of KinkSlot
        Its probes of kinks, when it is watched for that.
    births : tuple of BirthSlot
        Its probes of origins of non-finite numbers, when it is watched for that.
    shown : Memory or None
        The probe buffer (see `ir.probe_buffer`).
    """

    kernel: KernelIR
    fields: Mapping[str, object]
    called: Mapping[str, str]
    params: tuple[Param | StructParam, ...]
    captures: tuple[Capture, ...]
    hidden: tuple[Capture, ...]
    launch_numbers: LaunchNumbers
    returns: AnyReturn | None
    random: bool
    diagnostics: tuple[Diagnostic, ...]
    objects: tuple[Capture, ...] = ()
    loops: Mapping[Var, LoopConfig] = field(default_factory=dict)
    slots: tuple[WatchSlot, ...] = ()
    kinks: tuple[KinkSlot, ...] = ()
    births: tuple[BirthSlot, ...] = ()
    shown: Memory | None = None
