"""The whole kernel language: the form of a kernel between the frontend and machine code.

Rules that `check.py` verifies for every kernel:

- A `Var` is bound once in a kernel. Its scope is the rest of its block after its statement, inner blocks
  included. Names are unique in a kernel.
- There are no mutable locals: a loop *carries* values, a branch *yields* values. Only memories
  (fields, and private buffers made by `Alloc`) are mutable. An `UndoLog` keeps old values of elements.
- Scalars only. A field of vectors is a memory with one more axis, a field of matrices with two.
- Every expression is one `Let`: one primitive of `primitives.TABLE` over atoms of equal type, unless its
  row says otherwise; there are no implicit casts.
- Top-level statements run in order; a top-level `For` with `parallel` may run its iterations in any
  order and concurrently.

Equality ignores `origin` and `site`. Atoms and memories are defined in `values.py`.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from dsim.diagnostics import Span
from dsim.ir.values import NOWHERE, Atom, Memory, Origin, Var
from dsim.ir.values import Const as Const
from dsim.ir.values import MemoryKey as MemoryKey
from dsim.records import record

AccumulateOp = Literal["add", "mul", "min", "max", "band", "bor", "bxor"]


def _origin() -> Origin:
    return field(default=NOWHERE, compare=False, repr=False)


def _site() -> int:
    return field(default=-1, compare=False, repr=False)


class _Walked:
    """What `walk.statements` found in a block, kept for the next pass that asks."""

    __slots__ = ("preorder",)
    preorder: tuple[Statement, ...]


@record
class Block(_Walked):
    """Statements in order, then the values that the block yields to the enclosing statement."""

    statements: tuple[Statement, ...]
    yields: tuple[Atom, ...] = ()


@record
class Let:
    """``var = op(*args)``: one primitive. A cast's target is the type of `var`."""

    var: Var
    op: str
    args: tuple[Atom, ...]
    origin: Origin = _origin()


@record
class Load:
    """``var = memory[index]``."""

    var: Var
    memory: Memory
    index: tuple[Atom, ...]
    origin: Origin = _origin()
    site: int = _site()


@record
class Store:
    """``memory[index] = value``."""

    memory: Memory
    index: tuple[Atom, ...]
    value: Atom
    origin: Origin = _origin()
    site: int = _site()


@record
class Accumulate:
    """``memory[index] = op(memory[index], value)``, atomically; `old` binds the value before, if used."""

    memory: Memory
    index: tuple[Atom, ...]
    value: Atom
    op: AccumulateOp = "add"
    old: Var | None = None
    origin: Origin = _origin()
    site: int = _site()


@record
class Residual:
    """What a buffer of an adjoint saves in the forward sweep for the backward sweep.

    ``values``: values of a variable. ``snapshot``: a copy of all elements of the buffer `of`, which is
    restored from it; snapshots of one buffer are restored last in, first out. ``marks``: lengths of the undo
    log of `of`, to which it is rolled back.

    `by` says what indexes the first axis, if anything does: the ``trip`` of a loop (each trip writes its own
    part; the backward loop reads the parts of all trips made, the last one first or in any order); the
    checkpoint ``segment``; or the ``trip of segment`` (each segment overwrites the parts of the one before).
    """

    what: Literal["values", "snapshot", "marks"]
    by: Literal["", "trip", "segment", "trip of segment"] = ""
    of: Memory | None = None


@record
class Alloc:
    """Makes the private `memory`, filled with zeros; it lives to the end of the enclosing block.

    `shape` gives every axis's length (i32 or i64 atoms). `saves` describes the residual that an adjoint keeps
    in it, if any.
    """

    memory: Memory
    shape: tuple[Atom, ...]
    origin: Origin = _origin()
    saves: Residual | None = None


