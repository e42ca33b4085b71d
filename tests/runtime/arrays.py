"""Small kernels with array parameters, and their arguments."""

from dataclasses import replace

import numpy as np

import dsim as ti
from dsim.runtime.state import settings


def start(backend):
    """A fresh start, in f64, on this backend."""
    ti.init(default_fp=ti.f64)
    settings.change(replace(settings.current(), backend=backend))


def weights():
    """An ndarray of 1, 2 and 3 with a gradient."""
    made = ti.ndarray(ti.f64, 3, needs_grad=True)
    made.from_numpy(np.array([1.0, 2.0, 3.0]))
    return made


@ti.kernel
def weigh(w: ti.types.ndarray(), c: ti.types.ndarray(), s: ti.types.ndarray()):
    for i in w:
        s[None] += c[i] * w[i] ** 2


@ti.kernel
def squares(a: ti.types.ndarray(), b: ti.types.ndarray()):
    for i in a:
        b[i] = a[i] * a[i]


@ti.kernel
def total(a: ti.types.ndarray(), s: ti.types.ndarray()):
    for i in a:
        s[None] += a[i]


@ti.kernel
def square_in_place(a: ti.types.ndarray()):
    for i in a:
        a[i] = a[i] * a[i]


@ti.kernel
def scale(a: ti.types.ndarray(), factor: float):
    for index in ti.grouped(a):
        a[index] *= factor
