"""Whether the rules of a func belong together, ⟨w, jvp(x, v)⟩ = ⟨vjp(x, w), v⟩, and whether they fit it.

A call is run with both of its derivatives by the Python backend, in double precision whatever its types
are: so what differs is a mistake, and not rounding. A point where anything is not finite, where an
index is outside, or where a loop does not end soon, says nothing. Of one rule, the identity with its
transpose tells whether it is linear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from dsim.analysis.activity import Activity
from dsim.autodiff import derivatives, expand
from dsim.backends.faults import Fault
from dsim.backends.reference.source import TooLongError, run, runner
from dsim.diagnostics import CompilationError, Diagnostic, DsimError, GradientError, Label, Span
from dsim.frontend.source.lowered import Lowered
from dsim.ir.build import Builder, Names
from dsim.ir.copying import Copier
from dsim.ir.nodes import Atom, Block, Call, Const, KernelIR, Let, Memory, MemoryKey, Statement, Var
from dsim.ir.types import ScalarType, f64
from dsim.ir.walk import fields_of, free, silent, statements, with_operands
from dsim.passes.inline import inline

TOLERANCE = 1e-4
_POINTS = 6
_TRIPS = 20_000  # of all loops together, at one point
_STEP = 1e-5
_SOME = "; for a func defined for some x only, pass `check=False` and call `check_derivative` at those x"

Buffers = Mapping[MemoryKey, np.ndarray]


def refuse_wrong_rules(kernel: KernelIR) -> None:
    """Compares the rules of all funcs that `kernel`, without `Derive` nodes, calls, at random points.

    Raises
    ------
    CompilationError
        When they disagree at one of the points.
    """
    calls: dict[Any, Call] = {}
    for s in statements(kernel.body):
        if isinstance(s, Call) and s.checked and s.rules:
            types = tuple(a.type for a in (*s.args, *s.results))
            calls.setdefault((s.name, s.where, types), s)
    for call in calls.values():
        try:
            trial = DerivedCall.of(call)
        except GradientError:  # it has one mode only: the other is refused where it is asked for
            continue
        if trial is not None:
            for point in map(trial.random, range(_POINTS)):
                seen = trial.at(point)
                if seen is not None:
                    _refuse_disagreement(trial, point, seen, TOLERANCE, CompilationError, _SOME)


class Point(NamedTuple):
    """Where a call is looked at: its float arguments, what else it reads, its seeds, the fields' values."""

    args: np.ndarray
    others: tuple[Any, ...]
    tangents: np.ndarray
    adjoints: np.ndarray
    buffers: Buffers


class Evaluation(NamedTuple):
    """What came out at a point: the float results, their tangents, the arguments' adjoints."""

    results: np.ndarray
    tangents: np.ndarray
    adjoints: np.ndarray


