"""The ends of ranges, and the type of the index."""

from __future__ import annotations

from tests.frontend.dialect import refused, run, ti


def test_ends_of_mixed_signs() -> None:
    """They count as in Python: with the sign of either, where a type holds both."""

    def down(n: ti.u32) -> ti.i64:
        total = ti.cast(0, ti.i64)
        for i in range(n, -1, -1):
            total = total * 10 + i
        return total

    def up(a: ti.i32, b: ti.u32) -> ti.i64:
        total = ti.cast(0, ti.i64)
        for i in range(a, b):
            total += i
        return total

    assert run(down, 3) == 3210
    assert run(up, -3, 3) == -3
    assert run(up, 4, 3) == 0


def test_ends_that_no_type_holds_with_their_signs() -> None:
    def literal(n: ti.u64):
        for _ in range(n, -1, -1):
            pass

    def parameters(a: ti.i32, b: ti.u64):
        for _ in range(a, b):
            pass

    for k in (literal, parameters):
        assert refused(k) == (
            "type: this range has ends with and without a sign, and u64 holds no negative number\n"
            "help: cast what has no sign: `ds.cast(n, ds.i64)`"
        )
