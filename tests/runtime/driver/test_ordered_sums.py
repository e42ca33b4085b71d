"""A sum whose old value each addition uses: its order is the loop's, in both directions."""

from __future__ import annotations

import numpy as np
import pytest

import dsim as ti

N = 6


def test_the_gradient_of_a_running_sum_by_returned_values():
    x, before = (ti.field(ti.f64, shape=N, needs_grad=True) for _ in range(2))
    total, loss = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def run():
        for i in range(N):
            before[i] = ti.atomic_add(total[None], x[i])

    @ti.kernel
    def weigh():
        for i in range(N):
            loss[None] += (i + 1) * before[i]

    x.from_numpy(np.arange(1.0, N + 1))
    with pytest.warns(UserWarning, match="depends on the iterations' order"):
        run()
    total[None] = 0.0
    with ti.ad.Tape(loss):
        run()
        weigh()
    np.testing.assert_array_equal(before.to_numpy(), [0, 1, 3, 6, 10, 15])
    later = [sum(j + 1 for j in range(i + 1, N)) for i in range(N)]
    np.testing.assert_array_equal(x.grad.to_numpy(), later)
    assert not run.primal.kernel.body.statements[0].parallel


def test_a_counter_that_hands_out_places_stays_parallel():
    count = ti.field(ti.i32, shape=())
    place = ti.field(ti.i32, shape=N)

    @ti.kernel
    def run():
        for _ in range(N):
            ti.atomic_add(place[ti.atomic_add(count[None], 1)], 1)

    run()
    np.testing.assert_array_equal(place.to_numpy(), np.ones(N))
    assert run.primal.kernel.body.statements[0].parallel
