"""Formats of printed values, in machine code and in the reference."""

# ruff: noqa: F507, F523, F524, F525, UP031, UP032 (the formats are what is tested)

from dataclasses import replace

import pytest

import dsim as ti
from dsim.runtime.state import settings


@pytest.fixture(autouse=True, params=["cpu", "reference"])
def _backend(request):
    settings.change(replace(settings.current(), default_fp=ti.f64, backend=request.param))


def printed(capsys, run, *args):
    run(*args)
    return capsys.readouterr().out


def test_format_strings(capsys):
    @ti.kernel
    def run(a: float, n: int, b: ti.u1, u: ti.u8):
        print(f"a={a:.2f} n={n:04d} {a:e} {n:x} {a!r} {b} {u:>5}|{1.5:6.1f}|{{}}")
        print(f"{a=}, {n + 1=:3d}")

    assert printed(capsys, run, 1.5, 27, True, 200) == (
        "a=1.50 n=0027 1.500000e+00 1b 1.5 True   200|   1.5|{}\na=1.5, n + 1= 28\n"
    )


def test_the_percent_operator(capsys):
    @ti.kernel
    def run(a: float, n: int):
        print("%.2f %d %s 100%% %5.1f|" % (a, n, a, 2.25), "%g" % a)

    assert printed(capsys, run, 1.5, 7) == "1.50 7 1.5 100%   2.2| 1.5\n"


def test_the_method_format(capsys):
    @ti.kernel
    def run(a: float, n: int):
        print("{:.3f} {}".format(a, n), "{1} {0:.1f} {{}} {m:03d}".format(a, n, m=n + 1), sep="|")

    assert printed(capsys, run, 1.5, 7) == "1.500 7|7 1.5 {} 008\n"


def test_names_between_empty_braces(capsys):
    @ti.kernel
    def run(a: int):
        print("{k} {} {k} {}".format(a, 2, k=9), "{} {k}".format(a, 2, k=3), "{1} {1}".format(a, 2, 3))

    assert printed(capsys, run, 1) == "9 1 9 2 1 3 2 2\n"


def test_vectors_and_matrices_entry_by_entry(capsys):
    @ti.kernel
    def run(a: float):
        v = ti.Vector([a, 2.0])
        print(f"{v:.2f} {(a, 1.0):.1f}", ti.Matrix([[a, 1.0], [2.0, 3.0]]))

    assert printed(capsys, run, 1.5) == "[1.50, 2.00] (1.5, 1.0) [[1.5, 1.0], [2.0, 3.0]]\n"


def test_formats_survive_a_gradient(capsys):
    x = ti.field(ti.f64, shape=2, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def run():
        for i in range(2):
            print(f"{x[i]:.1f}")
            loss[None] += x[i] ** 2

    x.fill(1.5)
    with ti.Tape(loss):
        run()
    assert capsys.readouterr().out == "1.5\n1.5\n"
    assert x.grad.to_numpy().tolist() == [3.0, 3.0]
    assert "print x_at as ':.1f'" in str(run.primal.ir)


DIGITS = 3


def test_formats_of_numbers_that_are_known(capsys):
    @ti.kernel
    def run(a: float):
        width = 8
        print(f"{a:{8}.{DIGITS}f}|{a:>{width}.{2}f}|{a:{'.1'}f}|{a:{ti.static(DIGITS + 1)}.0f}")

    assert printed(capsys, run, 1.5) == "   1.500|    1.50|1.5|   2\n"


def test_wrong_formats():
    @ti.kernel
    def braces(a: float):
        print("{:>{}}".format(a, 8))

    @ti.kernel
    def letters(a: float):
        print(f"{a:d}")

    @ti.kernel
    def width(a: float, n: int):
        print(f"{a:{n}}")

    @ti.kernel
    def few(a: float):
        print("%f %f" % (a,))

    @ti.kernel
    def many(a: float):
        print("{}".format(a, a))

    @ti.kernel
    def missing(a: float):
        print("{b}".format(a))

    @ti.kernel
    def mixed(a: float):
        print("{1} {}".format(a, a))

    for kernel, args, message in [
        (braces, (1.0,), "a format in this string has braces of its own"),
        (mixed, (1.0,), "some braces of this string are numbered, some are empty"),
        (letters, (1.0,), "`d` does not format a"),
        (width, (1.0, 2), "a format must be known when the kernel is compiled"),
        (few, (1.0,), "the string has 2 formats for 1 values"),
        (many, (1.0,), "the string has 1 braces for 2 values"),
        (missing, (1.0,), "`format` has no value for `{b}`"),
    ]:
        with pytest.raises(ti.TaichiCompilationError, match=message):
            kernel(*args)


def failure(run, *args) -> str:
    """What an assertion says that fails."""
    with pytest.raises(ti.KernelAssertionError) as caught:
        run(*args)
    return str(caught.value).splitlines()[0].removeprefix("error[assertion]: an assertion failed: ")


def test_messages_of_asserts_in_every_format():
    @ti.kernel
    def f_string(a: float, n: int):
        assert a > 9.0, f"a={a:.2f} n={n:04d} {a:e} {n:x} {a} {[a, n]:.1f}"

    @ti.kernel
    def percent(a: float, n: int):
        assert a > 9.0, "%.2f %d %s 100%%" % (a, n, a)

    @ti.kernel
    def method(a: float, n: int):
        assert a > 9.0, "{:.3f} {m:03d}".format(a, m=n + 1)

    @ti.kernel
    def in_a_loop(n: int):
        for i in range(n):
            assert i < 5, f"trip {i:3d}"

    assert failure(f_string, 1.5, 27) == "a=1.50 n=0027 1.500000e+00 1b 1.5 [1.5, 27.0]"
    assert failure(percent, 1.5, 7) == "1.50 7 1.5 100%"
    assert failure(method, 1.5, 7) == "1.500 008"
    assert failure(in_a_loop, 6) == "trip   5"


def test_messages_of_asserts_show_the_digits_of_their_type():
    @ti.kernel
    def k(a: ti.f32):
        assert a > 9.0, f"{a} and {a:.2f}"

    assert failure(k, 0.1) == "0.1 and 0.10"


def test_very_long_messages_of_asserts():
    """Machine code reports up to 16 numbers."""

    @ti.kernel
    def k(a: ti.i32):
        m = ti.Matrix([[a + 10 * i + j for j in range(4)] for i in range(4)])
        assert a > 9, f"{m} {a:02d} {a}"

    rows = ", ".join(str([1 + 10 * i + j for j in range(4)]) for i in range(4))
    assert failure(k, 1) in (f"[{rows}] 01 1", f"[{rows}] … …")
