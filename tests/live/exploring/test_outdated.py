"""`ds.explore`: later cells that redefine its run, its fields, or what its run reads put it out of date."""

import pytest

import dsim as ds
from tests.notebook.cells import empty

__all__ = ["empty"]

FIELDS = """
import dsim as ds
ds.init(default_fp=ds.f64)
k = ds.field(ds.f64, shape=(), needs_grad=True)
U = ds.field(ds.f64, shape=(), needs_grad=True)
k[None] = 2.0
power = 2
"""
SQUARE = """
@ds.kernel
def energy():
    U[None] += k[None] ** 2
"""
CUBE = SQUARE.replace("2", "3")
EXPLORE = "seen = ds.explore(energy, loss=U, controls={k: (0, 10)})"


@pytest.fixture
def notebook(empty):
    for cell in (FIELDS, SQUARE, EXPLORE):
        empty.good(cell)
    assert empty.names["seen"].widget
    yield empty
    empty.names["seen"].close()


def shown(seen):
    """The text below the sliders, that beside the first one, and whether it moves."""
    (slider, *_), (bar, *_) = seen._panel.sliders.values(), seen._panel.bars.values()
    return seen._panel._told.value, bar.value, not slider.disabled


def test_a_kernel_that_a_later_cell_redefines(notebook):
    seen = notebook.names["seen"]
    told, bar, moves = shown(seen)
    assert "U = 4" in told
    assert "∂ 4" in bar
    assert moves
    notebook.good(CUBE)
    told, bar, moves = shown(seen)
    assert "out of date: `energy` was redefined; execute this cell again" in told
    assert "U = " not in told + repr(seen)
    assert bar == ""
    assert not moves
    runs = seen.runs
    failed = notebook.run("seen.set(k=3.0)")
    assert isinstance(failed.error, ds.DsimError)
    assert "this explorer is out of date: `energy` was redefined" in str(failed.error)
    assert "seen.set(k=3.0)" in str(failed.error)
    assert str(failed.error).count("help: ") == 1
    next(iter(seen._panel.sliders.values())).value = 5.0  # by a page that has not heard of it yet
    assert (seen.runs, seen.controls[0].field.to_numpy()) == (runs, 2.0)


def test_the_same_text_again_is_the_same_run(notebook):
    seen = notebook.names["seen"]
    before = shown(seen)
    notebook.good(CUBE)
    assert shown(seen) != before
    notebook.good(SQUARE)
    assert shown(seen) == before
    notebook.good("seen.set(k=3.0)")
    assert seen.found.loss == 9.0


def test_a_field_that_is_another_one(notebook):
    seen = notebook.names["seen"]
    notebook.good("U = ds.field(ds.f64, shape=(), needs_grad=True)")
    assert "`U` was redefined" in shown(seen)[0]
    notebook.good("del k")
    assert "`U` was redefined, `k` is no longer defined" in repr(seen)
    assert notebook.run("seen.update()").error is not None


def test_fields_that_a_reset_dropped(notebook):
    notebook.good("ds.reset()")
    assert "`k` was dropped by `reset()`" in shown(notebook.names["seen"])[0]


def test_what_a_function_launches_is_used_by_the_next_run(notebook):
    notebook.good(
        "dt = 1.0\ndef run(times=1):\n    for _ in range(times): energy()\n    twice()\ndef twice(): dt"
    )
    notebook.good("seen = ds.explore(run, loss=U, controls={k: (0, 10)})")
    seen = notebook.names["seen"]
    assert seen.widget
    assert "U = 4" in shown(seen)[0]
    notebook.good(CUBE)
    told, _, moves = shown(seen)
    assert "out of date: `energy` was redefined; move a slider to run with that" in told
    assert "U = " not in told
    assert moves
    notebook.good("seen.set(times=2)")
    assert "U = 16" in shown(seen)[0]
    notebook.good("dt = 2.0")
    assert "`dt` is 2.0, and was 1.0; move a slider" in shown(seen)[0]
    notebook.good("seen.update()")
    assert "U = 16" in shown(seen)[0]
    notebook.good("def run(times=1): pass")
    assert "`run` was redefined; execute this cell again" in shown(seen)[0]


def test_a_func_of_the_kernel_is_used_by_the_next_run(notebook):
    notebook.good("@ds.func\ndef raised(a): return a ** 2")
    notebook.good("@ds.kernel\ndef energy():\n    U[None] += raised(k[None])")
    notebook.good(EXPLORE)
    seen = notebook.names["seen"]
    assert seen.widget
    notebook.good("@ds.func\ndef raised(a): return a ** 3")
    assert "`raised` was redefined; move a slider" in shown(seen)[0]
    notebook.good("seen.update()")
    assert seen.found.loss == 8.0
    assert "U = 8" in shown(seen)[0]


def test_a_name_that_a_run_counts_with_is_no_change(notebook):
    notebook.good("count = 0\ndef run(times=1):\n    global count\n    count += 1\n    energy()")
    notebook.good("seen = ds.explore(run, loss=U)")
    seen = notebook.names["seen"]
    notebook.good("seen.update()")
    assert "U = 4" in repr(seen)


def test_the_picture_stays_with_the_words_that_it_is_out_of_date(notebook):
    notebook.good("x = ds.Vector.field(2, ds.f64, shape=3, needs_grad=True)")
    notebook.good("@ds.kernel\ndef spread():\n    for i in x: U[None] += x[i].norm_sqr()")
    notebook.good("seen = ds.explore(spread, wrt=x, loss=U)")
    view = notebook.names["seen"].view
    held = view._moments.newest
    assert held.header["text"] == "U = 0"
    notebook.good("x.fill(3.0)\n@ds.kernel\ndef spread():\n    for i in x: U[None] += 1.0")
    assert "`spread` was redefined" in view._moments.newest.header["text"]
    assert view._moments.newest.data == held.data
    assert view._moments.newest.header["number"] > held.header["number"]


