"""Python objects that kernels iterate over: `range`, `ndrange`, containers, as they are at each launch."""

from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import CompilationError


@pytest.fixture
def x():
    ti.init(default_fp=ti.f64)
    return ti.field(ti.i32, shape=8)


def marks(x, run):
    x.fill(0)
    run()
    return np.flatnonzero(x.to_numpy()).tolist()


class Own:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)


@pytest.mark.parametrize("kind", [range, ti.ndrange])
def test_a_range_that_changes(x, kind):
    r, holder = kind(2), SimpleNamespace(r=kind(3))

    @ti.kernel
    def unrolled():
        for i in ti.static(r):
            x[i] = 1

    @ti.kernel
    def of_attribute():
        for i in ti.static(holder.r):
            x[i] = 1

    @ti.kernel
    def counted():
        for i in r:
            x[i] = 1

    @ti.kernel
    def indices():
        for at in ti.grouped(r):
            x[at] = 1

    kernels = (unrolled, counted, indices)
    assert [marks(x, k) for k in kernels] == [[0, 1]] * 3
    r = kind(4)
    assert [marks(x, k) for k in kernels] == [[0, 1, 2, 3]] * 3
    assert marks(x, of_attribute) == [0, 1, 2]
    holder.r = kind(1)
    assert marks(x, of_attribute) == [0]


def test_ranges_with_a_first_index_and_a_step(x):
    r, grid = range(6, 1, -2), ti.ndrange((2, 4), (1, 3))

    @ti.kernel
    def counted():
        for i in r:
            x[i] = 1

    @ti.kernel
    def pairs():
        for i, j in grid:
            x[i * j] = 1

    @ti.kernel
    def inside() -> ti.i32:
        n = 0
        for i in range(8):
            if i in ti.static(r):
                n += i
        return n

    assert marks(x, counted) == [2, 4, 6]
    assert marks(x, pairs) == [2, 3, 4, 6]
    assert inside() == 12
    r = range(3)
    assert inside() == 3


def test_offsets_that_a_function_gives(x):
    def offsets():
        return ti.ndrange(3, 2)

    @ti.kernel
    def unrolled():
        for at in ti.static(ti.grouped(offsets())):
            x[at[0] + 3 * at[1]] = at.n

    assert marks(x, unrolled) == [0, 1, 2, 3, 4, 5]


def test_a_plain_function_goes_through_a_range_as_it_is():
    rows, order = [[1], [1, 2], [1, 2, 3]], range(1, 3)

    def lengths():
        n = 0
        for i in order:
            n += len(rows[i])
        return n

    @ti.kernel
    def run() -> ti.i32:
        return lengths()

    assert run() == 5


@pytest.mark.parametrize("make", [deque, Own, lambda items: dict.fromkeys(items).keys()])
def test_containers_that_change(x, make):
    things = make([1, 2])

    @ti.kernel
    def unrolled():
        for i in ti.static(things):
            x[i] = 1

    assert marks(x, unrolled) == [1, 2]
    things = make([5])
    assert marks(x, unrolled) == [5]
    assert marks(x, unrolled) == [5]


def test_a_container_that_grows(x):
    things = deque([1])

    @ti.kernel
    def unrolled():
        for i in ti.static(things):
            x[i] = 1

    assert marks(x, unrolled) == [1]
    things.append(3)
    assert marks(x, unrolled) == [1, 3]


def test_what_can_be_gone_through_once(x):
    things = (i for i in range(3))

    @ti.kernel
    def unrolled():
        for i in ti.static(things):
            x[i] = 1

    with pytest.raises(CompilationError, match="`things` can be iterated over only once") as info:
        unrolled()
    assert "help: make a list of it outside the kernel" in str(info.value)
    assert next(things) == 0


def test_a_choice_between_loops_at_compile_time(x):
    many = True

    @ti.kernel
    def run(n: int):
        for i in range(n) if ti.static(many) else ti.static(range(3)):
            x[i] = 1

    @ti.kernel
    def inside(n: int):
        for _ in range(1):
            for i in ti.static(range(2)) if ti.static(not many) else ti.grouped(ti.ndrange(n)):
                x[i] = 1

    assert [marks(x, lambda k=k: k(5)) for k in (run, inside)] == [[0, 1, 2, 3, 4]] * 2
    many = False
    assert [marks(x, lambda k=k: k(5)) for k in (run, inside)] == [[0, 1, 2], [0, 1]]


def test_a_grid_without_axes():
    total = ti.field(ti.i32, shape=())

    @ti.kernel
    def run(shape: ti.template()):
        for at in ti.grouped(ti.ndrange(*shape)):
            total[None] += 1 + at.n
        for at in ti.static(ti.grouped(ti.ndrange(*shape))):
            total[None] += 10 * (1 + at.n)

    run(())
    assert total[None] == 11