@record
class UndoLog:
    """Makes the private `log`, empty: an undo log of old values of elements of `memory`.

    It lives to the end of the enclosing block. `log` has one axis, of unknown length, and the type
    of `memory`; only `Append`, `LogMark`, `RollBack` and `Compact` touch it. With `beside`, it is always as
    long as that undo log and shares its marks.
    """

    log: Memory
    memory: Memory
    origin: Origin = _origin()
    beside: Memory | None = None


@record
class Append:
    """Appends an entry, the index and the present value of ``memory[index]``, to the `log` of `memory`."""

    log: Memory
    memory: Memory
    index: tuple[Atom, ...]
    origin: Origin = _origin()
    site: int = _site()


@record
class LogMark:
    """``var`` = the number of entries of `log` at this point (an i64)."""

    var: Var
    log: Memory
    origin: Origin = _origin()


@record
class RollBack:
    """Removes the newest entry of `log` and restores its value in `memory`, until `mark` entries are left."""

    log: Memory
    memory: Memory
    mark: Atom
    origin: Origin = _origin()


@record
class Compact:
    """Drops entries of `log` that no roll-back needs any more: none to a point after `mark` will follow.

    For each element the oldest entry after `mark` stays; `memory` does not change.
    """

    log: Memory
    memory: Memory
    mark: Atom
    origin: Origin = _origin()


@record
class If:
    """Runs one of two blocks; `results` are what it yields."""

    cond: Atom
    then: Block
    orelse: Block
    results: tuple[Var, ...] = ()
    origin: Origin = _origin()


@record
class For:
    """``for index in range(start, stop, step)``, carrying values from trip to trip.

    `carried` binds the carried values in the body, `init` has their values before the first trip, the body
    yields those for the next trip, and `results` binds those after the last.
    `step` is a non-zero constant. `goes_on`, when given, is one of `carried` (a bool): the loop ends before a
    trip in which it is false.
    `parallel` says that the iterations are independent of one another, inner loops included; the
    backend may then use threads (outermost loop) or vectors (any).
    """

    index: Var
    start: Atom
    stop: Atom
    step: int
    body: Block
    carried: tuple[Var, ...] = ()
    init: tuple[Atom, ...] = ()
    results: tuple[Var, ...] = ()
    goes_on: Var | None = None
    parallel: bool = False
    origin: Origin = _origin()


@record
class While:
    """Runs `body` while `condition` yields true; `carried` is in scope in both; the rest is as in `For`.

    It may not terminate, so it is not dead code even if its results are unused, unless `ends` says that it
    terminates: an adjoint repeats loops of a launch that has ended.
    """

    condition: Block
    body: Block
    carried: tuple[Var, ...] = ()
    init: tuple[Atom, ...] = ()
    results: tuple[Var, ...] = ()
    origin: Origin = _origin()
    ends: bool = field(default=False, compare=False, repr=False)


@record
class Print:
    """Prints `parts`, text and values in order, then `end`.

    `formats`, when given, has a format for each value: ``""`` for all digits, ``":.2f"`` as `format` takes it
    after the colon, or ``"%.2f"`` as the operator ``%`` does.
    """

    parts: tuple[str | Atom, ...]
    end: str = "\n"
    origin: Origin = _origin()
    formats: tuple[str, ...] = ()


@record
class Assert:
    """Reports a fault when `cond` is false; `parts` and `formats` make its message, as in `Print`.

    `code` is that of the diagnostic: ``"assertion"`` for a person's own, ``"out-of-bounds"`` for an index
    into a local vector or matrix.
    """

    cond: Atom
    parts: tuple[str | Atom, ...] = ()
    origin: Origin = _origin()
    formats: tuple[str, ...] = ()
    code: str = "assertion"


