"""Branches and loops: values that they carry and yield become phis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from dsim.backends.llvm import chains, poll_intervals, ranges, stops, strips, widths
from dsim.backends.llvm.arithmetic.wrapping import wraps
from dsim.backends.llvm.cost import known_trips
from dsim.backends.llvm.memory import windows
from dsim.backends.llvm.memory.early_loads import with_early_loads
from dsim.backends.llvm.memory.windows import Windows
from dsim.backends.llvm.places import Length
from dsim.backends.llvm.strips import Strip
from dsim.backends.llvm.text import TYPE, Function
from dsim.backends.llvm.writer import Writer
from dsim.ir.nodes import Const, For, If, Var, While
from dsim.ir.ranges import MOST

_LONGEST = 3000  # statements
_WRITTEN_OUT = 64  # trips of a loop that LLVM may write out, with no loop left
_ONE_VECTOR = '"llvm.loop.interleave.count", i32 1'
_NO_COPIES = '"llvm.loop.unroll.disable"'


def branch(w: Writer, s: If) -> None:
    """An `If`."""
    f = w.f
    then, orelse, end = f.label("then"), f.label("else"), f.label("end")
    f.fork(w.value(s.cond), then, orelse)
    f.open(then)
    yes = w.block(s.then)
    yes_from = f.block
    f.jump(end)
    f.open(orelse)
    no = w.block(s.orelse)
    no_from = f.block
    f.jump(end)
    f.open(end)
    for var, a, b in zip(s.results, yes, no, strict=True):
        w.env[var] = f.phi(TYPE[var.type], [(a, yes_from), (b, no_from)])


class Carried:
    """The phis of a loop's carried values; they stand at the start of the open block."""

    def __init__(self, w: Writer, carried: tuple[Var, ...], init: tuple[str, ...], before: str) -> None:
        self.w = w
        self.open: list[int] = []
        for var, first in zip(carried, init, strict=True):
            name, at = w.f.open_phi(TYPE[var.type], first, before)
            w.env[var] = name
            self.open.append(at)

    def close(self, values: tuple[str, ...], label: str) -> None:
        """What they are in the next trip."""
        for at, value in zip(self.open, values, strict=True):
            self.w.f.close_phi(at, value, label)


def count(w: Writer, s: For) -> None:
    """A `For`."""
    start, stop = w.exact(s.start), w.exact(s.stop)
    every = poll_intervals.every(s) if w.target.polls else 0
    results = counted(w, s, start, stop, w.values(s.init), every)
    for var, value in zip(s.results, results, strict=True):
        w.env[var] = value


def counted(
    w: Writer, s: For, start: Length, stop: Length, init: tuple[str, ...], every: int
) -> tuple[str, ...]:
    """Writes the loop from `start` to `stop`, carrying `init`; what its carried values are after it.

    It polls the stop flag after each `every` trips; never if that is 0. Where the order of iterations
    does not matter they run upwards, which vectorises better: it does matter for carried values where
    floating point is not reassociated.
    """
    free = s.parallel and not (w.f.module.exact and s.carried)
    if s.step == -1 and free and s.goes_on is None and _ends_early(s):
        s, start, stop = replace(s, step=1), w.plus(stop, 1), w.plus(start, 1)
    if every * abs(s.step) > MOST:  # there are a few times as many trips at most
        every = 0
    if not every or not poll_intervals.innermost(s):
        return _trips(w, s, start, stop, init, every)

    def blocks() -> tuple[str, ...]:
        return stops.in_blocks(w, s, every, (start, stop), init, lambda *some: _trips(w, s, *some))

    if not w.loops or known_trips(s) is not None or not poll_intervals.repeatable(s):
        return blocks()
    edges = (start, stop) if s.step > 0 else (stop, start)
    most = every * abs(s.step)
    return stops.either(w, edges, most, s.carried, lambda: _trips(w, s, start, stop, init), blocks)


def _ends_early(s: For) -> bool:
    """Whether there is a number behind the first index of `s`, which goes down."""
    greatest = (1 << s.index.type.bits - (s.index.type.kind == "int")) - 1
    return s.index.type.bits < 64 or (isinstance(s.start, Const) and s.start.value < greatest)


def _trips(
    w: Writer, s: For, start: Length, stop: Length, init: tuple[str, ...], every: int = 0
) -> tuple[str, ...]:
    strip = strips.find(w, s) if not every else None
    if strip is not None:
        return _in_strips(w, s, strip, start, stop, init)
    return _one_by_one(w, s, _Part(start, stop), init, every)


