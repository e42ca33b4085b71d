"""Comparisons of signed with unsigned integers: by value, as in Python."""

import operator

import numpy as np
import pytest

import dsim as ds

COMPARED = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
EDGES = [0, 1, *(s * 2**b - d for b in (7, 8, 31, 32, 63, 64) for s in (-1, 1) for d in (0, 1))]


def of_type(t):
    """The edges that `t` holds, in a field."""
    limits = np.iinfo(t.numpy)
    numbers = sorted({v for v in EDGES if limits.min <= v <= limits.max})
    made = ds.field(t, shape=len(numbers))
    made.from_numpy(np.array(numbers, t.numpy))
    return made, numbers


@pytest.mark.parametrize("unsigned", [ds.u8, ds.u16, ds.u32, ds.u64], ids=str)
@pytest.mark.parametrize("signed", [ds.i8, ds.i16, ds.i32, ds.i64], ids=str)
def test_they_compare_by_value(signed, unsigned):
    (a, lefts), (b, rights) = of_type(signed), of_type(unsigned)
    found = ds.field(ds.u1, shape=(len(lefts), len(rights), 13))

    @ds.kernel
    def compare():
        for i, j in ds.ndrange(a.shape[0], b.shape[0]):
            for n in ds.static(range(6)):
                found[i, j, n] = ds.static(COMPARED[n])(a[i], b[j])
                found[i, j, 6 + n] = ds.static(COMPARED[n])(b[j], a[i])
            found[i, j, 12] = b[j] > -1

    compare()
    wanted = [
        [[*(o(x, y) for o in COMPARED), *(o(y, x) for o in COMPARED), True] for y in rights] for x in lefts
    ]
    assert (found.to_numpy() == np.array(wanted)).all()


def test_a_number_that_a_launch_passes():
    limit = 3
    count = ds.field(ds.u64, shape=4)
    count.from_numpy(np.array([0, 2, 3, 2**64 - 1], np.uint64))

    @ds.kernel
    def above() -> ds.i32:
        n = 0
        for i in count:
            n += count[i] > limit
        return n

    for limit, wanted in ((3, 1), (2, 2), (-1, 4), (0, 3), (-5, 4)):
        assert above() == wanted, limit


def test_extremes_of_numbers_that_the_field_does_not_hold():
    bound = -200
    a, u, wide = ds.field(ds.i8, shape=4), ds.field(ds.u32, shape=4), ds.field(ds.u64, shape=2)
    u.fill(7)
    wide.fill(9)

    @ds.kernel
    def run(v: ds.i32, w: ds.u64):
        ds.atomic_max(a[0], v)
        ds.atomic_min(a[1], v)
        ds.atomic_max(a[2], -200)
        ds.atomic_max(a[3], w)
        ds.atomic_max(u[0], v)
        ds.atomic_min(u[1], v)
        ds.atomic_max(u[2], 5)
        ds.atomic_min(u[3], bound)
        ds.atomic_max(wide[0], v)
        ds.atomic_min(wide[1], w)

    run(-200, 1 << 63)
    assert (a.to_numpy().tolist(), u.to_numpy().tolist()) == ([0, -128, 0, 127], [7, 0, 7, 0])
    assert wide.to_numpy().tolist() == [9, 9]
    bound = 300
    run(300, 1)
    assert (a.to_numpy().tolist(), u.to_numpy().tolist()) == ([127, -128, 0, 127], [300, 0, 7, 0])
    assert wide.to_numpy().tolist() == [300, 1]


def test_choices_and_quotients_are_by_value():
    @ds.kernel
    def extremes(a: ds.i32, b: ds.u32) -> ds.types.vector(4, ds.i64):
        return ds.Vector([max(a, b), min(a, b), ds.math.clamp(a, b, 10), a or b])

    @ds.kernel
    def chosen(a: ds.i32, b: ds.u32) -> ds.types.vector(2, ds.i64):
        return ds.Vector([a if a < 1 else b, ds.select(a < 1, a, b)])

    @ds.kernel
    def quotient(a: ds.i32, b: ds.u32) -> ds.types.vector(2, ds.i64):
        return ds.Vector([a // b, a % b])

    for a, b in ((-7, 2), (-1, 2**32 - 1), (5, 3), (0, 2**31)):
        assert list(extremes(a, b)) == [max(a, b), min(a, b), min(max(a, b), 10), a or b]
        assert list(chosen(a, b)) == [a if a < 1 else b] * 2
        assert list(quotient(a, b)) == [a // b, a % b]


def test_no_type_holds_a_negative_number_and_all_of_u64():
    @ds.kernel
    def larger(a: ds.i64, b: ds.u64) -> ds.u64:
        return max(a, b)

    with pytest.warns(ds.DsimWarning, match="a signed integer meets a u64 here"):
        assert larger(3, 2**64 - 1) == 2**64 - 1


def test_a_choice_between_an_unsigned_integer_and_a_negative_number():
    other = -3

    @ds.kernel
    def chosen(c: ds.i32, u: ds.u32) -> ds.types.vector(2, ds.i64):
        return ds.Vector([u if c else -1, u if c else other])

    assert list(chosen(0, 5)) == [-1, -3]
    assert list(chosen(1, 2**32 - 1)) == [2**32 - 1] * 2
    for other in (-4, 7, 2):
        assert list(chosen(0, 5)) == [-1, other]
