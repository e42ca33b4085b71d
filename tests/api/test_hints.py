"""Compile-time checks and prints, and Taichi's hints, which have no effect."""

import inspect

import pytest

import dsim as ti


def test_static_print_shows_what_is_known_once(capsys):
    x = ti.Vector.field(2, ti.f32, shape=(2, 3), name="x")
    kind = "sphere"

    @ti.func
    def double(w: ti.template()):
        w *= 2.0

    @ti.kernel
    def run(a: float):
        for i, j in x:
            v = ti.Vector([a, a])
            for _ in range(3):
                double(v)  # the loop is lowered twice, to find its carried values
                for _ in ti.static(range(2)):
                    ti.static_print(kind, x.shape, ti.f32, a, v, sep="|")
            x[i, j] = v
        ti.static_print([1, (2.5, None)], ti.Vector([1, 2]), x, end="!\n")

    run(1.0)
    line = "sphere|(2, 3)|f32|<an f32>|<a vector of 2>\n"
    assert capsys.readouterr().out == 2 * line + f"[1, (2.5, None)] [1, 2] {x!r}!\n"
    run(2.0)
    assert capsys.readouterr().out == ""
    ti.static_print(1, 2, sep="-", end="")
    assert capsys.readouterr().out == "1-2"


def test_static_print_takes_no_other_words():
    @ti.kernel
    def run():
        ti.static_print(1, file=2)

    with pytest.raises(ti.TaichiCompilationError, match="`static_print` takes `sep` and `end`, two strings"):
        run()


def test_static_assert_in_kernels_and_outside():
    n = 3

    @ti.func
    def checked(a):
        ti.static_assert(n == 3, "three it is")
        return a

    @ti.kernel
    def run(a: float) -> float:
        return checked(a)

    assert run(2.0) == checked(2.0) == 2.0
    n = 4
    with pytest.raises(ti.TaichiCompilationError, match="a static assertion failed: three it is"):
        run(2.0)
    with pytest.raises(AssertionError, match="three it is"):
        checked(2.0)


def test_advice_changes_nothing():
    x, y = ti.field(ti.f32, shape=8), ti.field(ti.f32, shape=8)

    @ti.kernel
    def run():
        ti.block_local(x, y)
        ti.cache_read_only(x)
        ti.no_activate(y)
        ti.loop_config(block_dim=64, name="copy")
        for i in x:
            j = ti.assume_in_range(ti.loop_unique(i), i, 0, 1)
            y[j] = i

    run()
    assert y.to_numpy().tolist() == list(range(8))
    assert ti.assume_in_range(3, 0, 0, 9) == ti.loop_unique(3) == 3


def test_an_index_that_is_assumed_wrongly_is_still_checked():
    x = ti.field(ti.f32, shape=4)

    @ti.kernel
    def run(n: int):
        x[ti.assume_in_range(n, 0, 0, 4)] = 1.0

    with pytest.raises(IndexError, match="index 5 is outside `x`"):
        run(5)


def test_advice_is_about_fields():
    @ti.kernel
    def run(a: float):
        ti.block_local(a)

    with pytest.raises(ti.TaichiCompilationError, match="`block_local` takes fields, got an f32"):
        run(1.0)


@pytest.mark.parametrize("decorator", [ti.real_func, ti.pyfunc, ti.experimental.real_func])
def test_other_kinds_of_funcs(decorator):
    @decorator
    def twice(a: ti.f32) -> ti.f32:
        return 2 * a

    @ti.kernel
    def run(a: float) -> float:
        return twice(a)

    assert run(1.5) == twice(1.5) == 3.0


def test_what_help_shows_of_the_parameters_of_a_kernel():
    @ti.kernel
    def run(u: ti.template(), x: ti.types.ndarray(dtype=ti.f64, ndim=2), y: ti.types.ndarray(), n: ti.i32):
        pass

    shown = "(u: template(), x: ndarray(dtype=f64, ndim=2), y: ndarray(), n: i32)"
    assert str(inspect.signature(run)) == shown
