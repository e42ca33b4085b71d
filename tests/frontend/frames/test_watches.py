"""The slots of watched kernels: one for each assignment."""

from dsim.frontend.source.lowered import LoweringSettings
from dsim.ir.types import f64
from tests.frontend.balls import Ball
from tests.frontend.dialect import f, lowered


def test_each_assignment_of_a_watched_kernel_has_a_slot() -> None:
    x = f(2, entry=(2,))

    def k():
        for i in x:
            r = x[i] * 2.0
            r[0] += 1.0
            s = r.norm()
            x[i] = r * s

    found = lowered(k, LoweringSettings(f64, watch=True)).slots
    assert [(s.name, s.shape, s.row, s.axes, s.axis) for s in found] == [
        ("i", (), 1, 1, 0),
        ("r", (2,), 2, 1, None),
        ("r[0]", (), 4, 1, None),
        ("s", (), 5, 1, None),
        ("x[i]", (2,), 6, 1, None),
    ]
    assert not lowered(k).slots


def test_members_of_structs() -> None:
    def k(b: Ball):
        b.spin.rate = 2.0
        c = b

    names = [slot.name for slot in lowered(k, LoweringSettings(f64, watch=True)).slots]
    assert names == ["b.spin.rate", "c.pos", "c.mass", "c.hits", "c.spin.axis", "c.spin.rate"]
