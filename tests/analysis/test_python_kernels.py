"""The analyses on user-written kernels: parallel loops, warnings, overwritten values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsim.analysis.access_rules import overwritten
from dsim.analysis.bounds import bounds
from dsim.analysis.dependence.independence import loop_independence
from dsim.analysis.write_plans import write_plan
from dsim.diagnostics import render
from dsim.ir.nodes import For, KernelIR, Load
from dsim.ir.types import i32
from dsim.ir.walk import statements
from dsim.passes.simplify import simplify
from tests.frontend.dialect import f, lowered, ti

N = 16
x, y, s, v = f(N), f(N, N), f(), f(N, entry=(2,))
ends, count = f(N, dtype=i32), f(dtype=i32)
p = f(32, N, N)


def kernel(function: Callable[..., Any]) -> KernelIR:
    return simplify(lowered(function).kernel)


def warning(function: Callable[..., Any]) -> str:
    """Why the outermost loop is serial, as shown to a person, without the place; empty when it is not."""
    k = kernel(function)
    loop = next(s for s in k.body.statements if isinstance(s, For))
    reason = loop_independence(k)[loop.index].reason
    if reason is None:
        return ""
    return "\n".join(line for line in render([reason]).split("\n") if "-->" not in line)


def test_loops_over_fields_and_ranges_are_parallel() -> None:
    def outer() -> None:
        for i, j in ti.ndrange(N, N):
            y[i, j] = x[i] * x[j]

    def grouped() -> None:
        for at in ti.grouped(y):
            y[at] += x[at[0]]

    assert [warning(k) for k in (outer, grouped)] == ["", ""]


def test_scatters_and_buffers_of_an_iteration_are_parallel() -> None:
    def around() -> None:
        for i in range(N):
            for j in range(N):
                x[(i + j) % N] += 1.0

    def buffer() -> None:
        for i in range(N):
            m = ti.Matrix.zero(ti.f32, 3, 3)
            for a in range(3):
                m[a, a] = x[i]
            x[i] = m[2, 2]

    assert [warning(k) for k in (around, buffer)] == ["", ""]


def test_sums_and_maxima_of_locals_are_reductions() -> None:
    def largest() -> None:
        m = 0.0
        for i in range(N):
            m = ti.max(m, x[i])
            if x[i] > 0.5:
                m = ti.max(m, 2.0)
        s[None] = m

    def total() -> None:
        t = 0.0
        for i in range(N):
            t += x[i]
            for j in range(N):
                t -= y[i, j]
        s[None] = t

    for function, op in ((largest, "max"), (total, "add")):
        found = loop_independence(kernel(function))
        outermost = next(iter(found.values()))
        assert outermost.independent
        assert list(outermost.reductions.values()) == [op]


def test_what_is_said_of_a_recurrence() -> None:
    def decay() -> None:
        for i in range(1, N):
            x[i] = x[i - 1] * 0.5

    said = warning(decay)
    assert said.startswith("warning[serial]: this loop runs serially: an iteration may read what another one")
    assert "stored here" in said
    assert "read here" in said
    assert "help: write to a second field" in said


def test_what_is_said_of_stores_that_may_meet() -> None:
    def permute() -> None:
        for i in range(N):
            x[ends[i]] = i * 1.0

    def last() -> None:
        for i in range(N):
            s[None] = x[i]

    assert "two iterations may store to one element of `x`" in warning(permute)
    assert "help: use `+=`, or assign a local" in warning(last)


def test_what_is_said_of_early_ends_and_carried_values() -> None:
    def search() -> None:
        for i in range(N):
            if x[i] > 3.0:
                break
            x[i] = 1.0

    def prefix() -> None:
        t = 0.0
        for i in range(N):
            t += x[i]
            x[i] = t

    def narrow() -> None:
        t = ti.f32(0)
        for i in range(N):
            t += x[i]
        s[None] = t

    assert "`break` or `return` ends it early" in warning(search)
    assert "`t` goes from one iteration to the next" in warning(prefix)
    assert "help: only combine it (`t += …`)" in warning(prefix)
    assert "help: start `t` with the type of what is added" in warning(narrow)


def test_compaction_is_serial() -> None:
    def compact() -> None:
        for i in range(N):
            j = ti.atomic_add(count[None], 1)
            x[j] = i * 1.0

    assert "hands out the places in `x`" in warning(compact)


def test_wave_step_needs_no_old_values() -> None:
    def step(t: int) -> None:
        for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
            around = p[t - 1, i - 1, j] + p[t - 1, i + 1, j] + p[t - 1, i, j - 1] + p[t - 1, i, j + 1]
            p[t, i, j] = 2 * p[t - 1, i, j] - p[t - 2, i, j] + 0.2 * (around - 4 * p[t - 1, i, j])

    k = kernel(step)
    loads = {s.site for s in statements(k.body) if isinstance(s, Load)}
    assert overwritten(k, loads) == ()
    loop = next(s for s in k.body.statements if isinstance(s, For))
    assert {plan.kind for plan in write_plan(k, loop).values()} == {"plain"}
    found = bounds(k)
    assert set(found.sites.values()) == {"launch"}
    assert [found.holds((t,)) for t in (1, 2, 31, 32)] == [False, True, True, False]


def test_symplectic_step_in_place_overwrites_what_it_read() -> None:
    def advance() -> None:
        for i in range(N):
            v[i] += x[i] * 0.1
        for i in range(N):
            x[i] = ti.sin(x[i]) + v[i][0]

    k = kernel(advance)
    loads = {s.site for s in statements(k.body) if isinstance(s, Load)}
    lines = {(o.read.memory.name, o.write.memory.name, o.certain) for o in overwritten(k, loads)}
    assert lines == {("x", "x", True)}
    pairs = {(o.read.loops[0] is o.write.loops[0]) for o in overwritten(k, loads)}
    assert pairs == {True, False}
