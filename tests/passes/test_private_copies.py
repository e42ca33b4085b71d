"""Kernels on private copies: the same values, and adjoints that repeat no writes."""

import numpy as np
import pytest

import dsim as ti
from dsim.autodiff import reverse, writes_again
from dsim.ir import sites
from dsim.ir.nodes import Accumulate, Store
from dsim.ir.walk import statements
from dsim.passes.private_copies import on_private_copies


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_a_kernel_on_copies_of_what_it_overwrites():
    s = ti.field(ti.f64, shape=(2, 3), needs_grad=True, name="s")
    t = ti.field(ti.f64, shape=(), needs_grad=True, name="t")

    @ti.kernel
    def step() -> float:
        ti.loop_config(serialize=True)
        for k in range(7):
            s[k % 2, k % 3] = ti.sin(s[k % 2, k % 3]) * s[(k + 1) % 2, 0] + t[None] * k
        t[None] += 1.0
        return t[None]

    form = step.primal
    keys = frozenset(m.key for m in form.kernel.memories)
    made = on_private_copies(form.kernel, keys)
    assert all(s.memory.private for s in statements(made.body) if isinstance(s, Accumulate))
    stored = [s.memory.name for s in statements(made.body) if isinstance(s, Store) and not s.memory.private]
    assert sorted(stored) == sorted(m.name for m in form.kernel.memories)

    start = np.linspace(0.1, 0.9, 6).reshape(2, 3)
    results = []
    for chosen in (form, form.on_private_copies(keys)[0]):
        s.from_numpy(start)
        t[None] = 0.25
        returned = chosen.run(())
        results.append((s.to_numpy().tolist(), t[None], returned))
    assert results[0] == results[1]
    assert results[0][0] != start.tolist()

    assert writes_again(reverse(form.kernel, keys, entry=keys).kernel)
    again = reverse(sites.number(made), keys, entry=keys)
    assert not writes_again(again.kernel)
    assert form.on_private_copies(keys) is form.on_private_copies(keys)