@dataclass(frozen=True)
class DerivedCall:
    """A call with both of its derivatives, as a kernel.

    Attributes
    ----------
    call : Call
        The call.
    others : tuple of Var
        What it reads besides its arguments.
    kernel : KernelIR
        Over the float arguments, `others`, tangents and adjoints; yields the float results, their tangents
        and the arguments' adjoints.
    run : callable
        Executes it.
    """

    call: Call
    others: tuple[Var, ...]
    kernel: KernelIR
    run: Callable[..., tuple[Any, ...]] = field(repr=False)

    @staticmethod
    def of(call: Call) -> DerivedCall | None:
        """The trial of `call`; None when it uses the bits of its numbers."""
        if any(isinstance(s, Let) and s.op == "bit_cast" for s in statements(Block((call,)))):
            return None
        builder = Builder(Names(m.name for m in fields_of(Block((call,)))))
        own = tuple(Var(builder.names.fresh(p.name), p.type) for p in call.params)
        lone = replace(call, args=own, body=silent(call.body))
        others = tuple(v for v in free(Block((lone,))) if v not in own)
        wide, env = _Wide(builder.names), {}
        params = tuple(wide.variable(v, env) for v in (*own, *others))
        copied = wide.statement(lone, env)
        assert isinstance(copied, Call)
        builder.add(copied)
        floats = [r for r in copied.results if r.type.is_float]
        v = [builder.fresh("v", f64) for _ in own]
        w = [builder.fresh("w", f64) for _ in floats]
        tangents = derivatives(builder, Activity(()), copied, "jvp", v, {})
        adjoints = derivatives(builder, Activity(()), copied, "vjp", w, {})
        body = builder.close((*floats, *tangents, *adjoints))
        kernel = inline(KernelIR("trial", (*params, *v, *w), fields_of(body), body))
        return DerivedCall(call, others, kernel, runner(kernel, _TRIPS))

    def random(self, seed: int) -> Point:
        """A point: positive numbers, or numbers of both signs; fields of one value each."""
        rng = np.random.default_rng(seed)
        low, high = (0.25, 1.75) if seed % 2 == 0 else (-1.5, 1.5)

        def number(t: ScalarType) -> Any:
            if t.is_float:
                return rng.uniform(low, high)
            return rng.integers(1, 4) if t.is_integer else rng.integers(0, 2) == 1

        buffers = {
            m.key: np.broadcast_to(np.array(number(m.type), m.type.numpy), tuple(n or 0 for n in m.shape))
            for m in self.kernel.memories
        }
        others = tuple(number(v.type) for v in self.others)
        return self.point(rng.uniform(low, high, len(self.call.args)), others, buffers, rng)

    def point(
        self, args: np.ndarray, others: tuple[Any, ...], buffers: Buffers, rng: np.random.Generator
    ) -> Point:
        """A point with these arguments, and random seeds."""
        floats = sum(r.type.is_float for r in self.call.results)
        return Point(args, others, rng.normal(size=args.size), rng.normal(size=floats), buffers)

    def at(self, p: Point) -> Evaluation | None:
        """What comes out at a point; None when it cannot be said there."""
        try:
            values = self.run(p.buffers, (*p.args, *p.others, *p.tangents, *p.adjoints))
        except (Fault, TooLongError, ArithmeticError, ValueError):
            return None
        found = np.array(values, np.float64)
        if not np.isfinite(found).all():
            return None
        n = p.adjoints.size
        return Evaluation(found[:n], found[n : 2 * n], found[2 * n :])


class _Wide(Copier):
    """Copies with all floats in double precision."""

    def variable(self, v: Var, env: dict[Var, Atom]) -> Var:
        new = Var(self.names.fresh(v.name), _wide(v.type))
        env[v] = new
        return new

    def memory(self, m: Memory) -> Memory:
        found = super().memory(m)
        return replace(found, type=_wide(found.type))

    def block(self, block: Block, env: Mapping[Var, Atom]) -> Block:
        return super().block(Block(block.statements, tuple(map(_wide_atom, block.yields))), env)

    def statement(self, s: Statement, env: dict[Var, Atom]) -> Statement:
        return super().statement(with_operands(s, _wide_atom), env)


def _wide(t: ScalarType) -> ScalarType:
    return f64 if t.is_float else t


def _wide_atom(a: Atom) -> Atom:
    return Const(a.value, _wide(a.type)) if isinstance(a, Const) else a


# ------------------------------------------------------------------ comparisons


def _refuse_disagreement(
    trial: DerivedCall, p: Point, seen: Evaluation, tolerance: float, kind: type[DsimError], help: str
) -> None:
    ahead, back = p.adjoints * seen.tangents, seen.adjoints * p.tangents
    size = np.abs(ahead).sum() + np.abs(back).sum()
    if abs(ahead.sum() - back.sum()) > tolerance * size:
        message, span, labels = _disagreement(trial.call, f"{back.sum():.6g}")
        here = f"⟨w, jvp(x, v)⟩ = {ahead.sum():.6g}"
        raise kind(Diagnostic("wrong-derivative", message, span, here, labels, f"{_shown(trial, p)}{help}"))