@record
class Probe:
    """Writes `value` to row `slot` of the probe buffer `memory`; the kernel computes the same without it.

    `at` are the indices of the outermost loop around it. `what` says whether `value` is the probed value, its
    adjoint or its tangent. A probed float is a ``copy``, made just before, so that its adjoint is that of
    this one assignment. `passes.lower_probes` lowers it to ordinary statements before machine code.
    Row `own` has the counters of this probe alone: a line that is inlined in several places, as in a func,
    has one slot and several probes, not all of which have an adjoint.

    With `tie`, a bool, `value` is the result of a primitive with a kink, and `tie` is true at the kink: the
    probe counts the visits at the kink with a nonzero derivative. The kink is left where one of `across`
    changes; the tangent shown is theirs. With `over`, `value` is an operand of a minimum or maximum of many:
    `over` is true when it is the only extremum so far, `tie` when it equals the extremum so far.

    With `source` the probe counts how often `value` was not finite while all of `source` was: in the primal a
    primitive's result and its arguments, in a derivative the derivative that it passes on and those it got.
    """

    memory: Memory
    slot: int
    value: Atom
    at: tuple[Atom, ...] = ()
    own: int = 0
    what: Literal["value", "adjoint", "tangent"] = "value"
    tie: Atom | None = None
    across: tuple[Atom, ...] = ()
    over: Atom | None = None
    source: tuple[Atom, ...] = ()
    origin: Origin = _origin()


@record
class Derive:
    """The derivative of a pure function, inside a kernel; `autodiff.expand` replaces it.

    The function is `body` with parameters `params`, evaluated at `args`.
    ``jvp``: `seeds` are the tangents of the float `params`, in order; `results` those of the yields.
    ``vjp``: `seeds` are the adjoints of the float yields; `results` those of the float `params`.
    Memories that `body` reads are constants of the function.
    """

    mode: Literal["jvp", "vjp"]
    params: tuple[Var, ...]
    body: Block
    args: tuple[Atom, ...]
    seeds: tuple[Atom, ...]
    results: tuple[Var, ...]
    origin: Origin = _origin()


@record
class Rule:
    """How a `Call` is differentiated, in one mode: `body` with parameters `params`.

    The params are the float arguments of the call, then seeds, then all results of the call. In a
    ``jvp`` the seeds are the tangents of the arguments, and the body yields those of the float results;
    in a ``vjp`` they are the adjoints of the float results, and the body yields those of the arguments.
    The body is linear in the seeds. `where` is the source location of its definition.
    """

    params: tuple[Var, ...]
    body: Block
    where: Span | None = field(default=None, compare=False, repr=False)


@record
class Call:
    """A call of a function with custom derivative rules.

    `results` are what `body` over `params` yields at `args`, which are floats. Derivatives use the rules,
    never `body`; a missing rule is derived as the transpose of the other one. `passes.inline` replaces the
    call by `body` before machine code is generated.
    `where` is the source location of the function; with `checked`, its two rules are compared with each other
    before they are used.
    """

    name: str
    params: tuple[Var, ...]
    body: Block
    args: tuple[Atom, ...]
    results: tuple[Var, ...]
    jvp: Rule | None = None
    vjp: Rule | None = None
    where: Span | None = field(default=None, compare=False, repr=False)
    checked: bool = field(default=False, compare=False)
    origin: Origin = _origin()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are given."""
        return tuple(r for r in (self.jvp, self.vjp) if r is not None)


Logging = UndoLog | Append | LogMark | RollBack | Compact
Statement = (
    Let
    | Load
    | Store
    | Accumulate
    | Alloc
    | Logging
    | If
    | For
    | While
    | Print
    | Assert
    | Probe
    | Derive
    | Call
)


@record
class KernelIR:
    """A whole kernel, as the compiler's passes work on it.

    `params` are its scalar parameters, `memories` all fields that it touches (in order of first use),
    `body` yields its return values. With `exact`, floating-point operations run as written, in every kernel
    derived from this one too: no contraction (FMA) and no reassociation.
    """

    name: str
    params: tuple[Var, ...]
    memories: tuple[Memory, ...]
    body: Block
    exact: bool = False
    origin: Origin = _origin()
