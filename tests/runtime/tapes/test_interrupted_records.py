"""Ctrl-C while a tape records a launch, caught in its block: the tape has no gradient, and says so."""

import pytest

import dsim as ds
from dsim.diagnostics import GradientError
from dsim.runtime.saving import save_policy
from dsim.runtime.saving.save_policy import RecordingPlan, SavePolicy


@pytest.mark.parametrize("where", ["bind", "save", "begin"])
def test_in_the_second_launch(where, monkeypatch):
    x, y = ds.field(ds.f64, shape=(), needs_grad=True), ds.field(ds.f64, shape=(), needs_grad=True)

    @ds.kernel
    def square():
        y[None] += x[None] ** 2

    @ds.kernel
    def grow():
        x[None] *= 2.0

    owner = RecordingPlan if where == "bind" else SavePolicy
    original, came = getattr(owner, where), []

    def interrupted(self, *args):
        if not came:
            came.append(True)
            raise KeyboardInterrupt
        return original(self, *args)

    def run():
        square()
        with monkeypatch.context() as patch:
            patch.setattr(owner, where, interrupted)
            with pytest.raises(KeyboardInterrupt):
                grow()
        grow()
        square()

    x[None] = 3.0
    with pytest.raises(GradientError, match="failed, and the program continued"), ds.Tape(y):
        run()
    x[None] = 3.0
    with ds.Tape(y):
        square()
        grow()
        square()
    assert came
    assert x.grad[None] == 2 * 3.0 + 8 * 3.0


def test_hulls_are_kept_when_all_is_ready(monkeypatch):
    """An interrupt in between leaves the policy as it was."""
    x, y = ds.field(ds.f64, shape=(), needs_grad=True), ds.field(ds.f64, shape=(), needs_grad=True)

    @ds.kernel
    def square():
        y[None] += x[None] ** 2

    def interrupted(*_):
        raise KeyboardInterrupt

    def run():
        square()
        policy = tape._policy
        with monkeypatch.context() as patch:
            patch.setattr(save_policy.RecordingPlan, "bind", interrupted)
            with pytest.raises(KeyboardInterrupt):
                policy.begin()
        assert not policy.begun
        policy.begin()
        assert policy.begun
        square()

    x[None] = 3.0
    with ds.Tape(y) as tape:
        run()
    assert x.grad[None] == 12.0
