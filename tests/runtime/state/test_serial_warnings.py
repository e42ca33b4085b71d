"""The warning `serial`: once per kernel, with advice for the shape of the loop."""

import warnings

import pytest

import dsim as ti


def said(run):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    return [str(w.message) for w in found]


def test_it_is_said_once_for_all_fields_and_settings():
    x, y = ti.field(ti.f32, shape=4), ti.field(ti.f32, shape=5)

    @ti.kernel
    def shift(a: ti.template()):
        for i in a:
            a[i % 3] = a[i] * 2.0

    assert len(said(lambda: shift(x))) == 1
    assert said(lambda: shift(y)) == []
    ti.init(default_fp=ti.f64)
    assert said(lambda: shift(x)) == []


def test_strict_refuses_each_time():
    x = ti.field(ti.f32, shape=4)

    @ti.kernel
    def shift():
        for i in x:
            x[i % 3] = x[i] * 2.0

    ti.init(strict=True)
    for _ in range(2):
        with pytest.raises(ti.CompilationError, match="this loop runs serially"):
            shift()


def test_two_kernels_of_one_text_both_say_it():
    x = ti.field(ti.f32, shape=4)

    def make():
        @ti.kernel
        def shift():
            for i in x:
                x[i % 3] = x[i] * 2.0

        return shift

    assert [len(said(make())) for _ in range(2)] == [1, 1]


def test_places_that_a_counter_hands_out():
    x, out = ti.field(ti.f32, shape=8), ti.field(ti.f32, shape=8)
    n = ti.field(ti.i32, shape=())

    @ti.kernel
    def compact():
        for i in x:
            k = ti.atomic_add(n[None], 1)
            out[k] = x[i]

    (text,) = said(compact)
    assert "`n` hands out the places in `out` in the order of iterations" in text
    assert "the place is taken here" in text
    assert "loop_config(parallel=True)" in text


def test_a_loop_over_time_is_better_launched_from_python():
    x = ti.field(ti.f32, shape=8)

    @ti.kernel
    def simulate():
        for _ in range(3):
            for i in x:
                x[i] = 0.5 * x[i] + 1.0

    (text,) = said(simulate)
    assert "launch the loops inside it from Python, once in each trip" in text


def test_a_loop_inside_that_is_serial_too_is_no_reason_to_launch_it_from_python():
    x = ti.field(ti.f32, shape=8)

    @ti.kernel
    def sweep():
        for _ in range(3):
            for i in range(1, 8):
                x[i] = x[i - 1] + 1.0

    assert all("from Python" not in text for text in said(sweep))
