"""The findings of a kernel's static check."""

import pytest

import dsim as ti
from tests.runtime.taping import single


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def _said(found):
    return [(d.level.value, d.code) for d in found]


def test_a_kernel_that_keeps_the_rules():
    x, y = single("x"), single("y")

    @ti.kernel
    def square():
        y[None] = x[None] ** 2

    assert len(square.check()) == 0
    assert str(square.check()) == "no access rule is broken"


def test_an_overwrite_that_a_tape_saves_is_a_note():
    x, y = single("x"), single("y")
    x[None] = 3.0

    @ti.kernel
    def square_then_change():
        y[None] = x[None] ** 2
        x[None] = 5.0

    (found,) = square_then_change.check()
    assert (found.level.value, found.code) == ("note", "overwrites")
    assert x[None] == 3.0
    text = str(square_then_change.check())
    assert "note[overwrites]: `x[None]` is overwritten after it was read" in text
    assert "y[None] = x[None] ** 2" in text
    assert "x[None] = 5.0" in text
    assert "help: a tape saves the old value here" in text


def test_in_place_and_products_are_notes_where_they_are_saved():
    x, y = ti.field(ti.f64, shape=4, needs_grad=True), single("y")

    @ti.kernel
    def sine():
        for i in x:
            x[i] = ti.sin(x[i])

    @ti.kernel
    def scale():
        y[None] *= x[2]

    assert _said(sine.check()) == [("note", "overwrites")]
    assert _said(scale.check()) == [("note", "overwrites")]
    assert scale.check()[0].message == "`y[None]` is overwritten after it was read"


def test_errors_and_warnings_are_found_too_and_nothing_is_raised():
    x = ti.field(ti.f64, shape=4, needs_grad=True)

    @ti.kernel
    def wrong():
        x[0.5] = 1.0
        x[0] = speed  # noqa: F821

    @ti.kernel
    def chain():
        for i in range(1, 4):
            x[i] = x[i - 1] + 1.0

    assert _said(wrong.check()) == [("error", "index"), ("error", "unknown-name")]
    assert _said(chain.check()) == [("warning", "serial")]
    with pytest.warns(ti.DsimWarning, match="serial"):
        chain()  # the launch reports the findings of the check, too


def test_templates():
    x, y = single("x"), single("y")

    @ti.kernel
    def square(a: ti.template()):
        y[None] = a[None] ** 2
        a[None] = 0.0

    assert _said(square.check(x)) == [("note", "overwrites")]
    with pytest.raises(ti.LaunchTypeError, match="template"):
        square.check()


def test_a_value_that_is_overwritten_twice_is_told_at_the_first_store():
    x, v = (ti.field(ti.f64, shape=4, needs_grad=True, name=name) for name in "xv")
    y = single("y")

    @ti.kernel
    def twice():
        for i in v:
            v[i] = v[i] * x[i]
            n = v[i] ** 2
            v[i] = n
            y[None] += v[i]

    (found,) = twice.check()
    assert "v[i] = v[i] * x[i]" in str(found)
    with pytest.raises(ti.AccessRuleError) as refused, ti.Tape(y, on_overwrite="error"):
        twice()
    assert len(refused.value.diagnostics) == 1


def test_each_store_that_may_be_the_first_is_told():
    v, y = ti.field(ti.f64, shape=4, needs_grad=True, name="v"), single("y")

    @ti.kernel
    def one_in_a_branch():
        for i in v:
            y[None] += v[i] ** 2
            if i > 1:
                v[i] = 1.0
            v[i] = 2.0

    @ti.kernel
    def two_reads():
        for i in v:
            y[None] += v[i] ** 2
            v[i] = 2.0 * i
            y[None] += ti.sin(v[(i + 1) % 4])
            v[i] = 3.0

    assert len(one_in_a_branch.check()) == 2
    assert len(two_reads.check()) >= 2
