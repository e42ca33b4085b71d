"""Funcs evaluated at one point, and the derivatives of both modes there."""

import numpy as np

import dsim as ti


def gatherer(cases):
    """The decorator ``@case(*at, value=…, partials=…)``: it adds to `cases` a func of one or two numbers,
    where it is looked at, its value there and its partial derivatives."""

    def case(*at, value, partials):
        def add(f):
            cases[f.__name__] = (ti.func(f), at, value, partials)
            return f

        return add

    return case


def placed(f, at, real):
    """The fields of the numbers `at`, the field of the value, and the kernel that computes it."""
    ti.init(default_fp=real)
    x = [ti.field(real, shape=(), needs_grad=True) for _ in at]
    y = ti.field(real, shape=(), needs_grad=True)
    for field, start in zip(x, at, strict=True):
        field[None] = start
    return x, y, _of_two(f, *x, y) if len(at) == 2 else _of_one(f, *x, y)


def check_both_modes(case, real):
    """The value and the partial derivatives, in reverse and in forward mode, are those of the case."""
    f, at, value, partials = case
    x, y, kernel = placed(f, at, real)
    with ti.ad.Tape(y):
        kernel()
    np.testing.assert_allclose(y[None], value, rtol=1e-6)
    backwards = [field.grad[None] for field in x[: len(partials)]]
    forwards = []
    for n in range(len(partials)):
        with ti.ad.FwdMode(loss=y, param=x, seed=[float(n == k) for k in range(len(x))]):
            kernel()
        forwards.append(y.dual[None])
    np.testing.assert_allclose(backwards, partials, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(forwards, partials, rtol=1e-6, atol=1e-7)


def _of_one(f, x, y):
    @ti.kernel
    def run():
        y[None] = f(x[None])

    return run


def _of_two(f, a, b, y):
    @ti.kernel
    def run():
        y[None] = f(a[None], b[None])

    return run