class _Part(NamedTuple):
    """Indices of a loop: a constant number of `trips`, if that is known; a loop that stays `scalar`."""

    start: Length
    stop: Length
    trips: int | None = None
    scalar: bool = False


def _one_by_one(w: Writer, s: For, part: _Part, init: tuple[str, ...], every: int) -> tuple[str, ...]:
    """A loop as it stands."""
    f, start, stop = w.f, part.start, part.stop
    s = replace(s, body=with_early_loads(w, s))
    rotated = w.rotate(w, s, start, stop) if w.rotate is not None else None
    found = windows.find(w, s) if rotated is None else None
    if found is not None:
        return _windowed(w, s, found, start, stop, init)
    test, body, end = f.label("for"), f.label("body"), f.label("done")
    counter = (
        ranges.counter(f, s, start, stop) if part.trips is None else ranges.counted_from(start, part.trips)
    )
    before = f.block
    f.jump(test)
    f.open(test)
    number, at = f.open_phi("i64", str(counter.first), before)
    carried = Carried(w, s.carried, init, before)
    results = w.values(s.carried)
    goes_on = f.let(f"icmp {counter.comparison} i64 {number}, {counter.end}")
    if s.goes_on is not None:
        goes_on = f.let(f"select i1 {goes_on}, i1 {w.env[s.goes_on]}, i1 false")
    f.fork(goes_on, body, end)
    f.open(body)
    index = counter.index(f, number)
    bind_index(w, s, index if rotated is None else rotated(index))
    around, w.chains = w.chains, chains.find(s, w.deferred) if poll_intervals.innermost(s) else None
    values = w.trip(s.body)
    w.chains = around
    following = f.let(f"add {counter.flags}i64 {number}, {counter.step}")
    if every:
        stops.ask_at(w, following, every)
    carried.close(values, f.block)
    f.close_phi(at, following, f.block)
    f.jump(test, _scalar(w) if part.scalar else _hint(w, s))
    f.open(end)
    return results


def _in_strips(
    w: Writer, s: For, strip: Strip, start: Length, stop: Length, init: tuple[str, ...]
) -> tuple[str, ...]:
    """The same for a loop of which accumulations wait for the end of each strip.

    All strips have the same constant length, so that LLVM writes no scalar copy, and no copy in short
    vectors, for what is left of a strip. What is left of the loop runs one by one.
    """
    f = w.f
    test, body, end = f.label("strips"), f.label("strip"), f.label("rest")
    before = f.block
    f.jump(test)
    f.open(test)
    first, at = f.open_phi("i64", str(start), before)
    carried = Carried(w, s.carried, init, before)
    results = w.values(s.carried)
    after = f.let(f"add nsw i64 {first}, {strip.length}")
    f.fork(f.let(f"icmp sle i64 {after}, {stop}"), body, end)
    f.open(body)
    strip.open(first)
    values = w.apart(lambda: _one_by_one(w, s, _Part(first, after, strip.length), results, 0))
    plain(f, "0", str(strip.length), 1, strip.add, _scalar(w))
    carried.close(values, f.block)
    f.close_phi(at, after, f.block)
    f.jump(test)
    f.open(end)
    strip.close()
    return _one_by_one(w, s, _Part(first, stop, scalar=True), results, 0)


def _hint(w: Writer, s: For | While) -> str:
    """Metadata for `s`.

    One that LLVM must not vectorise, would analyse for too long or has too few trips stays scalar. Where
    trips take nothing from each other, each trip of the vector loop is one vector: processors overlap its
    trips anyway. By four vectors, as LLVM would choose, up to 63 trips of each row are left to scalar code.
    """
    trips = known_trips(s) if isinstance(s, For) else None
    short = trips is not None and trips < widths.SHORTEST
    if short or len(s.body.statements) > _LONGEST or wraps(s, w.near):
        return _scalar(w)
    if isinstance(s, For) and not s.carried and poll_intervals.innermost(s):
        whole = trips is not None and trips <= _WRITTEN_OUT
        return _metadata(w, _ONE_VECTOR, *([] if whole else [_NO_COPIES]))
    return ""


def _scalar(w: Writer) -> str:
    """Metadata for a loop that LLVM must not vectorise, or need not try to."""
    return _metadata(w, '"llvm.loop.vectorize.enable", i1 false')


