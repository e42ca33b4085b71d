"""Python objects that have no truth, or whose own methods fail: errors at the kernel's line."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import dsim as ds

mask: ds.ScalarField  # made anew for each test
numbers = np.arange(3.0)


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    ds.init()
    monkeypatch.setitem(globals(), "mask", ds.field(ds.i32, shape=4))


class Torn:
    """Each of its methods raises an exception."""

    def __bool__(self) -> bool:
        raise RuntimeError("not decided yet")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable yet")

    __hash__ = None

    def __add__(self, other: object) -> float:
        raise RuntimeError("no sums yet")

    def __iter__(self) -> Iterator[int]:
        raise RuntimeError("no items yet")


torn = Torn()


def in_if():
    if ds.static(mask):
        mask[0] = 1


def in_if_after_not():
    if not ds.static(mask):
        mask[0] = 1


def in_a_choice():
    mask[0] = 1 if ds.static(mask) else 2


def in_while():
    while ds.static(mask):
        mask[0] = 1


def in_and():
    if ds.static(mask and True):
        mask[0] = 1


def in_a_static_choice():
    mask[0] = ds.static(1 if mask else 2)


def in_assert():
    assert ds.static(mask)


def in_static_assert():
    ds.static_assert(mask, "is it there?")


def in_an_iterable():
    for i in ds.static(range(3)) if ds.static(mask) else range(2):
        mask[i] = 1


def in_a_guard():
    match 1:
        case 1 if ds.static(mask):
            mask[0] = 1


_PLACES = [in_if, in_if_after_not, in_a_choice, in_while, in_and, in_a_static_choice, in_assert]


@pytest.mark.parametrize("k", [*_PLACES, in_static_assert, in_an_iterable, in_a_guard])
def test_a_field_has_no_truth_at_compile_time(k) -> None:
    caught = at_a_line_of(k)
    assert isinstance(caught, ds.KernelTypeError)
    assert "error[type]: the field `mask` cannot be a condition" in str(caught)


def of_an_array():
    ds.static_assert(numbers)


def of_a_person():
    if ds.static(not torn):
        mask[0] = 1


def equal():
    if ds.static(torn == 3):
        mask[0] = 1


def in_a_sum():
    mask[0] = ds.static(torn + 1)


def iterated():
    for i in ds.static(torn):
        mask[i] = 1


_TORN = "a Python object of type `Torn`"


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (of_an_array, "error[type]: an array of shape (3,) is not a truth value"),
        (of_a_person, f"error[type]: {_TORN} cannot be a condition: RuntimeError: not decided yet"),
        (equal, "these cannot be compared as a whole: RuntimeError: not comparable yet"),
        (in_a_sum, f"`+` does not work on {_TORN} and an integer: RuntimeError: no sums yet"),
        (iterated, f"{_TORN} cannot be iterated over: RuntimeError: no items yet"),
    ],
)
def test_what_methods_of_objects_raise_is_reported_at_the_kernels_line(k, message) -> None:
    assert message in str(at_a_line_of(k))


def at_a_line_of(k) -> ds.CompilationError:
    """The error that a launch of `k` raises, which marks a line of its body."""
    with pytest.raises(ds.CompilationError) as caught:
        ds.kernel(k)()
    (found,) = caught.value.diagnostics
    first = k.__code__.co_firstlineno
    assert found.span is not None
    assert first < found.span.line < first + 4
    assert str(caught.value).count("\nhelp: ") == 1
    return caught.value
