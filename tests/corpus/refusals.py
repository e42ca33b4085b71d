"""Programs that overwrite what their gradient needs, with the lines that read and that overwrite.

Each is a function that makes fields and kernels, and returns what to run under a tape, the loss, and the two
places as they are written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import dsim as ds


@dataclass
class Refusal:
    """What to run, and the lines that the error must quote."""

    run: Callable[[], object]
    loss: object
    read: str
    overwrite: str
    fields: list = field(default_factory=lambda: list(_FIELDS))


_FIELDS: list = []  # of the program that is being made


REFUSALS: dict[str, Callable[[], Refusal]] = {}


def refusal(build: Callable[[], Refusal]) -> Callable[[], Refusal]:
    """Puts a program on the list under the name of its function."""

    def made() -> Refusal:
        _FIELDS.clear()
        return build()

    REFUSALS[build.__name__] = made
    return build


def _field(*shape, start=1.0, dtype=ds.f64, needs_grad=True):
    made = ds.field(dtype, shape=shape, needs_grad=needs_grad)
    made.fill(start)
    if dtype == ds.f64 and shape:
        made.from_numpy(np.linspace(start, start + 0.3, made.array.size).reshape(shape))
    _FIELDS.append(made)
    return made


@refusal
def changed_later_in_the_kernel():
    x, b, loss = _field(2), _field(), _field()

    @ds.kernel
    def run():
        loss[None] = x[1] * b[None]
        b[None] += 100

    return Refusal(run, loss, "loss[None] = x[1] * b[None]", "b[None] += 100")


@refusal
def changed_by_the_next_launch():
    x, b, loss = _field(2), _field(2), _field()

    @ds.kernel
    def read():
        for i in x:
            loss[None] += x[i] * b[i]

    @ds.kernel
    def change():
        for i in x:
            b[i] = 7.0

    def run():
        read()
        change()

    return Refusal(run, loss, "loss[None] += x[i] * b[i]", "b[i] = 7.0")


@refusal
def changed_by_python():
    x, b, loss = _field(), _field(), _field()

    @ds.kernel
    def read():
        loss[None] += x[None] * b[None]

    def run():
        read()
        b[None] = 5.0

    return Refusal(run, loss, "loss[None] += x[None] * b[None]", "b[None] = 5.0")


@refusal
def filled_by_python():
    x, b, loss = _field(3), _field(3), _field()

    @ds.kernel
    def read():
        for i in x:
            loss[None] += x[i] * b[i]

    def run():
        read()
        b.fill(0.0)

    return Refusal(run, loss, "loss[None] += x[i] * b[i]", "b.fill(0.0)")


@refusal
def scaled_after_a_sum():
    x, loss = _field(3), _field()

    @ds.kernel
    def run():
        loss[None] += x[1] ** 2
        loss[None] *= x[2]

    return Refusal(run, loss, "loss[None] *= x[2]", "loss[None] *= x[2]")


@refusal
def sine_in_place():
    x, loss = _field(3), _field()

    @ds.kernel
    def sine():
        for i in x:
            x[i] = ds.sin(x[i])

    @ds.kernel
    def add_up():
        for i in x:
            loss[None] += x[i]

    def run():
        for _ in range(3):
            sine()
        add_up()

    return Refusal(run, loss, "x[i] = ds.sin(x[i])", "x[i] = ds.sin(x[i])")


@refusal
def square_in_place_twice():
    x, loss = _field(), _field()

    @ds.kernel
    def run():
        x[None] = x[None] * x[None]
        x[None] = x[None] * x[None]
        loss[None] = x[None]

    return Refusal(run, loss, "x[None] = x[None] * x[None]", "x[None] = x[None] * x[None]")


@refusal
def steps_in_place():
    x, v, loss = _field(2), _field(2), _field()

    @ds.kernel
    def step():
        for i in x:
            v[i] -= 0.1 * ds.sin(x[i])
        for i in x:
            x[i] += 0.1 * v[i]

    @ds.kernel
    def add_up():
        for i in x:
            loss[None] += x[i]

    def run():
        step()
        step()
        add_up()

    return Refusal(run, loss, "v[i] -= 0.1 * ds.sin(x[i])", "x[i] += 0.1 * v[i]")


@refusal
def sine_in_an_inner_loop_in_place():
    x, loss = _field(2), _field()

    @ds.kernel
    def run():
        for i in x:
            for _ in range(3):
                x[i] = ds.sin(x[i])
            loss[None] += x[i]

    return Refusal(run, loss, "x[i] = ds.sin(x[i])", "x[i] = ds.sin(x[i])")


@refusal
def flag_of_a_branch():
    x, loss, flag = _field(), _field(), _field(start=1, dtype=ds.i32, needs_grad=False)

    @ds.kernel
    def run():
        if flag[None] == 1:
            loss[None] += 3.0 * x[None]
        flag[None] = 0

    return Refusal(run, loss, "if flag[None] == 1:", "flag[None] = 0")


@refusal
def end_of_a_loop():
    x, loss, count = _field(), _field(), _field(start=3, dtype=ds.i32, needs_grad=False)

    @ds.kernel
    def run():
        for _ in range(count[None]):
            loss[None] += x[None]
        count[None] = 5

    return Refusal(run, loss, "for _ in range(count[None]):", "count[None] = 5")


@refusal
def index_that_moves_on():
    x, loss, at = _field(4), _field(), _field(start=0, dtype=ds.i32, needs_grad=False)

    @ds.kernel
    def run():
        for _ in range(3):
            loss[None] += x[at[None]] ** 2
            at[None] += 1

    return Refusal(run, loss, "loss[None] += x[at[None]] ** 2", "at[None] += 1")


@refusal
def through_indices_that_may_meet():
    x, loss, where = _field(4), _field(), _field(4, start=1, dtype=ds.i32, needs_grad=False)

    @ds.kernel
    def run():
        for i in range(4):
            loss[None] += x[i] ** 2
        for i in range(4):
            x[where[i]] = 2.0

    return Refusal(run, loss, "loss[None] += x[i] ** 2", "x[where[i]] = 2.0")


@refusal
def product_into_an_element():
    x, p, loss = _field(3), _field(), _field()

    @ds.kernel
    def run():
        for i in x:
            p[None] *= x[i]
        loss[None] = p[None]

    return Refusal(run, loss, "p[None] *= x[i]", "p[None] *= x[i]")


@refusal
def extreme_that_is_overwritten():
    x, m, loss = _field(3), _field(), _field()

    @ds.kernel
    def run():
        for i in x:
            ds.atomic_max(m[None], x[i] ** 2)
        loss[None] += m[None]
        m[None] = 0.0

    return Refusal(run, loss, "ds.atomic_max(m[None], x[i] ** 2)", "m[None] = 0.0")
