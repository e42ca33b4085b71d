"""Small programs under a tape."""

import dsim as ti


def single(name, needs_grad=True):
    return ti.field(ti.f64, shape=(), needs_grad=needs_grad, name=name)


def taped(loss, *calls, **options):
    with ti.Tape(loss, **options):
        for call in calls:
            call()


def cubed():
    """x, y and a kernel ``y = x³``."""
    x, y = single("x"), single("y")
    x[None] = 2.0

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    return x, y, cube
