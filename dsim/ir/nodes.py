"""The kernel language, whole: what a kernel is after the frontend and before machine code.

Rules that `check.py` holds every kernel to:

- A `Var` is bound once in a kernel and is seen in its block after its statement, and in the blocks
  inside. Names are unique in a kernel.
- There are no mutable locals: a loop *carries* values, a branch *yields* values. Only memories
  (fields, and private buffers made by `Alloc`) change. A `UndoLog` remembers what elements were.
- Scalars only. A field of vectors is a memory with one more axis, a field of matrices with two.
- Every expression is one `Let` of one primitive of `primitives.TABLE` over atoms of equal type,
  unless its row says otherwise; there are no implicit casts.
- Top-level statements run in order; a top-level `For` with `parallel` may run its iterations in any
  order, at once.

`origin` and `site` take no part in comparisons. Atoms and memories stand in `values.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from dsim.diagnostics import Span
from dsim.ir.values import NOWHERE, Atom, Memory, Origin, Var
from dsim.ir.values import Const as Const
from dsim.ir.values import MemoryKey as MemoryKey

AccumulateOp = Literal["add", "mul", "min", "max", "band", "bor", "bxor"]


def _origin() -> Origin:
    return field(default=NOWHERE, compare=False, repr=False)


def _site() -> int:
    return field(default=-1, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Block:
    """Statements in order, then the values that the block gives to what encloses it."""

    statements: tuple[Statement, ...]
    yields: tuple[Atom, ...] = ()


@dataclass(frozen=True, slots=True)
class Let:
    """``var = op(*args)``: one primitive. A cast's target is the type of `var`."""

    var: Var
    op: str
    args: tuple[Atom, ...]
    origin: Origin = _origin()


@dataclass(frozen=True, slots=True)
class Load:
    """``var = memory[index]``."""

    var: Var
    memory: Memory
    index: tuple[Atom, ...]
    origin: Origin = _origin()
    site: int = _site()


@dataclass(frozen=True, slots=True)
class Store:
    """``memory[index] = value``."""

    memory: Memory
    index: tuple[Atom, ...]
    value: Atom
    origin: Origin = _origin()
    site: int = _site()


@dataclass(frozen=True, slots=True)
class Accumulate:
    """``memory[index] = op(memory[index], value)`` in one step; `old` is the value before, if used."""

    memory: Memory
    index: tuple[Atom, ...]
    value: Atom
    op: AccumulateOp = "add"
    old: Var | None = None
    origin: Origin = _origin()
    site: int = _site()


@dataclass(frozen=True, slots=True)
class Residual:
    """What a buffer of an adjoint saves on the way forward for the way back.

    ``values``: what a variable was. ``snapshot``: what all elements of the buffer `of` were, which is
    restored from it; snapshots of one buffer are restored last in, first out. ``marks``: how long the undo
    log of `of` was, to which it is rolled back.

    `by` says what the first axis counts, if the buffer has a part for each: the ``trip`` of a loop, which
    writes its own part, while the loop that goes backwards reads the parts of all trips that were made, last
    one first or in any order; the checkpoint ``segment``; or the ``trip of segment``, written anew by each
    segment.
    """

    what: Literal["values", "snapshot", "marks"]
    by: Literal["", "trip", "segment", "trip of segment"] = ""
    of: Memory | None = None


@dataclass(frozen=True, slots=True)
class Alloc:
    """Makes the private `memory`, filled with zeros; it lives to the end of the enclosing block.

    `shape` gives every axis's length (i32 or i64 atoms). `saves` says what it saves, if it is an adjoint's
    for that.
    """

    memory: Memory
    shape: tuple[Atom, ...]
    origin: Origin = _origin()
    saves: Residual | None = None


@dataclass(frozen=True, slots=True)
class UndoLog:
    """Makes the private `log`, empty: a log of values that elements of `memory` had.

    It lives to the end of the enclosing block. `log` has one axis, of unknown length, and the type
    of `memory`; only `Append`, `LogMark`, `RollBack` and `Compact` touch it. With `beside`, it is always as
    long as that undo log, whose marks are its own too.
    """

    log: Memory
    memory: Memory
    origin: Origin = _origin()
    beside: Memory | None = None


@dataclass(frozen=True, slots=True)
class Append:
    """Appends ``memory[index]``, the place and its value now, to the `log` of `memory`."""

    log: Memory
    memory: Memory
    index: tuple[Atom, ...]
    origin: Origin = _origin()
    site: int = _site()


@dataclass(frozen=True, slots=True)
class LogMark:
    """``var`` = how many entries `log` has now (an i64)."""

    var: Var
    log: Memory
    origin: Origin = _origin()


@dataclass(frozen=True, slots=True)
class RollBack:
    """Takes the newest entry off `log` and puts its value back into `memory`, down to `mark` entries."""

    log: Memory
    memory: Memory
    mark: Atom
    origin: Origin = _origin()


@dataclass(frozen=True, slots=True)
class Compact:
    """No later roll-back targets an entry behind `mark`: entries that `log` holds only for such may go.

    Of each element the oldest entry behind `mark` stays; the elements of `memory` stay as they are.
    """

    log: Memory
    memory: Memory
    mark: Atom
    origin: Origin = _origin()


