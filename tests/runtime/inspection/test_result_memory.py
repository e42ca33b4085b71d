"""A large result has memory of its own for as long as anybody has a part of it."""

import threading
import weakref

import numpy as np
import pytest

import dsim as ti
from dsim.runtime.inspection import result_memory


@pytest.fixture
def grown(monkeypatch):
    """A tape of eight doublings of four numbers, whose results count as large."""
    ti.init(default_fp=ti.f64)
    monkeypatch.setattr(result_memory, "_KEPT", range(1 << 29))
    x = ti.field(ti.f64, shape=4, needs_grad=True, name="x")
    y = ti.field(ti.f64, shape=(), needs_grad=True, name="y")

    @ti.kernel
    def double():
        for i in x:
            x[i] *= 2

    @ti.kernel
    def total():
        for i in x:
            y[None] += x[i]

    with ti.Tape(y) as tape:
        for _ in range(8):
            double()
        total()
    return tape, x


EXPECTED = [[2.0**k] * 4 for k in (6, 4, 2, 0)]


def address(values):
    return values.__array_interface__["data"][0]


def test_memory_that_was_let_go_serves_again(grown):
    tape, x = grown
    found = tape.gradients(x, every=2)
    there, kept = address(found.values), found.values.copy()
    assert kept.tolist() == EXPECTED
    found.values[...] = np.nan
    del found
    again = tape.gradients(x, every=2)
    assert address(again.values) == there
    assert again.values.tolist() == EXPECTED


@pytest.mark.parametrize(
    "part",
    [
        lambda found: found,
        lambda found: found.values,
        lambda found: found[1:],
        lambda found: found.values.T[::2],
        lambda found: memoryview(found.values),
        lambda found: np.frombuffer(found.values),
        iter,
        np.asarray,
    ],
)
def test_whoever_has_a_part_keeps_it(grown, part):
    tape, x = grown
    found = tape.gradients(x, every=2)
    there, held = address(found.values), part(found)
    del found
    for _ in range(3):
        other = tape.gradients(x, every=2)
        assert address(other.values) != there
        other.values[...] = np.nan
        del other
    rows = held if isinstance(held, (memoryview, np.ndarray)) else list(held)
    assert not np.isnan(np.asarray(rows)).any()


def test_a_weak_reference_ends_when_the_result_is_let_go(grown):
    tape, x = grown
    found = tape.gradients(x, every=2)
    values = weakref.ref(found.values)
    assert values() is found.values
    del found
    assert values() is None


def test_a_small_result_leaves_it_to_the_next_large_one(grown, monkeypatch):
    tape, x = grown
    monkeypatch.setattr(result_memory, "_KEPT", range(101, 1 << 29))
    there = address(tape.gradients(x, every=2).values)
    assert tape.gradients(x, after=[1]).values.tolist() == EXPECTED[:1]
    assert address(tape.gradients(x, every=2).values) == there


def test_another_shape_takes_other_memory(grown):
    tape, x = grown
    tape.gradients(x, every=2)
    assert tape.gradients(x, every=4).values.tolist() == EXPECTED[1::2]
    assert tape.gradients(x, every=2).values.tolist() == EXPECTED


def test_an_array_that_became_read_only_is_not_written_to(grown):
    tape, x = grown
    found = tape.gradients(x, every=2)
    found.values.flags.writeable = False
    del found
    assert tape.gradients(x, every=2).values.tolist() == EXPECTED


@pytest.mark.parametrize("change", [("dtype", np.float64), ("shape", (-1, 8))])
def test_bytes_of_which_somebody_made_something_else_are_left_to_them(grown, change):
    tape, x = grown
    setattr(tape.gradients(x, every=2).values.base, *change)
    assert tape.gradients(x, every=2).values.tolist() == EXPECTED


def test_threads_share_no_result(grown):
    tape, x = grown
    tape.gradients(x, every=2)
    taken = []
    threads = [
        threading.Thread(target=lambda: taken.append(result_memory.room(tape, x, 4))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({address(values) for values in taken}) == 4


def test_what_is_too_large_goes_with_its_last_name(grown, monkeypatch):
    tape, x = grown
    monkeypatch.setattr(result_memory, "_KEPT", range(100))
    tape.gradients(x, every=2)
    assert tape.result is None