def test_what_prepares_the_runs(notebook):
    notebook.good("def prepare(): k.fill(2.0)")
    notebook.good("seen = ds.explore(energy, loss=U, reset=prepare)")
    notebook.good("def prepare(): k.fill(3.0)")
    assert "`prepare` was redefined; execute this cell again" in repr(notebook.names["seen"])


def test_what_a_method_belongs_to(notebook):
    notebook.good(
        "class Springs:\n    @ds.kernel\n    def energy(self):\n        U[None] += self.scale * k[None]\n"
        "    def run(self, times=1):\n        for _ in range(times): self.energy()\n"
    )
    notebook.good("springs = Springs()\nsprings.scale = 2.0")
    notebook.good("kernel = ds.explore(springs.energy, loss=U)\nfunction = ds.explore(springs.run, loss=U)")
    shown = [notebook.names[name] for name in ("kernel", "function")]
    assert [seen.found.loss for seen in shown] == [4.0, 4.0]
    notebook.good("1")
    assert not [seen for seen in shown if "out of date" in repr(seen)]
    notebook.good("springs = Springs()\nsprings.scale = 3.0")
    assert ["`springs` was redefined" in repr(seen) for seen in shown] == [True, True]


def test_a_run_with_arguments_given_before(notebook):
    notebook.good("from functools import partial\ndef run(n, times=1):\n    for _ in range(times): energy()")
    notebook.good("seen = ds.explore(partial(run, 3), loss=U)")
    notebook.good("def run(n, times=1): pass")
    assert "`run` was redefined" in repr(notebook.names["seen"])


def test_a_run_of_a_module_that_the_notebook_replaces(notebook, tmp_path, monkeypatch):
    text = "import dsim as ds\nV = ds.field(ds.f64, shape=(), needs_grad=True)\n"
    (tmp_path / "dsim_springs_of_a_test.py").write_text(
        text + "@ds.kernel\ndef pull():\n    V[None] += 3.0\ndef run(times=1): pull()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    notebook.good("from dsim_springs_of_a_test import V, run")
    notebook.good("seen = ds.explore(run, loss=V)")
    seen = notebook.names["seen"]
    assert "V = 3" in repr(seen)
    notebook.good("def run(times=1): pass")
    assert "`run` was redefined" in repr(seen)


def test_a_function_of_a_function_never_changes():
    """Its names are not those of a module."""
    ds.init(default_fp=ds.f64)
    k = ds.field(ds.f64, shape=(), name="k")

    def run(by=1.0):
        k[None] = by

    seen = ds.explore(run)
    seen.set(by=2.0)
    assert k[None] == 2.0
    seen.compare()
    assert "out of date" not in repr(seen)


def test_what_cells_write_to_its_fields(notebook):
    seen = notebook.names["seen"]
    slider = seen._panel.sliders["k"]
    before = shown(seen)
    notebook.good("k[None] = 9.0")
    told, bar, moves = shown(seen)
    assert "out of date: `k` is 9, and was 2; move a slider to run with that" in told
    assert (bar, moves, slider.value, seen.runs) == ("", True, 9.0, 1)
    assert repr(seen).startswith("explorer of energy: k = 9; out of date: `k` is 9")
    notebook.good("k[None] = 2.0")
    assert (shown(seen), slider.value) == (before, 2.0)
    notebook.good("k[None] = 9.0")
    notebook.good("seen.update()")
    assert "U = 81" in shown(seen)[0]
    notebook.good("k[None] = 3.0")
    notebook.good("seen.set(k=9.0)")
    assert (seen.found.loss, notebook.names["k"][None]) == (81.0, 9.0)
    notebook.good("k[None] = 3.0\nseen.set(k=9.0)")
    assert (seen.found.loss, notebook.names["k"][None]) == (81.0, 9.0)
    notebook.good("k[None] = 20.0")
    assert "`k` is 20, and was 9" in shown(seen)[0]
    assert slider.value == 9.0


def test_what_cells_write_to_what_runs_begin_with(notebook):
    notebook.good("x = ds.Vector.field(2, ds.f64, shape=3, needs_grad=True)")
    notebook.good("@ds.kernel\ndef spread():\n    for i in x: U[None] += x[i].norm_sqr()")
    notebook.good("seen = ds.explore(spread, wrt=x, loss=U)")
    seen = notebook.names["seen"]
    notebook.good("x.fill(1.0)")
    assert "out of date: `x` has other numbers; call `update()` to run with that" in repr(seen)
    assert "`x` has other numbers" in seen.view._moments.newest.header["text"]
    notebook.good("seen.update()")
    assert "U = 6" in repr(seen)
    notebook.good("with ds.Tape(U): spread()")
    assert "U = 6" in repr(seen)


def test_another_explorer_of_the_same_control_follows(notebook):
    notebook.good("other = ds.explore(energy, loss=U, controls={k: (0, 10)})")
    assert notebook.names["other"].widget
    seen, other = notebook.names["seen"], notebook.names["other"]
    next(iter(seen._panel.sliders.values())).value = 4.0
    assert "U = 16" in shown(seen)[0]
    (slider,) = other._panel.sliders.values()
    assert slider.value == 4.0
    told, _, moves = shown(other)
    assert "out of date: `k` is 4, and was 2; move a slider to run with that" in told
    assert moves
    other.update()
    assert "U = 16" in shown(other)[0]
    assert "U = 16" in shown(seen)[0]
    other.close()
