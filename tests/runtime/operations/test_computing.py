"""Operations, and their rules, that launch kernels or write to fields are refused."""

import numpy as np
import pytest

import dsim as ds
from tests.operations.programs import made, room


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


@pytest.mark.parametrize("write", ["launch", "number", "array"])
@pytest.mark.parametrize("mode", ["reverse", "forward", "transform"])
def test_a_rule_that_writes_to_a_field_is_refused(mode, write):
    """Adjoints of earlier calls would read what it wrote."""
    b, x, loss = made([1.0, 2.0]), room(2), room()

    @ds.kernel
    def cubes():
        for i in x:
            loss[None] += x[i] ** 3

    writes = {
        "launch": cubes,
        "number": lambda: b.__setitem__(0, 7.0),
        "array": lambda: b.from_numpy(np.zeros(2)),
    }[write]

    @ds.ad.operation
    def same(a):
        return a * 1.0

    @same.vjp
    def _(a, /, *, adjoint):
        writes()
        return adjoint

    @same.jvp
    def _(a, /, *, out, tangents):
        writes()
        return tangents

    def run():
        same(b, out=x)
        cubes()

    before = b.to_numpy()
    refused = pytest.raises(
        ds.GradientError, match=r"`same \((vjp|jvp)\)` launches a kernel, or writes to a field"
    )
    if mode == "reverse":
        with refused, ds.Tape(loss):
            run()
    elif mode == "forward":
        with refused, ds.ad.FwdMode(loss, b, seed=[1.0, 0.0]):
            run()
    else:
        with refused:
            ds.grad(run, wrt=b, out=loss)()
    assert np.array_equal(b.to_numpy(), before)
