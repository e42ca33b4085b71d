"""Random programs of stencils on two axes whose adjoints copy an adjoint on their way: rows are those of a
sweep per call."""

import numpy as np
import pytest

import dsim as ti
from dsim.backends.cpu.row_copies import RowCopies
from dsim.runtime.driver import pipeline
from dsim.runtime.launching.native_replay import CopyingForm
from dsim.runtime.sweeping import adjoint_rows, repeated_sweeps
from dsim.runtime.sweeping.fused_rows import fused
from tests.runtime.taping import same, single

pytestmark = pytest.mark.slow


@pytest.fixture
def replays(monkeypatch):
    """What was fused: the launches of each table."""
    monkeypatch.setattr(adjoint_rows, "LARGE", 0)
    monkeypatch.setattr(pipeline, "thread_count", lambda: 2)  # on one core, too
    made = []
    monkeypatch.setattr(repeated_sweeps, "fused", lambda *args: made.append(fused(*args)) or made[-1])
    return made


@ti.kernel
def move(a: ti.template(), b: ti.template()):
    for i, j in a:
        a[i, j] += 0.2 * b[i, j]


@ti.kernel
def some(a: ti.template(), b: ti.template()):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if (i + j) % 3 == 1:
                a[i, j] = 0.5 * b[i, j]


def stencil(a, b, random):
    """A kernel that reads neighbours of `b` up to three elements away, inside of a border."""
    width = int(random.integers(1, 4))
    around = [tuple(random.integers(-width, width + 1, 2).tolist()) for _ in range(random.integers(1, 5))]
    above, below, left, right = random.integers(width, width + 4, 4).tolist()
    rows, columns = a.shape
    factors = random.normal(size=len(around)).tolist()

    @ti.kernel
    def gather():
        for i, j in ti.ndrange((above, rows - below), (left, columns - right)):
            s = 0.0
            for k in ti.static(range(len(around))):
                s += factors[k] * b[i + around[k][0], j + around[k][1]]
            a[i, j] += 0.1 * s

    return gather


@pytest.mark.parametrize("seed", range(8))
def test_random_stencils(replays, seed):
    random = np.random.default_rng(seed)
    real = ti.f64 if seed % 2 else ti.f32
    ti.init(default_fp=real, deterministic=seed % 3 == 0)
    shape = int(random.integers(500, 900)), int(random.integers(70, 100))  # more than 128 KiB
    fields = [ti.field(real, shape=shape, needs_grad=True, name=name) for name in "xyz"]
    for f in fields:
        f.from_numpy(random.normal(size=shape).astype(real.numpy))
    loss = single("loss")
    calls = []
    for kind in random.permutation([0, 0, 1, 2]):
        a, b = (fields[k] for k in random.permutation(3)[:2])
        calls.append([stencil(a, b, random), lambda a=a, b=b: move(a, b), lambda a=a, b=b: some(a, b)][kind])

    @ti.kernel
    def total():
        for i, j in fields[0]:
            loss[None] += fields[0][i, j] + 0.5 * fields[1][i, j] - 0.25 * fields[2][i, j]

    with ti.Tape(loss) as tape:
        for _ in range(3):
            for call in calls:
                call()
        total()
    for f in fields:
        for every in (1, len(calls)):
            tape.gradients(f, every=every)
            found = tape.gradients(f, every=every)
            for after, values in zip(found.calls.tolist(), found, strict=True):
                assert same([values], [tape.gradient(f, after=after)])
    launches = [one for table in replays for one, _ in table]
    assert any(isinstance(one, CopyingForm) for one in launches)
    assert sum(isinstance(one, RowCopies) for one in launches) < len(launches) / 3
