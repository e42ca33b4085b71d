"""Ctrl-C or an error on entry of a tape or of forward mode."""

from __future__ import annotations

import pytest

import dsim as ti
from dsim.diagnostics import Diagnostic


@pytest.mark.parametrize("kind", ["tape", "forward mode"])
@pytest.mark.parametrize("raised", [KeyboardInterrupt(), ti.GradientError(Diagnostic("argument", "no"))])
def test_a_block_that_was_not_quite_entered_is_not_open(monkeypatch, kind, raised):
    x = ti.field(ti.f64, shape=4, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)
    x.fill(3.0)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2

    def block():
        return ti.Tape(loss) if kind == "tape" else ti.FwdMode(loss, x, seed=[1.0] * 4)

    def broken(*_):
        raise raised

    with ti.Tape(loss) as tape:
        total()
    entered = block()
    with monkeypatch.context() as breaking:
        breaking.setattr(*((ti.Tape, "set_all") if kind == "tape" else (ti.FwdMode, "_seed")), broken)
        with pytest.raises(type(raised)), entered:
            pytest.fail("the block began")
    x.grad.fill(0.0)
    tape.backward()  # refused inside of another block
    assert x.grad.to_numpy().tolist() == [6.0] * 4
    loss[None] = 0.0
    with block():
        total()
    assert loss[None] == 36
    assert (loss.dual[None] if kind == "forward mode" else x.grad.to_numpy().sum()) == 24
