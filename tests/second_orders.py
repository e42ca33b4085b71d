"""Second derivatives along two directions, in the four compositions of tapes and forward modes."""

import numpy as np

import dsim as ds


def second_orders(run, param, loss, v, w):
    """``v · H · w``: forward over reverse and over forward, then reverse over forward and over reverse."""
    found = []
    with ds.ad.FwdMode(None, param, seed=v), ds.ad.Tape(loss):
        run()
    found.append(float((param.grad.dual.to_numpy() * w).sum()))
    with ds.ad.FwdMode(loss, param, seed=v), ds.ad.FwdMode(loss, param, seed=w):
        run()
    found.append(float(loss.dual.dual.to_numpy().sum()))
    found.append(_reverse_over_forward(run, param, loss, v, w))
    found.append(_reverse_over_reverse(run, param, loss, v, w))
    return found


def _reverse_over_forward(run, param, loss, v, w):
    outer = ds.field(ds.f64, shape=(), needs_grad=True)
    assert loss.dual is not None

    @ds.kernel
    def slope():
        outer[None] = loss.dual[None]

    with ds.ad.Tape(outer):
        with ds.ad.FwdMode(loss, param, seed=v):
            run()
        slope()
    return float((param.grad.to_numpy() * w).sum())


def _reverse_over_reverse(run, param, loss, v, w):
    outer = ds.field(ds.f64, shape=(), needs_grad=True)
    direction = ds.field(ds.f64, shape=param.shape)
    direction.from_numpy(v)

    @ds.kernel
    def along():
        for at in ds.grouped(param):
            outer[None] += param.grad[at] * direction[at]

    with ds.ad.Tape(outer):
        with ds.ad.Tape(loss):
            run()
        along()
    return float((param.grad.to_numpy() * w).sum())


def assert_second_orders(run, param, loss, rng):
    """All compositions agree, in both orders of the directions, to 1e-10 of their size."""
    v, w = rng.normal(size=param.shape), rng.normal(size=param.shape)
    found = second_orders(run, param, loss, v, w) + second_orders(run, param, loss, w, v)
    assert np.ptp(found) <= 1e-10 * max(np.abs(found))
    assert max(np.abs(found)) > 0
