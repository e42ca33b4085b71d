"""Write conflicts between iterations of a parallel loop, and the facts known about the place."""

from __future__ import annotations

from dsim.analysis.write_plans import Plan, write_plan
from dsim.ir.nodes import For, KernelIR
from dsim.ir.types import f32, i32
from tests.analysis.kernels import Program

BAR = ("bar",)


def plans(kernel: KernelIR) -> dict[str, Plan]:
    loop = next(s for s in kernel.body.statements if isinstance(s, For))
    return {".".join((name, *derivative)): p for (name, derivative), p in write_plan(kernel, loop).items()}


def test_plain_and_reduce() -> None:
    p = Program()
    x, U, y = p.field("x", 8), p.field("U"), p.field("y", 8)
    with p.loop("i", 0, 8) as i:
        p.add(U, value=p.load(x, i))
        p.store(y, i)
    found = plans(p.kernel())
    assert found["y"].kind == "plain"
    assert (found["U"].kind, found["U"].op, found["U"].elements) == ("reduce", "add", ((),))


def test_gravity_adjoint_is_private() -> None:
    p = Program()
    x, bar = p.field("x", 2048, 2, entry=1), p.field("x", 2048, 2, entry=1, derivative=BAR)
    with p.loop("i", 0, 2048) as i, p.loop("j", 0, 2048) as j:
        r = p.load(x, i, 0) - p.load(x, j, 0)
        for c in (0, 1):
            p.add(bar, i, c, value=r)
            p.add(bar, j, c, value=-r)
    plan = plans(p.kernel())["x.bar"]
    assert plan.kind == "private"
    assert [(str(a), str(b)) for a, b in plan.box] == [("0", "2048"), ("0", "2")]


def test_what_an_iteration_reads_is_not_private() -> None:
    """A private copy takes all that is added to a memory, also to elements that no other iteration has."""
    p = Program()
    bar = p.field("u", 402, derivative=BAR)
    with p.loop("i", 0, 400) as i:
        seed = p.load(bar, i + 2)
        p.store(bar, i + 2, value=0.0)
        p.add(bar, i.op("mod", 2), value=seed)
        p.add(bar, i + 2, value=seed * 0.5)
    assert plans(p.kernel())["u.bar"].kind == "atomic"


def test_wave_adjoint_is_a_window() -> None:
    p = Program()
    t, n = p.param("t"), 256
    bar = p.field("p", 256, n, n, derivative=BAR)
    with p.loop("i", 1, n - 1) as i, p.loop("j", 1, n - 1) as j:
        z = p.load(bar, t, i, j)
        p.store(bar, t, i, j, value=0.0)
        for di, dj in ((-1, 0), (1, 0), (0, -1), (0, 1), (0, 0)):
            p.add(bar, t - 1, i + di, j + dj, value=z * 0.2)
        p.add(bar, t - 2, i, j, value=-z)
    plan = plans(p.kernel())["p.bar"]
    assert (plan.kind, plan.axis, plan.lo, plan.hi, str(plan.base)) == ("window", 1, -1, 1, "0")


def test_springs_scatter_privately_into_one_time_step() -> None:
    p = Program()
    t = p.param("t")
    force, ends = p.field("force", 1024, 576, 2, entry=1), p.field("ends", 2162, 2, type=i32)
    with p.loop("s", 0, 2162) as s:
        for e in (0, 1):
            for c in (0, 1):
                p.add(force, t, p.load(ends, s, e), c)
    plan = plans(p.kernel())["force"]
    assert plan.kind == "private"
    assert [(str(a), str(b)) for a, b in plan.box] == [("t", "t + 1"), ("0", "576"), ("0", "2")]


def test_large_scatter_is_atomic_and_so_is_one_whose_old_value_is_used() -> None:
    p = Program()
    x, ends = p.field("x", 1 << 20), p.field("ends", 8, type=i32)
    with p.loop("s", 0, 8) as s:
        p.add(x, p.load(ends, s))
    assert plans(p.kernel())["x"].kind == "atomic"
    p = Program()
    count, y = p.field("count", type=i32), p.field("y", 8)
    with p.loop("s", 0, 8) as s:
        p.store(y, s, value=p.add(count, value=1, old=True).cast(f32))
    found = plans(p.kernel())
    assert found["count"].kind == "atomic"
    assert found["y"].kind == "plain"


def test_minimum_has_its_operation() -> None:
    p = Program()
    x, low = p.field("x", 8), p.field("low")
    with p.loop("i", 0, 8) as i:
        p.add(low, value=p.load(x, i), op="min")
    assert plans(p.kernel())["low"] == Plan("reduce", "min", ((),))


def test_buffers_of_an_iteration_need_no_plan() -> None:
    p = Program()
    with p.loop("i", 0, 8):
        local = p.private("local", 4)
        p.add(local, 0)
    assert plans(p.kernel()) == {}


def test_diagonal_neighbours_on_two_axes() -> None:
    p = Program()
    x = p.field("x", 600, 600)
    with p.loop("i", 1, 599) as i, p.loop("j", 1, 599) as j:
        p.add(x, j - 1, i + 1)
        p.add(x, j + 1, i - 2)
    plan = plans(p.kernel())["x"]
    assert (plan.kind, plan.axis, plan.lo, plan.hi) == ("window", 1, -2, 1)
