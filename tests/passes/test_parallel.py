"""Loops are marked by what the analysis finds in this very kernel, or by what the person said."""

from __future__ import annotations

from dsim.ir.nodes import For, Kernel
from dsim.ir.walk import statements
from dsim.passes.parallel import parallel
from tests.building import Building, marked_parallel


def flags(kernel: Kernel) -> dict[str, bool]:
    return {s.index.name: s.parallel for s in statements(kernel.body) if isinstance(s, For)}


def three_loops() -> Kernel:
    k = Building()
    x, U = k.field("x", 8), k.field("U")
    with k.loop("own", 0, 8) as i:
        k.store(x, i.i, k.load(x, i.i) * 2.0)
    with k.loop("neighbour", 1, 8) as i:
        k.store(x, i.i, k.load(x, i.i - 1))
    with k.loop("summed", 0, 8) as i, k.loop("inner", 0, 4):
        k.accumulate(U, k.load(x, i.i))
    return k.kernel()


def test_independent_iterations_are_parallel() -> None:
    assert flags(parallel(three_loops())) == {"own": True, "neighbour": False, "summed": True, "inner": True}


def test_what_a_transform_left_is_looked_at_again() -> None:
    assert not flags(parallel(marked_parallel(three_loops())))["neighbour"]


def test_what_the_person_said_goes_first() -> None:
    kernel = three_loops()
    own, neighbour = (s.index for s in kernel.body.statements[:2] if isinstance(s, For))
    found = flags(parallel(kernel, {own: False, neighbour: True}))
    assert (found["own"], found["neighbour"], found["summed"]) == (False, True, True)
