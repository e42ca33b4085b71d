"""What the frontend is told (`LoweringSettings`) and what it hands on (`Lowered`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dsim.diagnostics import Diagnostic, Span
from dsim.frontend.source.struct_types import StructTypeBase
from dsim.ir.kinks import BORDER, Kink
from dsim.ir.nodes import AccumulateOp, Kernel, Memory, Var
from dsim.ir.primitives import TABLE
from dsim.ir.types import ScalarType, f32, i32


@dataclass(frozen=True, slots=True)
class LoweringSettings:
    """What `init` decides about types.

    Attributes
    ----------
    default_fp, default_ip : ScalarType
        Types of float and integer literals, and of Python's ``float`` and ``int``.
    debug : bool
        Whether further checks are wanted.
    watch : bool
        Whether the kernel shows what its lines assign.
    kinks : bool
        Whether it shows then, too, where it is at points without a derivative.
    births : bool
        Whether it shows then, too, which primitives make of finite numbers others that are not.
    """

    default_fp: ScalarType = f32
    default_ip: ScalarType = i32
    debug: bool = False
    watch: bool = False
    kinks: bool = False
    births: bool = False


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of the person's: a scalar, or a vector or matrix of several scalars.

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


@dataclass(frozen=True, slots=True)
class StructParam:
    """A parameter of the person's that is a struct of type `kind`, and parameters for its members."""

    name: str
    kind: StructTypeBase
    members: tuple[Param | StructParam, ...]

    @property
    def vars(self) -> tuple[Var, ...]:
        """The kernel's parameters that it fills, member by member."""
        return tuple(v for m in self.members for v in m.vars)


@dataclass(frozen=True, slots=True)
class WatchSlot:
    """What a watched kernel shows of one assignment.

    Attributes
    ----------
    name : str
        What is assigned: ``r``, ``p.x``, ``U[None]``.
    span : Span
        Where it is assigned.
    shape : tuple of int
        ``()`` for a number, else that of a vector or matrix.
    type : ScalarType
        The type of its entries.
    row : int
        Where the first entry is shown; the others follow.
    axes : int
        In how many outermost loops it stands.
    axis : int or None
        Of an index of the outermost loops, its place among them.
    op : str or None
        Of what is accumulated rather than assigned, as in `Accumulate`: what is shown is what comes in.
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
        """How many entries it has."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class KinkSlot:
    """What a watched kernel shows of one primitive with kinks.

    Attributes
    ----------
    op : str
        The primitive; ``select`` also of an ``if``.
    span : Span
        Where a person wrote it, or what calls a func of dsim's that has it.
    calls : tuple of Span
        The calls of the person's funcs that it stands in, outermost first.
    row : int
        Where it is shown.
    loops : tuple of str
        The names of the outermost loops' indices.
    of_many : bool
        Whether it is a minimum or maximum of what comes to an element of a field.
    """

    op: str
    span: Span
    calls: tuple[Span, ...]
    row: int
    loops: tuple[str, ...] = ()
    of_many: bool = False

    @property
    def kink(self) -> Kink:
        """What is to say of it."""
        return TABLE[self.op].kink or BORDER


@dataclass(frozen=True, slots=True)
class BirthSlot:
    """What a watched kernel shows of one primitive of floats: whether it makes what is not finite.

    Attributes
    ----------
    span : Span
        Where a person wrote it, or what calls a func of dsim's that has it.
    calls : tuple of Span
        The calls of the person's funcs that it stands in, outermost first.
    row : int
        Where it is shown.
    """

    span: Span
    calls: tuple[Span, ...]
    row: int


@dataclass(frozen=True, slots=True)
class Capture:
    """A Python value that was compiled in; the kernel is stale once ``read() != value``.

    Of a function `found` gives what stands there now, where `read` only says that it is another one.
    """

    name: str
    value: object
    read: Callable[[], object] = field(compare=False)
    found: Callable[[], object] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Returns:
    """What a kernel gives back: a scalar, or a vector or matrix whose entries it yields in order."""

    dtype: ScalarType
    shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StructReturns:
    """What a kernel gives back is a struct; it yields the scalars, member by member."""

    kind: StructTypeBase


@dataclass(frozen=True, slots=True)
class SeveralReturns:
    """What a kernel gives back is a tuple; it yields the scalars, part by part."""

    parts: tuple[OneReturn, ...]


OneReturn = Returns | StructReturns
AnyReturn = OneReturn | SeveralReturns


@dataclass(frozen=True, slots=True)
class LoopConfig:
    """What ``loop_config`` said about a loop."""

    serialize: bool = False
    parallel: bool = False


@dataclass(frozen=True, slots=True)
class Lowered:
    """A kernel and what it takes to launch it.

    Attributes
    ----------
    kernel : Kernel
        Its parameters are those of `params`, then of `hidden`, then ``launch`` when `random`.
    fields : mapping of str to object
        The field behind each memory's name.
    called : mapping of str to str
        What the person calls that field: ``particles.pos``.
    params : tuple of Param or StructParam
        The person's parameters, in order.
    captures : tuple of Capture
        Python numbers (and matrices, and sequences used statically) compiled in as constants.
    hidden : tuple of Capture
        Numbers that are parameters because they were in `promoted`; their types are those of the
        kernel's parameters.
    returns : Returns, StructReturns, SeveralReturns or None
        What it gives back.
    random : bool
        Whether it draws random numbers.
    diagnostics : tuple of Diagnostic
        Warnings and notes.
    objects : tuple of Capture
        Fields and functions compiled in, to be compared by identity.
    loops : mapping of Var to LoopConfig
        ``loop_config`` by the index of the loop (the outermost index of an ``ndrange``).
    slots : tuple of WatchSlot
        What it shows, when it is watched.
    kinks : tuple of KinkSlot
        Where it may be at points without a derivative, when it is watched for that.
    births : tuple of BirthSlot
        What may make numbers that are not finite, when it is watched for that.
    shown : Memory or None
        Where it shows that (see `ir.probe_buffer`).
    """

    kernel: Kernel
    fields: Mapping[str, object]
    called: Mapping[str, str]
    params: tuple[Param | StructParam, ...]
    captures: tuple[Capture, ...]
    hidden: tuple[Capture, ...]
    returns: AnyReturn | None
    random: bool
    diagnostics: tuple[Diagnostic, ...]
    objects: tuple[Capture, ...] = ()
    loops: Mapping[Var, LoopConfig] = field(default_factory=dict)
    slots: tuple[WatchSlot, ...] = ()
    kinks: tuple[KinkSlot, ...] = ()
    births: tuple[BirthSlot, ...] = ()
    shown: Memory | None = None