@dataclass(frozen=True, slots=True)
class If:
    """Runs one of two blocks; `results` are what it yields."""

    cond: Atom
    then: Block
    orelse: Block
    results: tuple[Var, ...] = ()
    origin: Origin = _origin()


@dataclass(frozen=True, slots=True)
class For:
    """``for index in range(start, stop, step)``, carrying values from trip to trip.

    `carried` are the carried values as the body sees them, `init` what they are before the first
    trip; the body yields what they are in the next; `results` are what they are after the last.
    `step` is a non-zero constant. `goes_on`, when given, is one of `carried` (a bool): a trip is
    made only while it is true.
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


@dataclass(frozen=True, slots=True)
class While:
    """Runs `body` while `condition` yields true; both see `carried`; the rest is as in `For`.

    It may never end, and so it stays where nobody reads what it computes, unless it `ends`: an adjoint
    repeats loops of a launch that is over.
    """

    condition: Block
    body: Block
    carried: tuple[Var, ...] = ()
    init: tuple[Atom, ...] = ()
    results: tuple[Var, ...] = ()
    origin: Origin = _origin()
    ends: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Print:
    """Prints `parts`, text and values, one after the other, ended by `end`.

    `formats`, when given, has one for each value: ``""`` for all digits, ``":.2f"`` as `format` takes it
    after the colon, or ``"%.2f"`` as the operator ``%`` does.
    """

    parts: tuple[str | Atom, ...]
    end: str = "\n"
    origin: Origin = _origin()
    formats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Assert:
    """Reports a fault when `cond` is false: `parts` are its message, in `formats` as those of `Print`.

    `code` is that of the diagnostic: ``"assertion"`` for a person's own, ``"out-of-bounds"`` for an index
    into a local vector or matrix.
    """

    cond: Atom
    parts: tuple[str | Atom, ...] = ()
    origin: Origin = _origin()
    formats: tuple[str, ...] = ()
    code: str = "assertion"


@dataclass(frozen=True, slots=True)
class Probe:
    """Writes `value` to row `slot` of the probe buffer `memory`; the kernel computes the same without it.

    `at` are the indices of the outermost loop around it. In an adjoint or tangent `what` is shown is the
    derivative of a probed value. A probed float is a ``copy``, made right before: its adjoint is that
    of this one assignment. `passes.lower_probes` makes ordinary statements of it before machine code.
    In row `own` it counts by itself: a line that stands in several places, as in a func, has one slot and
    several probes, and not all of them have an adjoint.

    With `tie`, a truth value, it is the result of a primitive with a kink, which is there when `tie` holds:
    what is shown is how often that was so and a derivative came by. The kink is left where one of `across`
    changes; the tangent shown is theirs. With `over`, it is what goes into a minimum or maximum of many: when
    `over` holds it is the only extremum so far, when `tie` does another one.

    With `source` what is shown is how often `value` was not finite while all of `source` was: in the primal a
    primitive's result and its arguments, in a derivative what the primitive hands on and what came to it.
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


@dataclass(frozen=True, slots=True)
class Derive:
    """The derivative of a pure function, in the middle of a kernel; `autodiff.expand` replaces it.

    The function is `body` over `params`, called at `args`.
    ``jvp``: `seeds` are the tangents of the float `params`, in order; `results` those of the yields.
    ``vjp``: `seeds` are the adjoints of the float yields; `results` those of the float `params`.
    Memories that `body` reads count as constants.
    """

    mode: Literal["jvp", "vjp"]
    params: tuple[Var, ...]
    body: Block
    args: tuple[Atom, ...]
    seeds: tuple[Atom, ...]
    results: tuple[Var, ...]
    origin: Origin = _origin()


@dataclass(frozen=True, slots=True)
class Rule:
    """How a `Call` is differentiated, in one direction: `body` over `params`.

    The params are the float arguments of the call, then seeds, then all results of the call. In a
    ``jvp`` the seeds are the tangents of the arguments, and the body yields those of the float results;
    in a ``vjp`` they are the adjoints of the float results, and the body yields those of the arguments.
    The body is linear in the seeds. `where` is the person's definition of it.
    """

    params: tuple[Var, ...]
    body: Block
    where: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """The value of a function that brings its own derivative.

    ``results = body`` over `params`, at `args`, which are floats. Derivatives go by the rules, never
    through `body`; of one rule that is missing the other is the transpose. `passes.inline` puts `body`
    in the place of the call before machine code is made.
    `where` is the person's definition of the function; with `checked`, its rules are held against each
    other before they are used.
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
        """Those that are given."""
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


@dataclass(frozen=True, slots=True)
class Kernel:
    """A whole kernel.

    `params` are its scalar parameters, `memories` all fields that it touches (in order of first use),
    `body` yields its return values. With `exact`, floating point is done as written, the same in every
    kernel made from this one: nothing is contracted or reassociated.
    """

    name: str
    params: tuple[Var, ...]
    memories: tuple[Memory, ...]
    body: Block
    exact: bool = False
    origin: Origin = _origin()
