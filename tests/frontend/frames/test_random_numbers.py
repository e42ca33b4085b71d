"""Random numbers in kernels: which ones differ, and their dependencies."""

from __future__ import annotations

import numpy as np

from tests.frontend.dialect import f, lowered, run, ti


def test_random_numbers_depend_on_launch_iteration_and_draw() -> None:
    x = f(50, 2)

    def k():
        for i, j in ti.ndrange(50, 2):
            x[i, j] = ti.random()

    run(k, launch=1)
    first = x.values.copy()
    assert len(np.unique(first)) == 100
    assert 0.3 < first.mean() < 0.7
    assert first.min() >= 0.0
    assert first.max() < 1.0
    run(k, launch=2)
    assert not np.any(x.values == first)
    run(k, launch=1)
    assert np.all(x.values == first)


def test_random_numbers_in_loops_and_branches_all_differ() -> None:
    x = f(400)
    count = f(dtype=ti.i32)

    @ti.func
    def put(a):
        x[count[None]] = a
        count[None] += 1

    def k():
        put(ti.random())
        for i in range(5):
            put(ti.random())
            for j in range(3):
                if j != i:
                    put(ti.random())
                put(ti.random() if j > 1 else 0.25 + ti.random())
            n = 0
            while n < i:
                put(ti.random())
                n += 1
        for i in range(5):
            for _ in ti.static(range(2)):
                put(ti.random())
        n = 0
        while n < 3:
            for _ in range(4):
                put(ti.random())
            n += 1
        put(ti.random())
        a = [ti.random() for _ in range(2)]
        put(a[0])
        put(a[1])
        put(ti.random())

    run(k, launch=7)
    drawn = x.values[: int(count.values)]
    assert len(drawn) == 1 + 5 + 12 + 15 + 10 + 10 + 12 + 1 + 3
    assert len(np.unique(drawn)) == len(drawn)


def test_random_types() -> None:
    n = f(4, dtype=ti.i64)
    y = f(300)

    def k():
        n[0] = ti.random(ti.i32)
        n[1] = ti.random(int)
        n[2] = ti.random(ti.i64)
        n[3] = ti.random(ti.u1)
        for i in range(300):
            y[i] = ti.randn()

    run(k, launch=3)
    assert len(set(n.values[:3].tolist())) == 3
    assert abs(n.values[2]) > 2**33
    assert n.values[3] in (0, 1)
    assert abs(y.values.mean()) < 0.2
    assert 0.8 < y.values.std() < 1.2


def test_the_launch_is_the_last_parameter() -> None:
    x = f(1)

    def k(a: float):
        x[0] = a + ti.random()

    result = lowered(k)
    assert result.random
    assert [p.name for p in result.kernel.params] == ["a", "launch"]
