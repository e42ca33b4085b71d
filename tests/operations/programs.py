"""Programs around one operation: a loss that is not linear in its results."""

import numpy as np

import dsim as ds
from tests.second_orders import assert_second_orders


def made(values, dtype=ds.f64, needs_grad=True):
    """A field with these numbers."""
    values = np.asarray(values, dtype.numpy)
    field = ds.field(dtype, shape=values.shape, needs_grad=needs_grad)
    field.from_numpy(values)
    return field


def room(*shape, dtype=ds.f64):
    """A field for results."""
    return ds.field(dtype, shape=shape, needs_grad=True)


class Summed:
    """A field with these numbers, for operations in place, and `total`, which adds them to a loss."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.x, self.loss = made(values), room()
        x, loss = self.x, self.loss

        @ds.kernel
        def total():
            for i in x:
                loss[None] += x[i]

        self.total = total

    def gradient(self, run):
        """That of the loss by the numbers, after `run`."""
        self.x.from_numpy(self.values)
        with ds.ad.Tape(self.loss):
            run()
        return self.x.grad.to_numpy().tolist()


def around(call, outputs, rng):
    """A program that calls `call`, which writes `outputs`, and the loss that it then computes."""
    loss = room()
    losses = []
    for out in outputs:
        weights = made(rng.normal(size=out.shape), needs_grad=False)
        losses.append(_loss(loss, out, weights))

    def run():
        call()
        for kernel in losses:
            kernel()

    return run, loss


def _loss(loss, out, weights):
    @ds.kernel
    def weigh():
        for at in ds.grouped(out):
            loss[None] += weights[at] * out[at] + 0.3 * weights[at] * out[at] ** 2

    return weigh


def assert_differentiates(call, params, outputs, rng):
    """Both modes agree with differences, and the second derivatives with each other."""
    run, loss = around(call, outputs, rng)
    found = ds.check_grad(run, wrt=params, loss=loss, order=2)
    assert found, found
    for param in params:
        assert_second_orders(run, param, loss, rng)