def _disagreement(call: Call, back: str) -> tuple[str, Span | None, tuple[Label, ...]]:
    """What is wrong, and where each of the rules is defined; of one rule the other is its transpose."""
    if call.jvp is not None and call.vjp is not None:
        labels = () if call.vjp.where is None else (Label(call.vjp.where, f"⟨vjp(x, w), v⟩ = {back}"),)
        return (
            f"the jvp and the vjp of `{call.name}` are not transposes of each other",
            call.jvp.where,
            labels,
        )
    (rule,) = call.rules
    mode, seeds = ("jvp", "tangents") if rule is call.jvp else ("vjp", "adjoints")
    message = (
        f"the {mode} of `{call.name}` is not linear in its {seeds}: its transpose has ⟨vjp(x, w), v⟩ = {back}"
    )
    return message, rule.where, ()


def _shown(trial: DerivedCall, p: Point) -> str:
    args = ", ".join(f"{float(a):.4g}" for a in p.args)
    others = "".join(f", {v.name} = {float(x):.4g}" for v, x in zip(trial.others, p.others, strict=True))
    return f"at x = ({args}){others}"


# ------------------------------------------------------------------ at arguments of the user's


def check_at(name: str, lowered: Lowered, args: Sequence[Any], buffers: Buffers, tolerance: float) -> None:
    """Holds the rules of the func that `lowered` calls against each other, and against differences of it.

    Parameters
    ----------
    name : str
        The func.
    lowered : Lowered
        A kernel that calls it, once, with its own parameters.
    args : sequence
        The values of these.
    buffers : mapping
        Those of the fields.
    tolerance : float
        What may differ, relative to the size of the numbers.
    """
    kernel = expand(lowered.kernel)
    at, call = next(
        (n, s) for n, s in enumerate(kernel.body.statements) if isinstance(s, Call) and s.name == name
    )
    if not call.rules:
        raise GradientError(
            Diagnostic("argument", f"`{name}` has no float argument or result here: pass floats")
        )
    trial = DerivedCall.of(call)
    if trial is None:
        raise GradientError(Diagnostic("argument", f"`{name}` uses the bits of its numbers", call.where))
    before = Block(kernel.body.statements[:at], (*call.args, *trial.others))
    values = run(inline(replace(kernel, body=before)), buffers, args)
    point = np.array(values[: len(call.args)], np.float64)
    wide = {key: b.astype(np.float64) if b.dtype.kind == "f" else b for key, b in buffers.items()}
    rng = np.random.default_rng(0)
    for _ in range(_POINTS):
        p = trial.point(point, values[len(call.args) :], wide, rng)
        seen = trial.at(p)
        if seen is None:
            message = f"`{name}` or its derivative is not finite here, or does not end"
            raise GradientError(Diagnostic("wrong-derivative", message, call.where))
        _refuse_disagreement(trial, p, seen, tolerance, GradientError, "")
        _refuse_other_slope(trial, p, seen, tolerance)


def _refuse_other_slope(trial: DerivedCall, p: Point, seen: Evaluation, tolerance: float) -> None:
    step = _STEP * max(1.0, float(np.abs(p.args).max()))
    ahead, behind = (trial.at(p._replace(args=p.args + sign * step * p.tangents)) for sign in (1, -1))
    if ahead is None or behind is None:
        return
    slope = (ahead.results - behind.results) / (2 * step)
    worst = int(np.abs(slope - seen.tangents).argmax())
    size = max(1.0, float(np.abs(slope).max()), float(np.abs(seen.tangents).max()))
    if abs(slope[worst] - seen.tangents[worst]) > tolerance * size:
        call = trial.call
        rule = call.jvp or call.vjp
        assert rule is not None
        message = f"the derivative of `{call.name}` is not that of its values"
        here = f"{seen.tangents[worst]:.6g}, where differences give {slope[worst]:.6g}"
        raise GradientError(Diagnostic("wrong-derivative", message, rule.where, here, (), _shown(trial, p)))
