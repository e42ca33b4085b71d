"""Values that a report depends on, and that change in place: arguments, containers, attributes."""

import pytest

from tests.notebook.forms.living import CELL, reports, told
from tests.notebook.forms.test_scrubber import VIEW, live, moved, sliders  # noqa: F401


def changed_args(page, made, cell, change):
    """The values that a slider shows after arguments were changed in place and made anew."""
    page.good(made, "made")
    found = sliders(page.good(cell, "args"))
    (before,) = moved(found["i"], 5)
    said = told(page, change)
    assert moved(found["i"], 4) == []
    told(page, made)
    (after,) = moved(found["i"], 5)
    assert after["probe"] == before["probe"]
    return said


@pytest.mark.parametrize(
    ("made", "kind", "read", "change"),
    [
        ("a = {'k': 2.0, 'm': [1.0, 3.0]}", "S", "a.k * a.m[1]", "a['k'] = 3.0"),
        ("a = {'k': 2.0, 'm': [1.0, 3.0]}", "S", "a.k * a.m[1]", "a['m'][1] = 4.0"),
        ("a = S(k=2.0, m=[1.0, 3.0])", "S", "a.k * a.m[1]", "a.k = 3.0"),
        ("a = [1.0, 2.0]", "ds.types.vector(2, ds.f64)", "a[1]", "a[1] = 3.0"),
        ("a = ds.Vector([1.0, 2.0])", "ds.types.vector(2, ds.f64)", "a[1]", "a[1] = 3.0"),
        ("a = [1.0, 2.0]", "ds.template()", "a[1]", "a[1] = 3.0"),
    ],
)
def test_arguments_that_change_in_place(page, made, kind, read, change):
    page.good("S = ds.types.struct(k=ds.f64, m=ds.types.vector(2, ds.f64))")
    cell = f"%%kernel args(a: {kind}) --loss U\nfor i in y:\n    e = {read} * y[i]\n    U[None] += e"
    assert "a" in changed_args(page, made, cell, change)


def test_what_the_line_and_the_assignments_of_a_cell_read(page):
    page.good("class cfg:\n    dt = 0.5\nkind = ds.f64\nn = 2")
    page.good("%%kernel step(dt: kind = cfg.dt) --loss U\nfor i in y:\n    U[None] += dt * y[i]", "step")
    assert told(page, "cfg.dt = 0.25") == "`cfg.dt` is 0.25, and was 0.5"
    assert told(page, "cfg.dt = 0.5") == ""
    assert told(page, "kind = ds.f32") == "`kind` was redefined"
    assert told(page, "kind = ds.f64") == ""
    cell = "%%kernel --loss U\nm = 2 * n\ndef twice():\n    for i in y:\n        U[None] += m * y[i]"
    page.good(cell, "twice")
    assert told(page, "n = 3") == "`n` is 3, and was 2"


@pytest.mark.parametrize("kind", ["ds.template()", "ds.types.ndarray(dtype=ds.f64, ndim=1)"])
def test_a_copied_cell_with_annotations_that_are_made_anew(page, kind):
    page.good("f = ds.ndarray(ds.f64, 4, needs_grad=True) if 'nd' in '" + kind + "' else y")
    cell = f"%%kernel total(f: {kind}) --loss U\nfor i in f:\n    U[None] += f[i]"
    page.good(cell, "total")
    assert len(reports(page.good(cell, "copy"))) == 1
    assert len(reports(page.good(cell.replace("f: ", "f: 1 and "), "copy"))) == 1
    (_, old) = reports(page.good(cell.replace(f"f: {kind}", "f: ds.types.ndarray(ndim=1)"), "copy"))
    assert old["stale"] == "`total` was redefined"


def test_a_type_that_is_made_anew(page):
    page.good("V = ds.types.vector(2, ds.f64)")
    page.good("%%kernel both --loss U\nfor i in y:\n    U[None] += V(y[i], 1).sum()", "both")
    assert told(page, "V = ds.types.vector(2, ds.f64)") is None
    assert told(page, "V = ds.types.vector(2, ds.f32)") == "`V` was redefined"


def test_members_of_enumerations(page):
    kinds = "import enum\nclass Kind(enum.Enum):\n    A = 1\n    B = 2"
    page.good(f"{kinds}\nkind = Kind.A")
    cell = (
        "%%kernel chosen --loss U\nfor i in y:\n    if ds.static(kind == Kind.A):\n        U[None] += y[i]\n"
        "    else:\n        U[None] += 2 * y[i]"
    )
    page.good(cell, "chosen")
    assert told(page, "kind = Kind.B") == "`kind` has a different value"
    assert told(page, "kind = Kind.A") == ""
    assert told(page, f"{kinds}\nkind = Kind.A") is None


CONTAINER = """\
class Odd:
    __hash__ = None
    def __eq__(self, other):
        raise ValueError("odd")
odd = {'k': 2.0, 'beside': Odd(), 'more': np.ones(3)}
odd['self'] = odd
"""


def test_what_stands_beside_a_number_breaks_no_cell(page):
    page.good(CONTAINER)
    page.good("%%kernel scaled --loss U\nfor i in y:\n    U[None] += odd['k'] * y[i]", "scaled")
    page.good(CELL, "energy")
    ran = page.good("odd['beside'] = Odd()\nodd['more'] = np.zeros(3)", "elsewhere")
    assert (ran.stdout, ran.stderr) == ("", "")
    assert [r["stale"] for r in reports(ran)] == ["`odd` has a different value"]
    ran = page.good("odd['k'] = 3.0\nscale = 3.0", "elsewhere")
    assert (ran.stdout, ran.stderr) == ("", "")
    assert len(reports(ran)) == 2


@pytest.mark.slow
def test_an_attribute_that_can_no_longer_be_read(page):
    page.good(
        "class Odd:\n    broken = False\n    @property\n    def k(self):\n"
        "        if self.broken:\n            raise RuntimeError('<b>')\n        return 2.0\nodd = Odd()"
    )
    found = sliders(page.good("%%kernel scaled --loss U\nfor i in y:\n    U[None] += odd.k * y[i]", "scaled"))
    page.good(CELL, "energy")
    ran = page.good("odd.broken = True\nscale = 5.0", "elsewhere")
    assert (ran.stdout, ran.stderr) == ("", "")
    assert [r["stale"] for r in reports(ran)] == [
        "`odd.k` can no longer be read: RuntimeError",
        "`scale` is 5.0, and was 2.0",
    ]
    assert found["i"].disabled
    assert moved(found["i"], 3) == []
    assert [r.get("stale") for r in reports(page.good("odd.broken = False", "elsewhere"))] == [None]
