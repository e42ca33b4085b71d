"""Kernels with kink probes: fields, a run under a tape, and the reported kinks."""

import numpy as np

import dsim as ds
from dsim.runtime.kernels.watching import Watching, watch
from dsim.runtime.launching.probe_buffers import Kinked


def fields(*values, shape=None):
    """A field for each array of values, all with a gradient, and a loss."""
    made = []
    for v in values:
        x = ds.field(ds.f64, shape=np.shape(v), needs_grad=True)
        x.from_numpy(np.array(v, float))
        made.append(x)
    return (*made, ds.field(ds.f64, shape=(), needs_grad=True))


def taped(kernel, loss) -> Watching:
    watching = watch(kernel)
    with ds.Tape(loss):
        watching()
    return watching


def told(found: list[Kinked]):
    return [(k.slot.op, k.met, k.times, k.where) for k in found]
