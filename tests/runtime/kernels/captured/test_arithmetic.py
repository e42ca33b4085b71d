"""What launches compute with captured numbers that have changed, and what needs another compilation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import dsim as ds
from dsim.diagnostics import CompilationError
from dsim.runtime.state import settings


@pytest.fixture(params=["cpu", "reference"], autouse=True)
def backend(request):
    ds.init(default_fp=ds.f32, fast_math=False)
    settings.change(replace(settings.current(), backend=request.param))


def test_a_local_that_takes_its_value_from_a_sequence():
    """``[1.0, 2.0] * n`` repeats the list, whether or not `n` has changed."""
    n = 1

    @ds.kernel
    def norm() -> ds.f64:
        return ds.Vector([1.0, 2.0] * n).norm()

    for n in (1, 2, 3, 2):
        assert norm() == pytest.approx(math.sqrt(5 * n))


@pytest.mark.parametrize("change", [1, 0.5])
def test_arithmetic_that_python_refuses(change):
    """What a launch cannot compute is compiled as a constant, and refused there."""
    n = change

    @ds.kernel
    def run() -> ds.f64:
        return 1 / n

    assert run() == 1 / change
    n = 2 * change
    assert run() == 1 / n
    n = type(change)(0)
    for _ in "12":
        with pytest.raises(CompilationError, match="this divides by zero"):
            run()
    n = 4 * change
    assert run() == 1 / n


def test_integers_that_become_too_large():
    n = 1

    @ds.kernel
    def run() -> ds.i64:
        return n * 2

    assert run() == 2
    for n in (2, 2**31, 2**40, 5):
        assert run() == 2 * n
    n = 2**62
    with pytest.warns(ds.DsimWarning, match="9223372036854775808 does not fit"):
        assert run() == -(2**63)
    n = 3
    assert run() == 6


def test_stored_integers_that_do_not_fit():
    n, x = 1, ds.field(ds.i32, shape=())

    @ds.kernel
    def run():
        x[None] = n * n

    for n in (1, 2, 46340):
        run()
        assert x[None] == n * n
    n = 46341
    with pytest.warns(ds.DsimWarning, match="2147488281 does not fit"):
        run()
    assert x[None] == 46341**2 - 2**32


def test_a_power_that_would_fill_the_memory():
    n = 2

    @ds.kernel
    def run() -> ds.f64:
        return 3**n % 7

    assert run() == 2.0
    n = 3
    assert run() == 6.0
    n = 10**12
    with pytest.raises(CompilationError, match="more than 4096 bits"):
        run()


def test_a_condition_needs_no_further_compilation():
    t, x = 0.0, ds.field(ds.f64, shape=())

    @ds.kernel
    def run():
        if t > 0.5:
            x[None] += t * 0.1
        else:
            x[None] -= 1.0

    run()
    t = 0.1
    run()
    form = run.primal
    for t in (0.3, 0.7, 0.2):  # noqa: B007 (the kernel reads it)
        run()
        assert run.primal is form
    assert x[None] == -1.0 - 1.0 - 1.0 + 0.7 * 0.1 - 1.0


def test_indices_that_are_proved_to_differ():
    """Sums of integers are left to the kernel: `2 * n` is known to exceed `n - 1`, or the loop would warn."""
    n, x = 4, ds.field(ds.f64, shape=32)

    @ds.kernel
    def run():
        for i in range(n):
            x[i + 2 * n] = x[i] + x[i + (n - 1)] - x[i - -n]

    for n in (4, 6, 7):
        x.from_numpy(np.arange(32.0))
        run()
        assert x.to_numpy()[2 * n : 3 * n].tolist() == [i - 1.0 for i in range(n)]


def test_printed_numbers(capsys):
    w, n = 0.1, 3

    @ds.kernel
    def run():
        print(w, n, w * n, f"{w:.3f}", n > 2)

    for w, n in ((0.1, 3), (0.7, 1), (1 / 3, 5)):
        run()
        assert capsys.readouterr().out.strip() == f"{w} {n} {w * n} {w:.3f} {n > 2}"


def test_a_nan_of_a_launch_whose_numbers_have_changed():
    x, loss = ds.field(ds.f64, shape=2, needs_grad=True), ds.field(ds.f64, shape=(), needs_grad=True)
    w = 0.5

    @ds.kernel
    def run():
        for i in x:
            loss[None] += ds.log(x[i] * w)

    def launched():
        nonlocal w
        with ds.Tape(loss, find_nan=True):
            for w in (-0.5, 0.25, 0.125):  # noqa: B007 (the kernel reads it)
                x.fill(0.5)
                run()

    with pytest.raises(ds.NonFiniteError, match=r"ds.log\(x\[i\] \* w\)"):
        launched()


@pytest.mark.parametrize("exponents", [(0.5, 1.5, 2), (2.0, 3.0, 2), (2, 0.5, 3), (0.5, 1.5, True)])
def test_an_exponent_that_changes_its_type(exponents, monkeypatch):
    x = ds.field(ds.f64, shape=())
    x[None] = 3.0

    @ds.kernel
    def power() -> ds.f64:
        return x[None] ** EXPONENT

    for exponent in exponents:
        monkeypatch.setitem(globals(), "EXPONENT", exponent)
        assert power() == pytest.approx(3.0**exponent, rel=1e-6)


EXPONENT = 1.0