def _metadata(w: Writer, *wishes: str) -> str:
    nodes = ", ".join(w.f.module.node(f"!{{!{wish}}}") for wish in wishes)
    return f", !llvm.loop {w.f.module.node(f'distinct !{{SELF, {nodes}}}')}"


def _windowed(
    w: Writer, s: For, windows: Windows, start: Length, stop: Length, init: tuple[str, ...]
) -> tuple[str, ...]:
    """The same for a loop with windows, upwards; it tests at its end, so that its last values are seen."""
    f = w.f
    head, body, after, end = f.label("for"), f.label("body"), f.label("flush"), f.label("done")
    counter = ranges.counter(f, s, start, stop)
    f.fork(f.let(f"icmp {counter.comparison} i64 {start}, {stop}"), head, end)
    without = f.block
    f.open(head)
    f.jump(body)
    f.open(body)
    index, at = f.open_phi("i64", str(start), head)
    carried = Carried(w, s.carried, init, head)
    windows.open(head)
    bind_index(w, s, index)
    values = w.trip(s.body)
    left = windows.close()
    carried.close(values, f.block)
    following = f.let(f"add {counter.flags}i64 {index}, 1")
    f.close_phi(at, following, f.block)
    f.fork(f.let(f"icmp {counter.comparison} i64 {following}, {stop}"), body, after, _hint(w, s))
    f.open(after)
    windows.flush(left)
    f.jump(end)
    f.open(end)
    pairs = zip(s.carried, values, init, strict=True)
    return tuple(f.phi(TYPE[v.type], [(first, without), (last, after)]) for v, last, first in pairs)


def bind_index(w: Writer, loop: For, index: str) -> None:
    """The loop's index in its own type, from the 64-bit one."""
    v = loop.index
    w.limit(loop)
    w.regular.add(v)
    if v.type.bits == 64:
        w.env[v] = index
        return
    exact = "nsw " if v.type.kind == "int" else "nuw "
    w.env[v] = w.f.let(f"trunc {exact}i64 {index} to {TYPE[v.type]}")
    w.remember(v, index)


def repeat(w: Writer, s: While) -> None:
    """A `While`."""
    ends = poll_intervals.bound(s)
    if not w.target.polls or poll_intervals.short(s):
        results = _repeated(w, s)
    elif ends is None:
        results = _repeated(w, s, poll_intervals.copies(s))
    else:
        edges, most = (w.exact(ends[0]), w.exact(ends[1])), poll_intervals.block_of(s)
        results = stops.either(w, edges, most, s.carried, lambda: _repeated(w, s), lambda: _repeated(w, s, 1))
    w.env.update(zip(s.results, results, strict=True))


def _repeated(w: Writer, s: While, copies: int = 0) -> tuple[str, ...]:
    """Writes a `While`, with one poll per `copies` copies of its body, none for 0; returns its results."""
    f = w.f
    test, end = f.label("while"), f.label("done")
    before = f.block
    f.jump(test)
    f.open(test)
    carried = Carried(w, s.carried, w.values(s.init), before)
    values, left = w.values(s.carried), []
    for copy in range(max(1, copies)):
        w.env.update(zip(s.carried, values, strict=True))
        (goes_on,) = w.block(s.condition)
        left.append((values, f.block))
        body = f.label("body")
        f.fork(goes_on, body, end)
        f.open(body)
        if copies and not copy:
            stops.ask(w)
        values = w.trip(s.body)
    carried.close(values, f.block)
    f.jump(test, _hint(w, s))
    f.open(end)
    return tuple(f.phi(TYPE[v.type], [(x[i], at) for x, at in left]) for i, v in enumerate(s.carried))


def plain(
    f: Function, start: str, stop: str, step: int | str, body: Callable[[str], None], metadata: str = ""
) -> None:
    """A loop of the emitter's own: ``body(index)`` writes what it does."""
    test, inside, end = f.label("loop"), f.label("turn"), f.label("done")
    before = f.block
    f.jump(test)
    f.open(test)
    index, at = f.open_phi("i64", start, before)
    f.fork(f.let(f"icmp slt i64 {index}, {stop}"), inside, end)
    f.open(inside)
    body(index)
    f.close_phi(at, f.let(f"add nsw i64 {index}, {step}"), f.block)
    f.jump(test, metadata)
    f.open(end)
