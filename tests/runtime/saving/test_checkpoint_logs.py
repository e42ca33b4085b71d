"""Checkpoints of loops in which each step writes another row of a field."""

import numpy as np
import pytest

import dsim as ti
from dsim.runtime.saving import checkpoints


def rows(steps, n=5):
    """Gradients of a loss that reads a row which an early step wrote, with all states kept."""
    ti.init(default_fp=ti.f64, deterministic=True)
    x = ti.field(ti.f64, shape=n, needs_grad=True)
    history = ti.field(ti.f64, shape=(steps, n), needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def move(t: int):
        for i in x:
            x[i] = ti.sin(x[i]) + 0.1
        for i in x:
            history[t, i] = x[i] ** 2

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] * history[3, i]

    def gradient(**options):
        x.from_numpy(np.linspace(0.5, 1.0, n))
        history.fill(0.0)
        with ti.Tape(loss) as tape:
            for t in tape.steps(range(steps), **options) if options else range(steps):
                move(t)
            total()
        return x.grad.to_numpy(), history.to_numpy(), tape

    return gradient


@pytest.mark.parametrize("order", [{"budget": "1MB"}, {"slots": 40}, {"slots": 7}])
def test_gradients_and_rows_are_those_of_the_loop(order):
    gradient = rows(40)
    expected, after, _ = gradient()
    found, still, _ = gradient(**order)
    assert (found == expected).all()
    assert (still == after).all()


def test_the_way_back_compares_as_many_boxes_for_each_step_of_a_long_loop(monkeypatch):
    """Logs that take over rows of later ones hold them as one box."""
    compared = [0]
    outside = checkpoints.outside

    def counted(boxes, taken):
        boxes, taken = list(boxes), list(taken)
        compared[0] += len(boxes) * max(len(taken), 1)
        return outside(boxes, taken)

    monkeypatch.setattr(checkpoints, "outside", counted)
    found = []
    for steps in (40, 80):
        compared[0] = 0
        rows(steps)(budget="1MB")
        found.append(compared[0])
    assert found[1] < 2.5 * found[0]


def test_the_size_of_a_log_is_that_of_what_it_holds(monkeypatch):
    """Also of the values that it took over."""
    sizes = []
    absorb = checkpoints.Checkpoint.absorb

    def checked(self, later):
        both = self.bytes + later.bytes
        absorb(self, later)
        held = sum(
            np.prod([high - low for low, high in box]) * 8 for boxes in self.regions.values() for box in boxes
        )
        sizes.append((self.bytes, int(held), later.bytes))
        assert self.bytes <= both

    monkeypatch.setattr(checkpoints.Checkpoint, "absorb", checked)
    rows(30)(budget="1MB")
    assert len(sizes) >= 20
    assert all(size == held and rest == 0 for size, held, rest in sizes)
